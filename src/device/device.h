/* SPDX-License-Identifier: Apache-2.0 */
/* device/device.h: memory that the processor does not compute in, and the streams that do: what the rest of
 * Banyan needs of a GPU, and the list of all that can give it.
 *
 * A stream does what it is given in order, beside the processor. Besides copies and reductions it can write a
 * word of the host's memory and wait until one has a value: that is how streams of different processes, and
 * the processor, hand over to one another. Nothing here blocks except where it says so.
 *
 * Every table has all functions up to `is_ready`; what follows may be NULL. */
#ifndef BANYAN_DEVICE_H
#define BANYAN_DEVICE_H

#include <banyan/banyan.h>

#include "core/status.h"
#include "device/reduce_params.h"

typedef struct banyan_device_table banyan_device_table;

/* The head of every table's own device; one per process and ordinal, from its first opening to the end. */
typedef struct {
    const banyan_device_table *table;
    int ordinal;
    char name[64];
    unsigned char uuid[16];    /* the same in every process that sees this device */
    double memory_bytes_per_s; /* as the device says; 0: it does not */
} banyan_device;

typedef struct banyan_device_event banyan_device_event;

enum { BANYAN_DEVICE_MAX_BLOCKS = 32 };

/* Physical memory that its owner has mapped at addresses of his choice; fd is the owner's. */
typedef struct {
    uint64_t number; /* never used again in this process */
    uint64_t bytes;
    int32_t fd;
} banyan_device_block;

/* A piece of the device's memory as other processes can find it: an allocation by its handle, or blocks that
 * lie side by side at the owner's addresses. */
typedef struct {
    uint64_t base;       /* of the allocation, or the first block, in its owner's addresses */
    uint64_t allocation; /* its number, never used again in this process */
    uint64_t bytes;      /* of the allocation, or all blocks */
    uint64_t process;    /* its owner */
    unsigned char handle[64];
    uint32_t block_count; /* 0: the handle counts */
    banyan_device_block blocks[BANYAN_DEVICE_MAX_BLOCKS];
} banyan_device_share;

/* Blocks of other processes that are mapped here, as far apart as at their owners'. */
typedef struct banyan_device_regions banyan_device_regions;

/* One step of a stream on a word of registered memory. A wait ends when the word equals the value. */
typedef struct {
    int is_wait;
    uint64_t address; /* the device's, see register_memory */
    uint32_t value;
} banyan_device_word;

/* A reduction of which more is known only when the stream gets there. */
typedef struct {
    banyan_datatype type;
    int rank_count;
    int most_pieces;
    size_t elements;    /* about as many */
    uint64_t reduction; /* where it will be written, as register_memory gives addresses */
    void *scratch;      /* room for one on the device */
} banyan_device_task;

struct banyan_device_table {
    const char *name;
    const char *summary; /* one line */

    /* Whether the library behind it is there, and how many devices it has; 0 also where it cannot say. */
    int (*count)(void);
    banyan_status (*open)(int ordinal, banyan_device **out, banyan_error *err);

    banyan_status (*alloc)(banyan_device *device, size_t bytes, void **out, banyan_error *err);
    void (*free)(banyan_device *device, void *memory);

    /* Memory of the host that the device reads and writes: page-locked until it is given back. *address is
     * what the device calls its first byte. */
    banyan_status (*register_memory)(banyan_device *device, void *memory, size_t bytes, uint64_t *address,
                                     banyan_error *err);
    void (*unregister_memory)(banyan_device *device, void *memory);

    /* Beside all others, and before them where the device has to choose. */
    banyan_status (*stream_create)(banyan_device *device, void **out, banyan_error *err);
    void (*stream_destroy)(banyan_device *device, void *stream);
    banyan_status (*synchronize)(banyan_device *device, void *stream, banyan_error *err); /* blocks */

    /* Between two memories of any kind. */
    banyan_status (*copy)(banyan_device *device, void *stream, void *into, const void *from, size_t bytes,
                          banyan_error *err);

    /* An event is where a stream was when it was recorded; others can wait for it. */
    banyan_status (*event_create)(banyan_device *device, banyan_device_event **out, banyan_error *err);
    void (*event_destroy)(banyan_device *device, banyan_device_event *event);
    banyan_status (*record)(banyan_device *device, void *stream, banyan_device_event *event,
                            banyan_error *err);
    banyan_status (*wait_event)(banyan_device *device, void *stream, banyan_device_event *event,
                                banyan_error *err);
    /* SUCCESS: the stream has passed it; IN_PROGRESS: not yet. */
    banyan_status (*is_ready)(banyan_device *device, banyan_device_event *event, banyan_error *err);

    /* ---- What not all have. */

    banyan_status (*words)(banyan_device *device, void *stream, const banyan_device_word *words, int count,
                           banyan_error *err);

    /* What other processes need to find these bytes. UNSUPPORTED: that memory cannot be shared. */
    banyan_status (*share)(banyan_device *device, const void *memory, size_t bytes, banyan_device_share *out,
                           banyan_error *err);
    banyan_status (*map)(banyan_device *device, const banyan_device_share *share, void **out,
                         banyan_error *err);
    void (*unmap)(banyan_device *device, void *mapped);

    /* The same for memory in blocks. alloc_block makes some that can be shared so, whatever else the driver
     * refuses. map_blocks keeps what it has mapped in *regions, which begins as NULL, and maps a block only
     * once; unmap_blocks gives all back. */
    banyan_status (*alloc_block)(banyan_device *device, size_t bytes, void **out, banyan_error *err);
    void (*free_block)(banyan_device *device, void *memory);
    banyan_status (*map_blocks)(banyan_device *device, banyan_device_regions **regions,
                                const banyan_device_share *share, void **out, banyan_error *err);
    void (*unmap_blocks)(banyan_device *device, banyan_device_regions *regions);

    /* Makes the kernel of a datatype ready, which may block; then runs it. */
    banyan_status (*prepare)(banyan_device *device, banyan_datatype type, banyan_error *err);
    banyan_status (*reduce)(banyan_device *device, void *stream, const banyan_device_task *task,
                            banyan_error *err);

    /* Whether what is given to the stream now is not done but recorded, to be done many times later. */
    int (*is_capturing)(banyan_device *device, void *stream);
};

/* The device as the setting BANYAN_GPU wishes. UNSUPPORTED: there is none. */
banyan_status banyan_device_open(int ordinal, banyan_device **out, banyan_error *err);

/* As many as banyan_device_open can open. */
int banyan_device_count(void);

/* Whether streams of different processes can hand over to one another: words, share, map and reduce. */
int banyan_device_is_direct(const banyan_device *device);

int banyan_device_table_count(void);
const banyan_device_table *banyan_device_table_at(int i);

#endif
