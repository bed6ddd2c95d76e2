/* A stand-in for libnvidia-ml.so.1: the calls that gpudash, nvitop and gpustat make, answered from
 * a state file (state.c reads it, README.md has its grammar). Struct layouts and version words are
 * those of nvidia-ml-py 13.615; defaults are those of an idle H200. -DFAKE_OLD_450 leaves out the
 * symbols that a 450 driver lacks. An error or delay row names a call by its function's name without
 * "nvmlDeviceGet", "nvmlDevice", "nvmlSystemGet" or "nvml".
 */
#define _GNU_SOURCE
#include "state.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static int copy_text(char *to, unsigned size, const char *from) {
    if (strlen(from) + 1 > size) return INSUFFICIENT_SIZE;
    strcpy(to, from);
    return OK;
}

/* ---- start, end, versions ---- */

static int initialise(const char *function) {
    int rc = enter_system(function, 0);
    init_count += rc == OK;
    return leave(rc);
}

EXPORT nvmlInit_v2(void) { return initialise(__func__); }
EXPORT nvmlInit(void) { return initialise(__func__); }
EXPORT nvmlInitWithFlags(unsigned flags) { return (void)flags, initialise(__func__); }

EXPORT nvmlShutdown(void) {
    ENTER_SYSTEM();
    return init_count--, leave(OK);
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int code) {
    static const char *const names[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power",
        "Driver Not Loaded", "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found",
        "Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires reset",
        "GPU access blocked by the operating system", "Driver/library version mismatch", "In use",
        "Insufficient Memory", "No data", "vGPU ECC operation not supported",
        "Insufficient Resources", "Frequency not supported", "Argument version mismatch",
        "Deprecated", "Not Ready", "GPU not found", "Invalid State"};
    return code >= 0 && code < (int)(sizeof names / sizeof *names) ? names[code] : "Unknown Error";
}

#define SYSTEM_TEXT(function, key, fallback)                       \
    EXPORT function(char *to, unsigned size) {                     \
        ENTER_SYSTEM();                                            \
        return leave(copy_text(to, size, text(SYSTEM, key, fallback))); \
    }
#define SYSTEM_NUMBER(function, type, expression)                  \
    EXPORT function(type *out) {                                   \
        ENTER_SYSTEM();                                            \
        u64 value = 0;                                             \
        rc = (expression);                                         \
        if (!rc) *out = (type)value;                               \
        return leave(rc);                                          \
    }

SYSTEM_TEXT(nvmlSystemGetDriverVersion, "driver", "580.159.04")
SYSTEM_TEXT(nvmlSystemGetNVMLVersion, "nvml", "13.580.159.04")
SYSTEM_NUMBER(nvmlSystemGetCudaDriverVersion, int, number(SYSTEM, "cuda", 0, "13000", &value))
SYSTEM_NUMBER(nvmlSystemGetCudaDriverVersion_v2, int, number(SYSTEM, "cuda", 0, "13000", &value))
SYSTEM_NUMBER(nvmlDeviceGetCount, unsigned, (value = gpu_count(), OK))
SYSTEM_NUMBER(nvmlDeviceGetCount_v2, unsigned, (value = gpu_count(), OK))

EXPORT nvmlSystemGetProcessName(unsigned pid, char *to, unsigned size) {
    char path[64], name[1024] = "";
    ENTER_SYSTEM();
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "re");
    if (!file) return leave(NOT_FOUND);
    size_t got = fread(name, 1, sizeof name - 1, file);
    fclose(file);
    name[got] = 0;
    return leave(copy_text(to, size, name));
}

/* ---- handles ---- */

static int give(int slot, int instance, const char *function, Device *out) {
    int rc = admit(slot, function);
    if (!rc) *out = handle_of(slot, instance);
    return leave(rc);
}

static int by_index(unsigned index, Device *out, const char *function) {
    int rc = enter_system(function, 1), slot = slot_at(index);
    if (rc || slot < 0) return leave(rc ? rc : INVALID_ARGUMENT);
    return give(slot, -1, function, out);
}

EXPORT nvmlDeviceGetHandleByIndex(unsigned i, Device *out) { return by_index(i, out, __func__); }
EXPORT nvmlDeviceGetHandleByIndex_v2(unsigned i, Device *out) { return by_index(i, out, __func__); }

