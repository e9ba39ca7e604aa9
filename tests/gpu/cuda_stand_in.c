/* SPDX-License-Identifier: Apache-2.0 */
/* tests/gpu/cuda_stand_in.c: the calls of libcuda.so.1 that Banyan makes to allocate, copy and share memory,
 * over the host's memory, for tests/multi/blocks.c and to try scripts/gpu-suite.sh out. Blocks of the virtual
 * memory calls are memfds, so other processes map them by their descriptors as they would a GPU's. Streams
 * are threads. There are no kernels. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NOT_SUPPORTED = 801, MOST_MAPPINGS = 256, GRANULE = 2 << 20 };
enum { BUFFER_ID = 7, IS_IPC = 10, RANGE_BEGIN = 11, RANGE_BYTES = 12, HANDLE_TYPES = 14 };
enum { MAPPING_BYTES = 18, MAPPING_BEGIN = 19, BLOCK_NUMBER = 20 };

typedef struct {
    int fd, references, handle_types;
    size_t bytes;
    uint64_t number;
} block;

typedef struct {
    char *begin;
    size_t bytes;
    block *what;
} mapping;

typedef struct {
    int type, handle_types, place_type, place;
    void *unused;
    unsigned char flags[8];
} properties;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mapping mappings[MOST_MAPPINGS];
static uint64_t blocks_made;
static char context;

int cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    Dl_info own;
    void *library =
        dladdr(&context, &own) ? dlopen(own.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
    char second[80];

    (void)version;
    if (!library)
        return INVALID;
    snprintf(second, sizeof second, "%s_v2", name);
    *out = dlsym(library, second);
    if (!*out)
        *out = dlsym(library, name);
    return *out && !flags ? OK : INVALID;
}

int cuInit(unsigned flags)
{
    return flags ? INVALID : OK;
}

int cuDriverGetVersion(int *version)
{
    *version = 12090;
    return OK;
}

int cuGetErrorString(int error, const char **text)
{
    *text = error == OUT_OF_MEMORY ? "out of memory" : "invalid argument";
    return OK;
}

int cuDeviceGetCount(int *count)
{
    *count = 1;
    return OK;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal ? INVALID : OK;
}

int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "stand-in");
    return device ? INVALID : OK;
}

int cuDeviceGetUuid_v2(char *uuid, int device)
{
    memset(uuid, 7, 16);
    return device ? INVALID : OK;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute ? 1 : 0;
    return device ? INVALID : OK;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
    *out = &context;
    return device ? INVALID : OK;
}

int cuCtxPushCurrent_v2(void *given)
{
    return given == &context ? OK : INVALID;
}

int cuCtxPopCurrent_v2(void **out)
{
    *out = &context;
    return OK;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    *address = (uint64_t)(uintptr_t)malloc(bytes);
    return *address ? OK : OUT_OF_MEMORY;
}

int cuMemFree_v2(uint64_t address)
{
    free((void *)(uintptr_t)address);
    return OK;
}

/* There are systems that say so only here. */
int cuIpcGetMemHandle(void *handle, uint64_t address)
{
    return handle && address ? NOT_SUPPORTED : INVALID;
}

int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    return memory && bytes && flags == 3 ? OK : INVALID;
}

int cuMemHostUnregister(void *memory)
{
    return memory ? OK : INVALID;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
    *address = (uint64_t)(uintptr_t)memory;
    return flags ? INVALID : OK;
}

int cuCtxGetStreamPriorityRange(int *lowest, int *highest)
{
    *lowest = 0;
    *highest = -1;
    return OK;
}

/* ---- Streams. */

enum { WAIT_WORD = 1, WRITE_WORD = 2, COPY, RECORD, WAIT_EVENT, END, IS_EQUAL = 1, NOT_READY = 600 };

typedef struct {
    _Atomic uint64_t recorded, passed;
} event;

typedef struct step step;
struct step {
    step *next;
    unsigned kind, flags;
    uint64_t into, from; /* addresses; of a word, its address and value */
    size_t bytes;
    event *what;
    uint64_t ticket;
};

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    step *first, **end;
    int is_busy;
} stream;

/* cuStreamBatchMemOp's. */
typedef struct {
    uint32_t operation, unused;
    uint64_t address, value;
    uint32_t flags, unused_too;
    uint64_t alias, more;
} word;

static int has_come(const step *s)
{
    uint32_t value = atomic_load((_Atomic uint32_t *)(uintptr_t)s->into);

    return s->flags & IS_EQUAL ? value == (uint32_t)s->from : (int32_t)(value - (uint32_t)s->from) >= 0;
}

