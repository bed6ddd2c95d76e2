/* The fake library's memory, processes, MIG devices and field values; see nvml.c. */
#define _GNU_SOURCE
#include "state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- memory ---- */

typedef struct { u64 total, reserved, used; } Split;

/* Bytes as version 2 splits them: used + free + reserved = total. */
static int split_memory(Device d, Split *out) {
    Instance mig;
    int rc = flag(d->slot, "unified") ? NOT_SUPPORTED : OK;
    if (!rc && d->instance >= 0) {
        rc = find_instance(d, &mig);
        if (!rc) *out = (Split){mig.total, 0, mig.used};
        return rc;
    }
    if (!rc) rc = number(d->slot, "total", 0, "150754820096", &out->total);
    if (!rc) rc = number(d->slot, "reserved", 0, "644939776", &out->reserved);
    if (!rc) rc = number(d->slot, "used", 0, "0", &out->used);
    if (!rc) out->used += held_bytes(d->slot);
    return rc;
}

typedef struct { u64 total, free, used; } Memory;

/* From 510 on, version 1 counts the driver's reserve as used; before, there is no such reserve. */
EXPORT nvmlDeviceGetMemoryInfo(Device d, Memory *out) {
    Split split = {0, 0, 0};
    ENTER_ANY(d);
    if ((rc = split_memory(d, &split))) return leave(rc);
#ifdef FAKE_OLD_450
    split.reserved = 0;
#endif
    u64 used = split.used + split.reserved;
    *out = (Memory){split.total, split.total - used, used};
    return leave(OK);
}

#ifndef FAKE_OLD_450
typedef struct { unsigned version; u64 total, reserved, free, used; } MemoryV2;

EXPORT nvmlDeviceGetMemoryInfo_v2(Device d, MemoryV2 *out) {
    Split s = {0, 0, 0};
    ENTER_ANY(d);
    if (out->version != (sizeof *out | 2 << 24)) return leave(VERSION_MISMATCH);
    if ((rc = split_memory(d, &s))) return leave(rc);
    *out = (MemoryV2){out->version, s.total, s.reserved, s.total - s.reserved - s.used, s.used};
    return leave(OK);
}
#endif

/* A MIG device has a part of the GPU's BAR1; nvitop cannot print one that has none. */
EXPORT nvmlDeviceGetBAR1MemoryInfo(Device d, Memory *out) {
    u64 total = 0, used = 0;
    ENTER_ANY(d);
    rc = number(d->slot, "bar1", 0, "274877906944 1703936", &total);
    if (!rc) rc = number(d->slot, "bar1", 1, "274877906944 1703936", &used);
    if (rc) return leave(rc);
    if (d->instance >= 0) total /= 8, used = 0;
    *out = (Memory){total, total - used, used};
    return leave(OK);
}

/* ---- processes ---- */

typedef struct { unsigned pid; u64 used; } ProcessV1;
typedef struct { unsigned pid; u64 used; unsigned gi, ci; } ProcessV2;

/* The rows of one kind that a handle shows, packed to the front. */
static int listed(Device d, char kind, Process *out) {
    Instance mig;
    int n = processes(d->slot, out), kept = 0;
    if (find_instance(d, &mig)) mig.gi = mig.ci = -1;
    for (int i = 0; i < n; i++) {
        int here = d->instance < 0 || (out[i].gi == (unsigned)mig.gi && out[i].ci == (unsigned)mig.ci);
        if (here && strchr(out[i].kind, kind)) out[kept++] = out[i];
    }
    return kept;
}

static int running(Device d, const char *function, char kind, unsigned *count, void *infos, int v) {
    Process *found;
    int rc = enter(d, function);
    if (rc) return leave(rc);
    if (!(found = calloc(MAX_PROCESSES, sizeof *found))) return leave(UNKNOWN);
    unsigned n = (unsigned)listed(d, kind, found), room = *count;
    *count = n;
    if (n > room) rc = INSUFFICIENT_SIZE;
    else if (n && !infos) rc = INVALID_ARGUMENT;
    for (unsigned i = 0; i < n && !rc; i++) {
        Process *p = &found[i];
        if (v == 1) ((ProcessV1 *)infos)[i] = (ProcessV1){p->pid, p->bytes};
        else ((ProcessV2 *)infos)[i] = (ProcessV2){p->pid, p->bytes, p->gi, p->ci};
    }
    free(found);
    return leave(rc);
}

#define RUNNING(function, kind, v)                                 \
    EXPORT function(Device d, unsigned *count, void *infos) {      \
        return running(d, __func__, kind, count, infos, v);        \
    }

RUNNING(nvmlDeviceGetComputeRunningProcesses, 'C', 1)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses, 'G', 1)
#ifndef FAKE_OLD_450
RUNNING(nvmlDeviceGetComputeRunningProcesses_v2, 'C', 2)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses_v2, 'G', 2)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses_v2, 'M', 2)
RUNNING(nvmlDeviceGetComputeRunningProcesses_v3, 'C', 3)
RUNNING(nvmlDeviceGetGraphicsRunningProcesses_v3, 'G', 3)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'M', 3)
RUNNING(nvmlDeviceGetMPSComputeRunningProcesses, 'M', 1)
#endif

typedef struct { unsigned pid; u64 time_us; unsigned sm, memory, encoder, decoder; } Sample;

