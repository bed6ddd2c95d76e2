/* The state file behind the fake libnvidia-ml.so.1: reading, waiting, handles, holders.
 *
 * FAKE_NVML_STATE names the file, FAKE_NVML_STATE + ".holds" a second one with more rows, to which
 * holders append. Both are read again when their mtime, size or inode changed. The grammar is in
 * README.md. One mutex guards everything; a call that waits lets go of it, so that a hung call in
 * one thread does not hang the others.
 */
#define _GNU_SOURCE
#include "state.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct { int slot; const char *key, *value; } Row;
typedef struct { struct timespec mtime; off_t size; ino_t inode; } Stamp;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static Row *rows;
static size_t row_count;
static char *contents;
static Stamp stamps[2];
static int loaded;
static Handle handles[MAX_GPUS][MAX_INSTANCES + 1];
int init_count;

/* ---- reading ---- */

static int stamp_file(const char *path, Stamp *stamp) {
    struct stat s;
    memset(stamp, 0, sizeof *stamp);
    if (stat(path, &s)) return 0;
    stamp->mtime = s.st_mtim, stamp->size = s.st_size, stamp->inode = s.st_ino;
    return 1;
}

static size_t append_file(const char *path, size_t length) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return length;
    for (ssize_t got = 1; got > 0; length += got > 0 ? (size_t)got : 0) {
        contents = realloc(contents, length + 65537);
        got = read(fd, contents + length, 65535);
    }
    close(fd);
    contents[length++] = '\n';
    return length;
}