static void do_step(const step *s)
{
    switch (s->kind) {
    case COPY:
        memcpy((void *)(uintptr_t)s->into, (const void *)(uintptr_t)s->from, s->bytes);
        break;
    case WAIT_WORD:
        while (!has_come(s))
            sched_yield();
        break;
    case WRITE_WORD:
        atomic_store((_Atomic uint32_t *)(uintptr_t)s->into, (uint32_t)s->from);
        break;
    case RECORD:
        atomic_store(&s->what->passed, s->ticket);
        break;
    case WAIT_EVENT:
        while (atomic_load(&s->what->passed) < s->ticket)
            sched_yield();
        break;
    }
}

static void *work(void *argument)
{
    stream *on = argument;
    int is_ending = 0;

    pthread_mutex_lock(&on->lock);
    while (!is_ending) {
        step *s = on->first;

        on->is_busy = s != NULL;
        if (!s) {
            pthread_cond_broadcast(&on->changed);
            pthread_cond_wait(&on->changed, &on->lock);
            continue;
        }
        on->first = s->next;
        if (!s->next)
            on->end = &on->first;
        pthread_mutex_unlock(&on->lock);
        do_step(s);
        is_ending = s->kind == END;
        free(s);
        pthread_mutex_lock(&on->lock);
    }
    pthread_mutex_unlock(&on->lock);
    return NULL;
}

static int put(stream *on, step wanted)
{
    step *s = malloc(sizeof *s);

    if (!on || !s)
        return INVALID;
    *s = wanted;
    s->next = NULL;
    pthread_mutex_lock(&on->lock);
    *on->end = s;
    on->end = &s->next;
    on->is_busy = 1;
    pthread_cond_broadcast(&on->changed);
    pthread_mutex_unlock(&on->lock);
    return OK;
}

int cuStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    stream *made = calloc(1, sizeof *made);

    if (!made || flags != 1 || priority > 0)
        return INVALID;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->end = &made->first;
    *out = made;
    return pthread_create(&made->thread, NULL, work, made) ? OUT_OF_MEMORY : OK;
}

int cuStreamDestroy_v2(stream *on)
{
    int error = put(on, (step){.kind = END});

    if (error)
        return error;
    pthread_join(on->thread, NULL);
    free(on);
    return OK;
}

int cuStreamSynchronize(stream *on)
{
    pthread_mutex_lock(&on->lock);
    while (on->is_busy)
        pthread_cond_wait(&on->changed, &on->lock);
    pthread_mutex_unlock(&on->lock);
    return OK;
}

int cuMemcpyAsync(uint64_t into, uint64_t from, size_t bytes, stream *on)
{
    return put(on, (step){.kind = COPY, .into = into, .from = from, .bytes = bytes});
}

int cuStreamBatchMemOp_v2(stream *on, unsigned count, const word *words, unsigned flags)
{
    int error = flags ? INVALID : OK;

    for (unsigned i = 0; i < count && !error; i++)
        error = words[i].operation != WAIT_WORD && words[i].operation != WRITE_WORD
                    ? INVALID
                    : put(on, (step){.kind = words[i].operation,
                                     .flags = words[i].flags,
                                     .into = words[i].address,
                                     .from = words[i].value});
    return error;
}

int cuEventCreate(void **out, unsigned flags)
{
    *out = calloc(1, sizeof(event));
    return *out && flags == 2 ? OK : INVALID;
}

int cuEventDestroy_v2(event *given)
{
    free(given);
    return OK;
}

int cuEventRecord(event *given, stream *on)
{
    return put(on,
               (step){.kind = RECORD, .what = given, .ticket = atomic_fetch_add(&given->recorded, 1) + 1});
}

int cuEventQuery(event *given)
{
    return atomic_load(&given->passed) < atomic_load(&given->recorded) ? NOT_READY : OK;
}

int cuStreamWaitEvent(stream *on, event *given, unsigned flags)
{
    return flags
               ? INVALID
               : put(on, (step){.kind = WAIT_EVENT, .what = given, .ticket = atomic_load(&given->recorded)});
}

/* ---- Virtual memory. */

static int make_block(uint64_t *out, int fd, size_t bytes, int handle_types)
{
    block *made = fd < 0 ? NULL : calloc(1, sizeof *made);

    if (!made)
        return OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    *made = (block){fd, 1, handle_types, bytes, ++blocks_made};
    pthread_mutex_unlock(&lock);
    *out = (uint64_t)(uintptr_t)made;
    return OK;
}

int cuMemCreate(uint64_t *out, size_t bytes, const properties *wanted, uint64_t flags)
{
    int fd;

    if (!bytes || bytes % GRANULE || flags || wanted->type != 1 || wanted->place_type != 1)
        return INVALID;
    fd = memfd_create("stand-in", MFD_CLOEXEC);
    return fd < 0 || ftruncate(fd, (off_t)bytes) ? OUT_OF_MEMORY
                                                 : make_block(out, fd, bytes, wanted->handle_types);
}

