/* SPDX-License-Identifier: Apache-2.0 */
/* tests/gpu/hip_stand_in.c: the calls of libamdhip64.so that Banyan makes, over the host's memory, so that
 * tests/multi/hip.sh can run what was written for AMD's GPUs without one. A stream puts its copies aside and
 * does them as late as HIP may: when somebody waits for the stream or for an event on it. So a result that is
 * read too early is wrong here as well.
 *
 * HIP_STAND_IN_BYTES limits the device's memory. With -DWITHOUT_EVENTS the driver lacks a call. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, MOST_COPIES = 4096 };

typedef struct {
    void *into;
    const void *from;
    size_t bytes;
} put_aside;

typedef struct {
    put_aside copies[MOST_COPIES];
    int count;
} stream;

typedef struct {
    stream *on; /* NULL: passed, or never recorded */
} event;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static stream default_stream;
static size_t allocated;

static stream *stream_of(void *given)
{
    return given ? given : &default_stream;
}

static void catch_up(stream *s)
{
    for (int i = 0; i < s->count; i++)
        memcpy(s->copies[i].into, s->copies[i].from, s->copies[i].bytes);
    s->count = 0;
}

int hipInit(unsigned flags)
{
    return flags ? INVALID : OK;
}

int hipDriverGetVersion(int *version)
{
    *version = 60000000;
    return OK;
}

int hipDrvGetErrorString(int error, const char **text)
{
    *text = error == OUT_OF_MEMORY ? "out of memory" : "invalid argument";
    return OK;
}

int hipGetDeviceCount(int *count)
{
    *count = 1;
    return OK;
}

int hipDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal ? INVALID : OK;
}

int hipDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "stand-in");
    return device ? INVALID : OK;
}

int hipDeviceGetUuid(char *uuid, int device)
{
    memset(uuid, 7, 16);
    return device ? INVALID : OK;
}

int hipDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &default_stream;
    return device ? INVALID : OK;
}

int hipCtxPushCurrent(void *context)
{
    return context ? OK : INVALID;
}

int hipCtxPopCurrent(void **context)
{
    *context = &default_stream;
    return OK;
}

int hipMalloc(void **memory, size_t bytes)
{
    const char *limit = getenv("HIP_STAND_IN_BYTES");
    int error = OK;

    pthread_mutex_lock(&lock);
    if (limit && allocated + bytes > strtoull(limit, NULL, 10))
        error = OUT_OF_MEMORY;
    else
        allocated += bytes;
    pthread_mutex_unlock(&lock);
    *memory = error ? NULL : malloc(bytes);
    return error;
}

int hipFree(void *memory)
{
    free(memory);
    return OK;
}

int hipHostRegister(void *memory, size_t bytes, unsigned flags)
{
    return memory && bytes && flags == 3 ? OK : INVALID;
}

int hipHostUnregister(void *memory)
{
    return memory ? OK : INVALID;
}

int hipHostGetDevicePointer(void **address, void *memory, unsigned flags)
{
    *address = memory;
    return flags ? INVALID : OK;
}

int hipDeviceGetStreamPriorityRange(int *lowest, int *highest)
{
    *lowest = 0;
    *highest = -1;
    return OK;
}

int hipStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    *out = flags == 1 && priority == -1 ? calloc(1, sizeof(stream)) : NULL;
    return *out ? OK : INVALID;
}

int hipStreamDestroy(void *given)
{
    free(given);
    return OK;
}

int hipStreamSynchronize(void *given)
{
    pthread_mutex_lock(&lock);
    catch_up(stream_of(given));
    pthread_mutex_unlock(&lock);
    return OK;
}

int hipMemcpyAsync(void *into, const void *from, size_t bytes, int kind, void *given)
{
    stream *s = stream_of(given);

    if (kind != 4)
        return INVALID;
    pthread_mutex_lock(&lock);
    if (s->count == MOST_COPIES)
        catch_up(s);
    s->copies[s->count++] = (put_aside){into, from, bytes};
    pthread_mutex_unlock(&lock);
    return OK;
}

int hipEventCreateWithFlags(void **out, unsigned flags)
{
    *out = flags == 2 ? calloc(1, sizeof(event)) : NULL;
    return *out ? OK : INVALID;
}

int hipEventDestroy(void *given)
{
    free(given);
    return OK;
}

#ifndef WITHOUT_EVENTS
int hipEventRecord(void *given, void *on)
{
    ((event *)given)->on = stream_of(on);
    return OK;
}
#endif

int hipEventQuery(void *given)
{
    hipStreamSynchronize(((event *)given)->on);
    return OK;
}

int hipStreamWaitEvent(void *given, void *awaited, unsigned flags)
{
    event *e = awaited;

    (void)given;
    pthread_mutex_lock(&lock);
    if (e->on)
        catch_up(e->on);
    pthread_mutex_unlock(&lock);
    return flags ? INVALID : OK;
}
