/* One reading of every GPU in C: what no wrapper around NVML can undercut. */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { unsigned version; unsigned long long total, reserved, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
} Process;
typedef void *Device;

static void *library;

static void *find(const char *name)
{
    void *call = dlsym(library, name);
    if (!call) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return call;
}

int main(void)
{
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*init)(void) = find("nvmlInit_v2");
    int (*end)(void) = find("nvmlShutdown");
    int (*count)(unsigned *) = find("nvmlDeviceGetCount_v2");
    int (*handle)(unsigned, Device *) = find("nvmlDeviceGetHandleByIndex_v2");
    int (*memory_of)(Device, Memory *) = find("nvmlDeviceGetMemoryInfo_v2");
    int (*utilization_of)(Device, Utilization *) = find("nvmlDeviceGetUtilizationRates");
    int (*compute)(Device, unsigned *, Process *) = find("nvmlDeviceGetComputeRunningProcesses_v3");
    int (*graphics)(Device, unsigned *, Process *) = find("nvmlDeviceGetGraphicsRunningProcesses_v3");
    unsigned gpus = 0;
    if (init() || count(&gpus))
        return 1;
    for (unsigned index = 0; index < gpus; index++) {
        Device device;
        Memory memory = {.version = sizeof(Memory) | 2u << 24};
        Utilization utilization = {0, 0};
        Process processes[256];
        unsigned listed = 256, drawn = 256;
        if (handle(index, &device) || memory_of(device, &memory))
            return 1;
        utilization_of(device, &utilization);
        if (compute(device, &listed, processes))
            listed = 0;
        if (graphics(device, &drawn, processes))
            drawn = 0;
        printf("%u, %llu MiB, %llu MiB, %u %%, %u\n", index, memory.used >> 20, memory.total >> 20,
               utilization.gpu, listed + drawn);
    }
    return end();
}