static void release(block *given)
{
    if (--given->references)
        return;
    close(given->fd);
    free(given);
}

int cuMemRelease(uint64_t given)
{
    pthread_mutex_lock(&lock);
    release((block *)(uintptr_t)given);
    pthread_mutex_unlock(&lock);
    return OK;
}

/* With the lock held. */
static mapping *find(const void *address)
{
    for (int i = 0; i < MOST_MAPPINGS; i++)
        if (mappings[i].what && (const char *)address >= mappings[i].begin &&
            (const char *)address < mappings[i].begin + mappings[i].bytes)
            return &mappings[i];
    return NULL;
}

int cuMemRetainAllocationHandle(uint64_t *out, void *address)
{
    mapping *found;

    pthread_mutex_lock(&lock);
    found = find(address);
    if (found) {
        found->what->references++;
        *out = (uint64_t)(uintptr_t)found->what;
    }
    pthread_mutex_unlock(&lock);
    return found ? OK : INVALID;
}

int cuMemExportToShareableHandle(void *out, uint64_t given, int type, uint64_t flags)
{
    block *what = (block *)(uintptr_t)given;

    if (type != 1 || flags || !(what->handle_types & 1))
        return INVALID;
    *(int *)out = fcntl(what->fd, F_DUPFD_CLOEXEC, 0);
    return *(int *)out < 0 ? OUT_OF_MEMORY : OK;
}

int cuMemImportFromShareableHandle(uint64_t *out, void *handle, int type)
{
    int fd = fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
    off_t bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);

    return type != 1 || bytes < 0 ? INVALID : make_block(out, fd, (size_t)bytes, 1);
}

int cuMemAddressReserve(uint64_t *out, size_t bytes, size_t alignment, uint64_t wanted, uint64_t flags)
{
    void *begin = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    *out = (uint64_t)(uintptr_t)begin;
    return alignment || wanted || flags ? INVALID : begin == MAP_FAILED ? OUT_OF_MEMORY : OK;
}

int cuMemAddressFree(uint64_t address, size_t bytes)
{
    return munmap((void *)(uintptr_t)address, bytes) ? INVALID : OK;
}

/* What is mapped cannot be used before cuMemSetAccess. */
int cuMemMap(uint64_t address, size_t bytes, size_t offset, uint64_t given, uint64_t flags)
{
    block *what = (block *)(uintptr_t)given;
    mapping *free_one = NULL;
    int error = INVALID;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST_MAPPINGS && !free_one; i++)
        free_one = mappings[i].what ? NULL : &mappings[i];
    if (free_one && !find((void *)(uintptr_t)address) && !offset && !flags && bytes == what->bytes &&
        mmap((void *)(uintptr_t)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, what->fd, 0) !=
            MAP_FAILED) {
        what->references++;
        *free_one = (mapping){(char *)(uintptr_t)address, bytes, what};
        error = OK;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

int cuMemSetAccess(uint64_t address, size_t bytes, const int *access, size_t count)
{
    if (count != 1 || access[0] != 1 || access[1] != 0 || access[2] != 3)
        return INVALID;
    return mprotect((void *)(uintptr_t)address, bytes, PROT_READ | PROT_WRITE) ? INVALID : OK;
}

int cuMemUnmap(uint64_t address, size_t bytes)
{
    mapping *found;
    int error = INVALID;

    pthread_mutex_lock(&lock);
    found = find((void *)(uintptr_t)address);
    if (found && found->begin == (char *)(uintptr_t)address && found->bytes == bytes &&
        mmap(found->begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0) != MAP_FAILED) {
        release(found->what);
        found->what = NULL;
        error = OK;
    }
    pthread_mutex_unlock(&lock);
    return error;
}

static int tell(int attribute, const mapping *found, void *out)
{
    int is_ipc = found && !found->what->handle_types;
    uint64_t value;

    switch (attribute) {
    case IS_IPC:
        memcpy(out, &is_ipc, sizeof is_ipc);
        return OK;
    case RANGE_BEGIN:
    case MAPPING_BEGIN:
        value = found ? (uint64_t)(uintptr_t)found->begin : 0;
        break;
    case RANGE_BYTES:
    case MAPPING_BYTES:
        value = found ? found->bytes : 0;
        break;
    case BUFFER_ID:
    case BLOCK_NUMBER:
        value = found ? found->what->number : 0;
        break;
    case HANDLE_TYPES:
        value = found ? (uint64_t)found->what->handle_types : 0;
        break;
    default:
        return INVALID;
    }
    memcpy(out, &value, sizeof value);
    return OK;
}

int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uint64_t address)
{
    int error = OK;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < count && !error; i++)
        error = tell(attributes[i], find((void *)(uintptr_t)address), values[i]);
    pthread_mutex_unlock(&lock);
    return error;
}