static u64 now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
}

/* Nobody to report is code 6, not an empty list. */
EXPORT nvmlDeviceGetProcessUtilization(Device d, Sample *out, unsigned *count, u64 since_us) {
    Process *found;
    unsigned n = 0, room = *count;
    ENTER(d);
    (void)since_us;
    if (!(found = calloc(MAX_PROCESSES, sizeof *found))) return leave(UNKNOWN);
    int all = processes(d->slot, found);
    for (int i = 0; i < all; i++) {
        if (found[i].sm_percent < 0) continue;
        if (out && n < room)
            out[n] = (Sample){found[i].pid, now_us(), (unsigned)found[i].sm_percent, 0, 0, 0};
        n++;
    }
    free(found);
    *count = n;
    return leave(!n ? NOT_FOUND : !out || n > room ? INSUFFICIENT_SIZE : OK);
}

/* ---- MIG ---- */

EXPORT nvmlDeviceGetMaxMigDeviceCount(Device d, unsigned *out) {
    u64 mode;
    ENTER(d);
    *out = number(d->slot, "mig", 0, "0 0", &mode) ? 0 : 7;
    return leave(OK);
}

EXPORT nvmlDeviceGetMigDeviceHandleByIndex(Device d, unsigned index, Device *out) {
    Instance all[MAX_INSTANCES];
    u64 mode = 0;
    ENTER(d);
    if (number(d->slot, "mig", 0, "0 0", &mode) || !mode) return leave(NOT_SUPPORTED);
    if (index >= (unsigned)instances(d->slot, all)) return leave(NOT_FOUND);
    *out = handle_of(d->slot, (int)index);
    return leave(OK);
}

EXPORT nvmlDeviceIsMigDeviceHandle(Device d, unsigned *out) {
    ENTER_ANY(d);
    *out = d->instance >= 0;
    return leave(OK);
}

EXPORT nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device d, Device *out) {
    ENTER_ANY(d);
    if (d->instance < 0) return leave(INVALID_ARGUMENT);
    *out = handle_of(d->slot, -1);
    return leave(OK);
}

#define INSTANCE_ID(function, member)                              \
    EXPORT function(Device d, unsigned *out) {                     \
        Instance mig;                                              \
        ENTER_ANY(d);                                              \
        if (!(rc = find_instance(d, &mig))) *out = (unsigned)mig.member; \
        return leave(rc);                                          \
    }

INSTANCE_ID(nvmlDeviceGetGpuInstanceId, gi)
INSTANCE_ID(nvmlDeviceGetComputeInstanceId, ci)

typedef struct {
    unsigned multiprocessors, copy_engines, decoders, encoders, jpegs, ofas, gi_slices, ci_slices;
    u64 memory_mib;
} Attributes;

EXPORT nvmlDeviceGetAttributes_v2(Device d, Attributes *out) {
    Instance mig;
    ENTER_ANY(d);
    if ((rc = find_instance(d, &mig))) return leave(rc);
    unsigned slices = (unsigned)atoi(mig.profile);
    *out = (Attributes){16 * slices, slices, 0, 0, 0, 0, slices, slices, mig.total >> 20};
    return leave(OK);
}

/* ---- field values: each carries its own code ---- */

typedef struct {
    uint32_t id, scope;
    int64_t time_us, latency_us;
    unsigned type;
    int code;
    union { double real; u64 whole; } value;
} FieldValue;

static const struct { unsigned id; const char *key; int nth; const char *fallback; unsigned type; }
fields[] = {
    {29, "retired", 0, "na", 1},            {30, "retired", 1, "na", 1},
    {31, "retired", 2, "na", 1},
    {82, "mem_temp", 0, "38", 1},           {83, "energy_mj", 0, "1000000", 3},
    {91, "nvlinks", 0, "18", 1},            {138, "nvlink_kib", 0, "0 0", 3},
    {139, "nvlink_kib", 1, "0 0", 3},       {140, "nvlink_kib", 0, "0 0", 3},
    {141, "nvlink_kib", 1, "0 0", 3},       {185, "power_mw", 0, "75000", 1},
    {186, "power_mw", 0, "75000", 1},       {197, "pcie_bytes", 0, "0 0", 3},
    {198, "pcie_bytes", 1, "0 0", 3},
#ifndef FAKE_OLD_450
    {230, "recovery", 0, "0", 1},
#endif
};

static void answer_field(int slot, FieldValue *out) {
    u64 code;
    out->value.whole = 0, out->code = NOT_SUPPORTED, out->type = 1;
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].id != out->id) continue;
        out->type = fields[i].type;
        out->code = number(slot, fields[i].key, fields[i].nth, fields[i].fallback,
                           &out->value.whole);
    }
    if (out->id == 230 && !number(slot, "recovery", 1, NULL, &code) && code) out->code = (int)code;
    int told = field_row(slot, out->id, &out->value.whole);
    if (told >= 0) out->code = told;
    out->time_us = (int64_t)now_us(), out->latency_us = 1;
}

EXPORT nvmlDeviceGetFieldValues(Device d, int count, FieldValue *values) {
    ENTER(d);
    if (count < 1 || !values) return leave(INVALID_ARGUMENT);
    for (int i = 0; i < count; i++) answer_field(d->slot, &values[i]);
    return leave(OK);
}
