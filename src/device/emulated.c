/* SPDX-License-Identifier: Apache-2.0 */
/* device/emulated.c: devices that are not there: memory is the host's, a stream is a thread with a queue. All
 * that is built on device/device.h runs on it as on a GPU, only slower: for tests on machines without one.
 *
 * Memory lies in memfds, so other processes map it by the owner's process id and descriptor. */
#include "device/emulated.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "device/gpu.h"
#include "execute/kernels.h"

enum { DEVICES = 4, BLOCK_BYTES = 4096 };

typedef enum { COPY, WORD, RECORD, WAIT_EVENT, REDUCE } step_kind;

typedef struct step step;
struct step {
    step *next;
    step_kind kind;
    void *into;
    const void *from;
    size_t bytes;
    banyan_device_word word;
    banyan_device_event *event;
    uint64_t ticket;
    const banyan_device_reduction *reduction;
    banyan_datatype type;
};

struct banyan_emulated_graph {
    step *first, **end;
};

struct banyan_device_event {
    _Atomic uint64_t recorded, passed;
};

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    step *first, **end;
    int is_busy, is_ending;
    banyan_emulated_graph *capturing; /* NULL: steps are done */
} stream;

typedef struct allocation allocation;
struct allocation {
    allocation *next;
    char *begin;
    size_t bytes;
    int fd; /* -1: another process's, mapped */
    int is_shareable;
    uint64_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static banyan_device devices[DEVICES];
static stream *default_streams[DEVICES];
static allocation *allocations;
static uint64_t allocations_made;
static _Atomic int makes_unshareable;
static _Atomic size_t bytes_left = SIZE_MAX;

/* ---- What steps do. */

static void reduce_block(const banyan_device_reduction *r, const banyan_device_piece *piece,
                         banyan_datatype type, size_t begin, size_t count)
{
    _Alignas(16) char stack[BANYAN_DEVICE_STACK + 1][BLOCK_BYTES];
    banyan_kernel kernel = banyan_kernel_find(type, (banyan_op)r->op);
    size_t width = banyan_datatype_bytes(type);
    uint64_t combines = piece->combines;
    int depth = 0;

    for (uint32_t i = 0; i < r->rank_count; i++, combines >>= 4) {
        memcpy(stack[depth++], (const char *)(uintptr_t)r->inputs[piece->order[i]] + begin * width,
               count * width);
        for (uint64_t left = combines & 15u; left; left--, depth--)
            kernel(stack[depth - 2], stack[depth - 2], stack[depth - 1], count);
    }
    if (r->divisor > 1)
        banyan_kernel_divide(type, stack[0], count, (int)r->divisor);
    for (uint32_t i = 0; i < r->rank_count; i++)
        memcpy((char *)(uintptr_t)r->outputs[i] + begin * width, stack[0], count * width);
}

static void run_reduction(const banyan_device_reduction *r, banyan_datatype type)
{
    size_t most = BLOCK_BYTES / banyan_datatype_bytes(type);

    for (uint32_t p = 0; p < r->piece_count; p++)
        for (size_t begin = r->pieces[p].begin; begin < r->pieces[p].end; begin += most) {
            size_t left = r->pieces[p].end - begin;

            reduce_block(r, &r->pieces[p], type, begin, left < most ? left : most);
        }
}

static void doze(int *looks)
{
    struct timespec pause = {.tv_nsec = 50000};

    if (++*looks < 100)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

static int is_ending(stream *s)
{
    int ending;

    pthread_mutex_lock(&s->lock);
    ending = s->is_ending;
    pthread_mutex_unlock(&s->lock);
    return ending;
}

static void do_word(stream *s, const banyan_device_word *word)
{
    _Atomic uint32_t *at = (_Atomic uint32_t *)(uintptr_t)word->address;
    int looks = 0;

    if (!word->is_wait)
        atomic_store(at, word->value);
    else
        while (atomic_load(at) != word->value && !is_ending(s))
            doze(&looks);
}

static void do_step(stream *s, const step *o)
{
    int looks = 0;

    switch (o->kind) {
    case COPY:
        memcpy(o->into, o->from, o->bytes);
        break;
    case WORD:
        do_word(s, &o->word);
        break;
    case RECORD:
        atomic_store(&o->event->passed, o->ticket);
        break;
    case WAIT_EVENT:
        while (atomic_load(&o->event->passed) < o->ticket && !is_ending(s))
            doze(&looks);
        break;
    case REDUCE:
        run_reduction(o->reduction, o->type);
        break;
    }
}

static void *work(void *argument)
{
    stream *s = argument;

    pthread_mutex_lock(&s->lock);
    for (;;) {
        step *o = s->first;

        if (!o) {
            s->is_busy = 0;
            pthread_cond_broadcast(&s->changed);
            if (s->is_ending)
                break;
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        s->first = o->next;
        if (!s->first)
            s->end = &s->first;
        pthread_mutex_unlock(&s->lock);
        do_step(s, o);
        banyan_free(o);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- Streams. */

static banyan_status stream_create(banyan_device *device, void **out, banyan_error *err)
{
    stream *s = banyan_alloc(1, sizeof *s);

    (void)device;
    *out = NULL;
    if (!s)
        return banyan_fail_memory(err);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->end = &s->first;
    if (pthread_create(&s->thread, NULL, work, s)) {
        banyan_free(s);
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot start a thread for an emulated stream");
    }
    *out = s;
    return BANYAN_SUCCESS;
}

static void stream_destroy(banyan_device *device, void *given)
{
    stream *s = given;

    (void)device;
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_ending = 1;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    banyan_free(s);
}

/* NULL is the device's default stream, made when it is first needed; it lives as long as the process. */
static stream *stream_of(banyan_device *device, void *given)
{
    void *made = NULL;

    if (given)
        return given;
    pthread_mutex_lock(&lock);
    if (!default_streams[device->ordinal] && !stream_create(device, &made, NULL))
        default_streams[device->ordinal] = made;
    pthread_mutex_unlock(&lock);
    return default_streams[device->ordinal];
}

static banyan_status add(banyan_device *device, void *given, const step *wanted, banyan_error *err)
{
    stream *s = stream_of(device, given);
    step *o = s ? banyan_alloc(1, sizeof *o) : NULL;

    if (!o)
        return banyan_fail_memory(err);
    *o = *wanted;
    o->next = NULL;
    pthread_mutex_lock(&s->lock);
    if (s->capturing) {
        *s->capturing->end = o;
        s->capturing->end = &o->next;
    } else {
        *s->end = o;
        s->end = &o->next;
        s->is_busy = 1;
        pthread_cond_broadcast(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    return BANYAN_SUCCESS;
}

static banyan_status synchronize(banyan_device *device, void *given, banyan_error *err)
{
    stream *s = stream_of(device, given);

    if (!s)
        return banyan_fail_memory(err);
    pthread_mutex_lock(&s->lock);
    while (s->is_busy)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return BANYAN_SUCCESS;
}

static banyan_status copy(banyan_device *device, void *given, void *into, const void *from, size_t bytes,
                          banyan_error *err)
{
    return add(device, given, &(step){.kind = COPY, .into = into, .from = from, .bytes = bytes}, err);
}

static banyan_status words(banyan_device *device, void *given, const banyan_device_word *list, int count,
                           banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < count && !status; i++)
        status = add(device, given, &(step){.kind = WORD, .word = list[i]}, err);
    return status;
}

static banyan_status event_create(banyan_device *device, banyan_device_event **out, banyan_error *err)
{
    (void)device;
    *out = banyan_alloc(1, sizeof **out);
    return *out ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static void event_destroy(banyan_device *device, banyan_device_event *event)
{
    (void)device;
    banyan_free(event);
}

static banyan_status record(banyan_device *device, void *given, banyan_device_event *event, banyan_error *err)
{
    uint64_t ticket = atomic_fetch_add(&event->recorded, 1) + 1;

    return add(device, given, &(step){.kind = RECORD, .event = event, .ticket = ticket}, err);
}

static banyan_status wait_event(banyan_device *device, void *given, banyan_device_event *event,
                                banyan_error *err)
{
    step o = {.kind = WAIT_EVENT, .event = event, .ticket = atomic_load(&event->recorded)};

    return add(device, given, &o, err);
}

static banyan_status is_ready(banyan_device *device, banyan_device_event *event, banyan_error *err)
{
    (void)device;
    (void)err;
    return atomic_load(&event->passed) >= atomic_load(&event->recorded) ? BANYAN_SUCCESS : BANYAN_IN_PROGRESS;
}

static banyan_status prepare(banyan_device *device, banyan_datatype type, banyan_error *err)
{
    (void)device;
    (void)type;
    (void)err;
    return BANYAN_SUCCESS;
}

static banyan_status reduce(banyan_device *device, void *given, const banyan_device_task *task,
                            banyan_error *err)
{
    step o = {.kind = REDUCE,
              .type = task->type,
              .reduction = (const banyan_device_reduction *)(uintptr_t)task->reduction};

    return add(device, given, &o, err);
}

static int is_capturing(banyan_device *device, void *given)
{
    stream *s = stream_of(device, given);
    int capturing;

    if (!s)
        return 0;
    pthread_mutex_lock(&s->lock);
    capturing = s->capturing != NULL;
    pthread_mutex_unlock(&s->lock);
    return capturing;
}

/* ---- Graphs. */

void banyan_emulated_capture_begin(void *given)
{
    stream *s = given;
    banyan_emulated_graph *graph = banyan_alloc(1, sizeof *graph);

    if (!graph)
        return;
    graph->end = &graph->first;
    pthread_mutex_lock(&s->lock);
    s->capturing = graph;
    pthread_mutex_unlock(&s->lock);
}

banyan_emulated_graph *banyan_emulated_capture_end(void *given)
{
    stream *s = given;
    banyan_emulated_graph *graph;

    pthread_mutex_lock(&s->lock);
    graph = s->capturing;
    s->capturing = NULL;
    pthread_mutex_unlock(&s->lock);
    return graph;
}

banyan_status banyan_emulated_launch(banyan_emulated_graph *graph, void *given, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (const step *o = graph->first; o && !status; o = o->next)
        status = add(&devices[0], given, o, err);
    return status;
}

void banyan_emulated_graph_destroy(banyan_emulated_graph *graph)
{
    while (graph && graph->first) {
        step *next = graph->first->next;

        banyan_free(graph->first);
        graph->first = next;
    }
    banyan_free(graph);
}

/* ---- Memory. */

void banyan_emulated_set_shareable(int is_shareable)
{
    atomic_store(&makes_unshareable, !is_shareable);
}

void banyan_emulated_set_bytes_left(size_t bytes)
{
    atomic_store(&bytes_left, bytes);
}

static void keep(char *begin, size_t bytes, int fd, allocation *made)
{
    pthread_mutex_lock(&lock);
    *made = (allocation){.next = allocations,
                         .begin = begin,
                         .bytes = bytes,
                         .fd = fd,
                         .is_shareable = !atomic_load(&makes_unshareable),
                         .number = ++allocations_made};
    allocations = made;
    pthread_mutex_unlock(&lock);
}

static banyan_status alloc_memory(banyan_device *device, size_t bytes, void **out, banyan_error *err)
{
    allocation *made = banyan_alloc(1, sizeof *made);
    int fd = made ? memfd_create("banyan emulated device", MFD_CLOEXEC) : -1;
    void *begin = MAP_FAILED;

    *out = NULL;
    bytes = bytes ? bytes : 1;
    if (fd >= 0 && bytes <= atomic_load(&bytes_left) && !ftruncate(fd, (off_t)bytes))
        begin = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (begin == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        banyan_free(made);
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "emulated device %d has no memory for %zu bytes",
                           device->ordinal, bytes);
    }
    keep(begin, bytes, fd, made);
    *out = begin;
    return BANYAN_SUCCESS;
}

static void free_memory(banyan_device *device, void *memory)
{
    allocation **a = &allocations, *found;

    (void)device;
    if (!memory)
        return;
    pthread_mutex_lock(&lock);
    while (*a && (*a)->begin != memory)
        a = &(*a)->next;
    found = *a;
    if (found)
        *a = found->next;
    pthread_mutex_unlock(&lock);
    if (!found)
        return;
    munmap(found->begin, found->bytes);
    if (found->fd >= 0)
        close(found->fd);
    banyan_free(found);
}

static banyan_status share(banyan_device *device, const void *memory, size_t bytes, banyan_device_share *out,
                           banyan_error *err)
{
    const allocation *a;
    banyan_status status = BANYAN_SUCCESS;

    pthread_mutex_lock(&lock);
    for (a = allocations; a; a = a->next)
        if ((const char *)memory >= a->begin && (const char *)memory < a->begin + a->bytes)
            break;
    if (!a || (size_t)((const char *)memory - a->begin) + bytes > a->bytes) {
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "address %p is not memory of emulated device %d",
                             memory, device->ordinal);
    } else if (!a->is_shareable) {
        status =
            banyan_fail(err, BANYAN_UNSUPPORTED, "that memory was allocated in a way that cannot be shared");
    } else {
        *out = (banyan_device_share){.base = (uint64_t)(uintptr_t)a->begin,
                                     .allocation = a->number,
                                     .bytes = a->bytes,
                                     .process = (uint64_t)getpid()};
        memcpy(out->handle, &a->fd, sizeof a->fd);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static banyan_status map(banyan_device *device, const banyan_device_share *shared, void **out,
                         banyan_error *err)
{
    allocation *made = banyan_alloc(1, sizeof *made);
    void *begin = MAP_FAILED;
    char path[64];
    int theirs, fd = -1;

    (void)device;
    *out = NULL;
    memcpy(&theirs, shared->handle, sizeof theirs);
    snprintf(path, sizeof path, "/proc/%llu/fd/%d", (unsigned long long)shared->process, theirs);
    if (made)
        fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        begin = mmap(NULL, shared->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    if (begin == MAP_FAILED) {
        banyan_free(made);
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot map emulated memory of process %llu",
                           (unsigned long long)shared->process);
    }
    keep(begin, shared->bytes, -1, made);
    *out = begin;
    return BANYAN_SUCCESS;
}

static banyan_status register_memory(banyan_device *device, void *memory, size_t bytes, uint64_t *address,
                                     banyan_error *err)
{
    (void)device;
    (void)bytes;
    (void)err;
    *address = (uint64_t)(uintptr_t)memory;
    return BANYAN_SUCCESS;
}

static void unregister_memory(banyan_device *device, void *memory)
{
    (void)device;
    (void)memory;
}

/* ---- Opening. */

static int count(void)
{
    return DEVICES;
}

static banyan_status open_device(int ordinal, banyan_device **out, banyan_error *err)
{
    *out = NULL;
    if (ordinal < 0 || ordinal >= DEVICES)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "there is no emulated device %d: there are %d", ordinal,
                           DEVICES);
    pthread_mutex_lock(&lock);
    devices[ordinal] = (banyan_device){.table = &banyan_device_table_emulated, .ordinal = ordinal};
    snprintf(devices[ordinal].name, sizeof devices[ordinal].name, "emulated device %d", ordinal);
    memcpy(devices[ordinal].uuid, "banyan emulate", 14);
    devices[ordinal].uuid[15] = (unsigned char)ordinal;
    pthread_mutex_unlock(&lock);
    *out = &devices[ordinal];
    return BANYAN_SUCCESS;
}

const banyan_device_table banyan_device_table_emulated = {.name = "emulated",
                                                          .summary = "the host's memory instead, for tests",
                                                          .count = count,
                                                          .open = open_device,
                                                          .alloc = alloc_memory,
                                                          .free = free_memory,
                                                          .register_memory = register_memory,
                                                          .unregister_memory = unregister_memory,
                                                          .stream_create = stream_create,
                                                          .stream_destroy = stream_destroy,
                                                          .synchronize = synchronize,
                                                          .copy = copy,
                                                          .event_create = event_create,
                                                          .event_destroy = event_destroy,
                                                          .record = record,
                                                          .wait_event = wait_event,
                                                          .is_ready = is_ready,
                                                          .words = words,
                                                          .share = share,
                                                          .map = map,
                                                          .unmap = free_memory,
                                                          .prepare = prepare,
                                                          .reduce = reduce,
                                                          .is_capturing = is_capturing};