EXPORT nvmlDeviceGetHandleByUUID(const char *uuid, Device *out) {
    ENTER_SYSTEM();
    Instance all[MAX_INSTANCES];
    for (int index = 0, slot; (slot = slot_at((unsigned)index)) >= 0; index++) {
        if (!strcmp(text(slot, "uuid", ""), uuid)) return give(slot, -1, __func__, out);
        for (int i = instances(slot, all) - 1; i >= 0; i--)
            if (!strcmp(all[i].uuid, uuid)) return give(slot, i, __func__, out);
    }
    return leave(NOT_FOUND);
}

static int bus_numbers(const char *from, unsigned n[4]) {
    return sscanf(from, "%x:%x:%x.%x", &n[0], &n[1], &n[2], &n[3]) == 4;
}

EXPORT nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, Device *out) {
    unsigned wanted[4], n[4];
    ENTER_SYSTEM();
    if (!bus_numbers(bus_id, wanted)) return leave(INVALID_ARGUMENT);
    for (int index = 0, slot; (slot = slot_at((unsigned)index)) >= 0; index++)
        if (bus_numbers(text(slot, "bus", ""), n) && !memcmp(n, wanted, sizeof n))
            return give(slot, -1, __func__, out);
    return leave(NOT_FOUND);
}

EXPORT nvmlDeviceGetIndex(Device d, unsigned *out) {
    ENTER_ANY(d);
    *out = (unsigned)(d->instance < 0 ? index_of(d->slot) : d->instance);
    return leave(OK);
}

/* ---- what a GPU is ---- */

EXPORT nvmlDeviceGetName(Device d, char *to, unsigned size) {
    Instance mig;
    char name[192];
    ENTER_ANY(d);
    const char *gpu = text(d->slot, "name", "NVIDIA H200");
    if (d->instance < 0) return leave(copy_text(to, size, gpu));
    if ((rc = find_instance(d, &mig))) return leave(rc);
    snprintf(name, sizeof name, "%.95s MIG %s", gpu, mig.profile);
    return leave(copy_text(to, size, name));
}

EXPORT nvmlDeviceGetUUID(Device d, char *to, unsigned size) {
    Instance mig;
    ENTER_ANY(d);
    if (d->instance < 0) return leave(copy_text(to, size, text(d->slot, "uuid", "")));
    rc = find_instance(d, &mig);
    return leave(rc ? rc : copy_text(to, size, mig.uuid));
}

EXPORT nvmlDeviceGetVbiosVersion(Device d, char *to, unsigned size) {
    ENTER(d);
    const char *version = text(d->slot, "vbios", "96.00.A5.00.01");
    return leave(strcmp(version, "na") ? copy_text(to, size, version) : NOT_SUPPORTED);
}

EXPORT nvmlDeviceGetSerial(Device d, char *to, unsigned size) {
    ENTER(d);
    const char *serial = text(d->slot, "serial", "1650000000000");
    return leave(strcmp(serial, "na") ? copy_text(to, size, serial) : NOT_SUPPORTED);
}

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} PciInfo;

EXPORT nvmlDeviceGetPciInfo_v3(Device d, PciInfo *out) {
    unsigned n[4] = {0};
    u64 id = 0;
    ENTER(d);
    bus_numbers(text(d->slot, "bus", "0:0:0.0"), n);
    number(d->slot, "pci_id", 0, "0x233510de", &id);
    memset(out, 0, sizeof *out);
    out->domain = n[0], out->bus = n[1], out->device = n[2], out->device_id = (unsigned)id;
    snprintf(out->legacy, sizeof out->legacy, "%04X:%02X:%02X.0", n[0] & 0xffff, n[1] & 0xff,
             n[2] & 0xff);
    snprintf(out->bus_id, sizeof out->bus_id, "%08X:%02X:%02X.0", n[0], n[1] & 0xff, n[2] & 0xff);
    return leave(OK);
}

/* ---- one word of a row each ---- */

#define READ(function, type, key, nth, fallback)                   \
    EXPORT function(Device d, type *out) {                         \
        ENTER(d);                                                  \
        u64 value = 0;                                             \
        rc = number(d->slot, key, nth, fallback, &value);          \
        if (!rc) *out = (type)value;                               \
        return leave(rc);                                          \
    }
#define READ_PAIR(function, type, key, fallback)                   \
    EXPORT function(Device d, type *first, type *second) {         \
        ENTER(d);                                                  \
        u64 a = 0, b = 0;                                          \
        rc = number(d->slot, key, 0, fallback, &a);                \
        if (!rc) rc = number(d->slot, key, 1, fallback, &b);       \
        if (!rc) *first = (type)a, *second = (type)b;              \
        return leave(rc);                                          \
    }