static void parse(size_t length) {
    char *save = NULL;
    row_count = 0;
    if (!length) return;
    contents[length] = 0;
    for (char *line = strtok_r(contents, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        Row row = {SYSTEM, line, ""};
        if (*line == '#') continue;
        if (*line >= '0' && *line <= '9') row.slot = (int)strtol(line, &line, 10);
        row.key = line += strspn(line, " \t");
        line += strcspn(line, " \t");
        if (*line) *line++ = 0, row.value = line + strspn(line, " \t");
        if (row.slot >= MAX_GPUS || !*row.key) continue;
        if (row_count % 256 == 0) rows = realloc(rows, (row_count + 256) * sizeof *rows);
        rows[row_count++] = row;
    }
}

static void refresh(void) {
    char holds[4096];
    Stamp now[2];
    const char *path = getenv("FAKE_NVML_STATE");
    if (!path) path = "/nonexistent";
    snprintf(holds, sizeof holds, "%s.holds", path);
    int present = stamp_file(path, &now[0]);
    stamp_file(holds, &now[1]);
    if (loaded == present && !memcmp(now, stamps, sizeof now)) return;
    parse(append_file(holds, append_file(path, 0)));
    memcpy(stamps, now, sizeof now);
    loaded = present;
}

/* ---- rows: the last one that fits wins ---- */

static const char *find(int slot, const char *key) {
    for (size_t i = row_count; i-- > 0;)
        if (rows[i].slot == slot && !strcmp(rows[i].key, key)) return rows[i].value;
    return NULL;
}

const char *text(int slot, const char *key, const char *fallback) {
    const char *value = find(slot, key);
    return value ? value : fallback;
}

int flag(int slot, const char *key) { return find(slot, key) != NULL; }

static const char *word(const char *from, int nth) {
    for (; from && nth > 0; nth--) from += strcspn(from, " \t"), from += strspn(from, " \t");
    return from && *from ? from : NULL;
}

/* Word `nth` of a row as a number; "na" reads as code 3, a missing word as the fallback's. */
int number(int slot, const char *key, int nth, const char *fallback, u64 *out) {
    const char *at = word(find(slot, key), nth);
    if (!at) at = word(fallback, nth);
    if (!at || !strncmp(at, "na", 2)) return NOT_SUPPORTED;
    *out = strtoull(at, NULL, 0);
    return OK;
}

/* A row "field ID VALUE [CODE]"; answers -1 without one. */
int field_row(int slot, unsigned id, u64 *value) {
    for (size_t i = row_count; i-- > 0;) {
        if (rows[i].slot != slot || strcmp(rows[i].key, "field")) continue;
        if (strtoul(rows[i].value, NULL, 0) != id) continue;
        const char *code = word(rows[i].value, 2), *at = word(rows[i].value, 1);
        if (at) *value = strtoull(at, NULL, 0);
        return code ? atoi(code) : OK;
    }
    return -1;
}

int instances(int slot, Instance *out) {
    int n = 0;
    for (size_t i = 0; i < row_count && n < MAX_INSTANCES; i++) {
        if (rows[i].slot != slot || strcmp(rows[i].key, "instance")) continue;
        n += sscanf(rows[i].value, "%d %d %95s %llu %llu %63s", &out[n].gi, &out[n].ci, out[n].uuid,
                    &out[n].used, &out[n].total, out[n].profile) == 6;
    }
    return n;
}

int find_instance(Device d, Instance *out) {
    Instance all[MAX_INSTANCES];
    int n = instances(d->slot, all);
    if (d->instance < 0) return NOT_SUPPORTED;
    if (d->instance >= n) return NOT_FOUND;
    *out = all[d->instance];
    return OK;
}

/* A shared lock is enough to see an exclusive one, and two readers never see each other. */
static int is_held(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    int held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return held;
}

static int id_word(const char *at) { return at && *at != '-' ? atoi(at) : -1; }

int processes(int slot, Process *out) {
    int n = 0;
    for (size_t i = 0; i < row_count && n < MAX_PROCESSES; i++) {
        const char *value = rows[i].value, *bytes = word(value, 2), *fourth = word(value, 3);
        int holds = !strcmp(rows[i].key, "hold");
        if (rows[i].slot != slot || !bytes || !(holds || !strcmp(rows[i].key, "proc"))) continue;
        if (holds && !(fourth && is_held(fourth))) continue;
        Process *p = &out[n++];
        sscanf(value, "%u %7s", &p->pid, p->kind);
        p->bytes = strncmp(bytes, "na", 2) ? strtoull(bytes, NULL, 0) : NOT_AVAILABLE;
        p->sm_percent = holds ? -1 : id_word(fourth);
        p->gi = (unsigned)(holds ? -1 : id_word(word(value, 4)));
        p->ci = (unsigned)(holds ? -1 : id_word(word(value, 5)));
    }
    return n;
}

u64 held_bytes(int slot) {
    u64 sum = 0;
    for (size_t i = 0; i < row_count; i++) {
        const char *bytes = word(rows[i].value, 2), *path = word(rows[i].value, 3);
        if (rows[i].slot != slot || strcmp(rows[i].key, "hold") || !path || !is_held(path)) continue;
        sum += strncmp(bytes, "na", 2) ? strtoull(bytes, NULL, 0) : 0;
    }
    return sum;
}

/* ---- handles ---- */

static int is_present(int slot) { return flag(slot, "uuid") && !flag(slot, "vanished"); }

int slot_at(unsigned index) {
    for (int slot = 0; slot < MAX_GPUS; slot++)
        if (is_present(slot) && index-- == 0) return slot;
    return -1;
}

int index_of(int slot) {
    int index = 0;
    for (int i = 0; i < slot; i++) index += is_present(i);
    return index;
}

unsigned gpu_count(void) { return (unsigned)index_of(MAX_GPUS); }

Device handle_of(int slot, int instance) {
    Handle *handle = &handles[slot][instance + 1];
    handle->slot = slot, handle->instance = instance;
    return handle;
}

static int is_handle(Device d) {
    const char *at = (const char *)d, *start = (const char *)handles;
    return at >= start && at < start + sizeof handles && (size_t)(at - start) % sizeof *d == 0;
}

/* ---- entering a call ---- */

static const char *short_name(const char *function) {
    static const char *const prefixes[] = {"nvmlDeviceGet", "nvmlDevice", "nvmlSystemGet", "nvml"};
    for (int i = 0; i < 4; i++) {
        size_t n = strlen(prefixes[i]);
        if (!strncmp(function, prefixes[i], n)) return function + n;
    }
    return function;
}

/* The value of the last row "PREFIX.NAME"; NAME may end in a star. */
static const char *told(int slot, const char *prefix, const char *name) {
    size_t n = strlen(prefix);
    for (size_t i = row_count; i-- > 0;) {
        const char *key = rows[i].key;
        if (rows[i].slot != slot || strncmp(key, prefix, n)) continue;
        size_t length = strlen(key += n);
        int star = length && key[length - 1] == '*';
        if (star ? !strncmp(key, name, length - 1) : !strcmp(key, name)) return rows[i].value;
    }
    return NULL;
}

void sleep_unlocked_us(u64 us) {
    struct timespec left = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};
    pthread_mutex_unlock(&mutex);
    while (nanosleep(&left, &left)) continue;
    pthread_mutex_lock(&mutex);
    refresh();
}

/* "forever" lasts until the state file says otherwise. */
int admit(int slot, const char *function) {
    const char *name = short_name(function), *delay = told(slot, "delay.", name), *code;
    if (delay && strcmp(delay, "forever")) sleep_unlocked_us(strtoull(delay, NULL, 10));
    while (delay && !strcmp(delay, "forever"))
        sleep_unlocked_us(10000), delay = told(slot, "delay.", name);
    code = told(slot, "err.", name);
    return code ? atoi(code) : OK;
}

int enter_system(const char *function, int needs_init) {
    pthread_mutex_lock(&mutex);
    refresh();
    if (needs_init && !init_count) return UNINITIALIZED;
    if (!needs_init && !loaded) return DRIVER_NOT_LOADED;
    return admit(SYSTEM, function);
}

int enter(Device d, const char *function) {
    int code;
    pthread_mutex_lock(&mutex);
    refresh();
    if (!init_count) return UNINITIALIZED;
    if (!d || !is_handle(d)) return INVALID_ARGUMENT;
    code = admit(d->slot, function);
    return flag(d->slot, "lost") || !is_present(d->slot) ? GPU_IS_LOST : code;
}

int leave(int code) {
    pthread_mutex_unlock(&mutex);
    return code;
}
