/* What the exported functions of nvml.c know about the state file; see state.c. */
#ifndef FAKE_NVML_STATE_H
#define FAKE_NVML_STATE_H

#include <stddef.h>

enum { SYSTEM = -1, MAX_GPUS = 64, MAX_INSTANCES = 16, MAX_PROCESSES = 1024 };

enum {
    OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15, VERSION_MISMATCH = 25,
    UNKNOWN = 999
};

typedef unsigned long long u64;
#define NOT_AVAILABLE (~0ULL)

/* A handle is the address of one of these; it stays valid for the life of the process. */
typedef struct { int slot, instance; } Handle;
typedef const Handle *Device;

typedef struct { int gi, ci; char uuid[96], profile[64]; u64 used, total; } Instance;
typedef struct { unsigned pid, gi, ci; char kind[8]; u64 bytes; int sm_percent; } Process;

extern int init_count;

/* Take the lock, read the state if it changed, wait as told and answer the code that is due. */
int enter(Device device, const char *function);
int enter_system(const char *function, int needs_init);
int leave(int code);
/* The part of enter() that concerns one GPU; the lock is held. */
int admit(int slot, const char *function);
void sleep_unlocked_us(u64 us);

Device handle_of(int slot, int instance);
int slot_at(unsigned index);
int index_of(int slot);
unsigned gpu_count(void);

const char *text(int slot, const char *key, const char *fallback);
int number(int slot, const char *key, int nth, const char *fallback, u64 *out);
int flag(int slot, const char *key);
int field_row(int slot, unsigned id, u64 *value);
int instances(int slot, Instance *out);
int find_instance(Device d, Instance *out);
int processes(int slot, Process *out);
u64 held_bytes(int slot);

#define EXPORT __attribute__((visibility("default"))) int

/* Most calls know no MIG device: code 3 there. */
#define ENTER(d)                                                   \
    int rc = enter(d, __func__);                                   \
    if (!rc && (d)->instance >= 0) rc = NOT_SUPPORTED;             \
    if (rc) return leave(rc)
#define ENTER_ANY(d)                                               \
    int rc = enter(d, __func__);                                   \
    if (rc) return leave(rc)
#define ENTER_SYSTEM()                                             \
    int rc = enter_system(__func__, 1);                            \
    if (rc) return leave(rc)

#endif