/* The argument picks the word; `last` is the highest one there is. */
#define READ_NTH(function, type, key, last, fallback)              \
    EXPORT function(Device d, unsigned which, type *out) {         \
        ENTER(d);                                                  \
        u64 value = 0;                                             \
        rc = which > (last) ? INVALID_ARGUMENT : number(d->slot, key, (int)which, fallback, &value); \
        if (!rc) *out = (type)value;                               \
        return leave(rc);                                          \
    }

READ(nvmlDeviceGetPowerUsage, unsigned, "power_mw", 0, "75000")
READ(nvmlDeviceGetEnforcedPowerLimit, unsigned, "power_limit_mw", 0, "700000")
READ(nvmlDeviceGetPowerManagementLimit, unsigned, "power_limit_mw", 0, "700000")
READ(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, "power_limit_mw", 0, "700000")
READ(nvmlDeviceGetTotalEnergyConsumption, u64, "energy_mj", 0, "1000000")
READ(nvmlDeviceGetPerformanceState, unsigned, "pstate", 0, "0")
READ(nvmlDeviceGetPersistenceMode, unsigned, "persistence", 0, "1")
READ(nvmlDeviceGetComputeMode, unsigned, "compute_mode", 0, "0")
READ(nvmlDeviceGetDisplayActive, unsigned, "display", 0, "0 1")
READ(nvmlDeviceGetDisplayMode, unsigned, "display", 1, "0 1")
READ(nvmlDeviceGetFanSpeed, unsigned, "fan", 0, "na")
READ(nvmlDeviceGetNumFans, unsigned, "fans", 0, "0")
READ(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, "pcie", 0, "5 16 5 16")
READ(nvmlDeviceGetCurrPcieLinkWidth, unsigned, "pcie", 1, "5 16 5 16")
READ(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, "pcie", 2, "5 16 5 16")
READ(nvmlDeviceGetMaxPcieLinkWidth, unsigned, "pcie", 3, "5 16 5 16")
READ(nvmlDeviceGetPcieReplayCounter, unsigned, "pcie_replays", 0, "0")
READ(nvmlDeviceGetBoardId, unsigned, "board", 0, "0x1900")
READ(nvmlDeviceGetNumGpuCores, unsigned, "cores", 0, "16896")
READ(nvmlDeviceGetBrand, unsigned, "brand", 0, "14")
READ(nvmlDeviceGetArchitecture, unsigned, "architecture", 0, "9")
READ(nvmlDeviceGetCurrentClocksThrottleReasons, u64, "throttle", 0, "1")
READ(nvmlDeviceGetSupportedClocksThrottleReasons, u64, "throttle", 1, "1 0x1ff")
READ_PAIR(nvmlDeviceGetPowerManagementLimitConstraints, unsigned, "power_range_mw", "200000 700000")
READ_PAIR(nvmlDeviceGetEncoderUtilization, unsigned, "encoder", "0 167000")
READ_PAIR(nvmlDeviceGetDecoderUtilization, unsigned, "decoder", "0 167000")
READ_PAIR(nvmlDeviceGetEccMode, unsigned, "ecc_mode", "1 1")
READ_PAIR(nvmlDeviceGetMigMode, unsigned, "mig", "0 0")
READ_PAIR(nvmlDeviceGetDriverModel, unsigned, "driver_model", "na")
READ_PAIR(nvmlDeviceGetCudaComputeCapability, int, "compute_capability", "9 0")
READ_NTH(nvmlDeviceGetTemperature, unsigned, "temp", 0, "30")
READ_NTH(nvmlDeviceGetTemperatureThreshold, unsigned, "temp_thresholds", 3, "92 89 95 87")
READ_NTH(nvmlDeviceGetClockInfo, unsigned, "clocks", 3, "345 345 3201 1545")
READ_NTH(nvmlDeviceGetMaxClockInfo, unsigned, "max_clocks", 3, "1980 1980 3201 1545")
#ifndef FAKE_OLD_450
READ(nvmlDeviceGetCurrentClocksEventReasons, u64, "throttle", 0, "1")
READ(nvmlDeviceGetSupportedClocksEventReasons, u64, "throttle", 1, "1 0x1ff")
READ_PAIR(nvmlDeviceGetDriverModel_v2, unsigned, "driver_model", "na")
READ_NTH(nvmlDeviceGetFanSpeed_v2, unsigned, "fan", 8, "na")

typedef struct { unsigned version, sensor; int celsius; } Temperature;

EXPORT nvmlDeviceGetTemperatureV(Device d, Temperature *out) {
    u64 celsius = 0;
    ENTER(d);
    if (out->version != (sizeof *out | 1 << 24)) return leave(VERSION_MISMATCH);
    if (out->sensor) return leave(INVALID_ARGUMENT);
    rc = number(d->slot, "temp", 0, "30", &celsius);
    out->celsius = (int)celsius;
    return leave(rc);
}
#endif

/* ---- several words, or words by rule ---- */

typedef struct { unsigned gpu, memory; } Utilization;

EXPORT nvmlDeviceGetUtilizationRates(Device d, Utilization *out) {
    u64 gpu = 0, memory = 0, mig = 0;
    ENTER(d);
    number(d->slot, "mig", 0, "0", &mig);
    rc = mig ? NOT_SUPPORTED : number(d->slot, "util", 0, "0 0", &gpu);
    if (!rc) rc = number(d->slot, "util", 1, "0 0", &memory);
    if (!rc) out->gpu = (unsigned)gpu, out->memory = (unsigned)memory;
    return leave(rc);
}

EXPORT nvmlDeviceGetMinorNumber(Device d, unsigned *out) {
    u64 minor = 0;
    ENTER(d);
    minor = (u64)d->slot;
    if (flag(d->slot, "minor")) rc = number(d->slot, "minor", 0, NULL, &minor);
    if (!rc) *out = (unsigned)minor;
    return leave(rc);
}

EXPORT nvmlDeviceGetClock(Device d, unsigned type, unsigned id, unsigned *out) {
    u64 mhz = 0;
    ENTER(d);
    if (type > 3 || (id != 0 && id != 3)) return leave(id > 3 ? INVALID_ARGUMENT : NOT_SUPPORTED);
    rc = number(d->slot, id ? "max_clocks" : "clocks", (int)type,
                id ? "1980 1980 3201 1545" : "345 345 3201 1545", &mhz);
    if (!rc) *out = (unsigned)mhz;
    return leave(rc);
}

/* Words: volatile corrected, volatile uncorrected, aggregate corrected, aggregate uncorrected. */
EXPORT nvmlDeviceGetTotalEccErrors(Device d, unsigned type, unsigned counter, u64 *out) {
    ENTER(d);
    if (type > 1 || counter > 1) return leave(INVALID_ARGUMENT);
    return leave(number(d->slot, "ecc", (int)(counter * 2 + type), "0 0 0 0", out));
}

EXPORT nvmlDeviceGetRemappedRows(Device d, unsigned *corrected, unsigned *uncorrected,
                                 unsigned *pending, unsigned *failed) {
    unsigned *outs[] = {corrected, uncorrected, pending, failed};
    ENTER(d);
    for (int i = 0; i < 4 && !rc; i++) {
        u64 value = 0;
        rc = number(d->slot, "remapped", i, "0 0 0 0", &value);
        *outs[i] = (unsigned)value;
    }
    return leave(rc);
}

typedef struct { u64 reference_time, violation_time; } Violation;

EXPORT nvmlDeviceGetViolationStatus(Device d, unsigned policy, Violation *out) {
    struct timespec now;
    ENTER(d);
    clock_gettime(CLOCK_REALTIME, &now);
    out->reference_time = (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
    return leave(number(d->slot, "violation_ns", (int)policy, "0 0 0 0 0 0", &out->violation_time));
}

/* The real call measures over 20 ms. */
EXPORT nvmlDeviceGetPcieThroughput(Device d, unsigned counter, unsigned *out) {
    u64 kib = 0;
    ENTER(d);
    if (counter > 1) return leave(INVALID_ARGUMENT);
    sleep_unlocked_us(20000);
    rc = number(d->slot, "pcie_kib_s", (int)counter, "0 0", &kib);
    if (!rc) *out = (unsigned)kib;
    return leave(rc);
}

EXPORT nvmlDeviceGetNvLinkState(Device d, unsigned link, unsigned *out) {
    u64 links = 0;
    ENTER(d);
    rc = number(d->slot, "nvlinks", 0, "18", &links);
    if (!rc && link >= links) rc = link > 35 ? INVALID_ARGUMENT : NOT_SUPPORTED;
    if (!rc) *out = 1;
    return leave(rc);
}
