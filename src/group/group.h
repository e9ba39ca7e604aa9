/* SPDX-License-Identifier: Apache-2.0 */
/* group/group.h: what the ranks of one process share: the setup, the plans, and the log of calls.
 *
 * Every rank makes the same calls in the same order. The first to make call k writes it into the log, with
 * its plan; the others find it there and compare. So different calls are seen before a byte has moved, and
 * relays, which nobody calls, read from the log what to do. An entry goes when everybody has done with it. */
#ifndef BANYAN_GROUP_GROUP_H
#define BANYAN_GROUP_GROUP_H

#include <pthread.h>

#include "bootstrap/setup.h"
#include "group/plans.h"
#include "transport/memory.h"

/* Where the vectors of the calls after a barrier lie, as far as the barrier says so. */
typedef enum { BANYAN_PLACE_ANY, BANYAN_PLACE_HOST, BANYAN_PLACE_DEVICE } banyan_call_place;

/* A call as the user made it. */
typedef struct {
    banyan_collective collective;
    int is_barrier;           /* an all-reduce of one byte that nobody sees */
    banyan_call_place before; /* of a barrier */
    int root;
    size_t count; /* as in the argument list */
    banyan_datatype type;
    banyan_op op;
} banyan_call;

typedef struct banyan_call_entry banyan_call_entry;

struct banyan_call_entry {
    banyan_call_entry *next;
    uint64_t number;
    int first_rank; /* who wrote it */
    int users;      /* members that are not done with it */
    banyan_call call;
    size_t whole; /* elements of the schedule's vector */
    banyan_group_plan *plan;
};

typedef struct banyan_relay banyan_relay;
typedef struct banyan_clone banyan_clone;
typedef struct banyan_world banyan_world;

typedef struct {
    banyan_setup setup;
    banyan_world *world;    /* ranks are processes (group/world.h); NULL: they are threads of this one */
    banyan_memory_hub *hub; /* NULL where ranks are processes */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    banyan_group_plan *plans;
    banyan_call_entry *entries; /* ascending by number */
    banyan_relay *relays;
    int relay_count;
    int handle_count;
    banyan_clone
        *clones; /* groups made from this one, of which some rank has not taken its handle (calls/clone.c) */
    int is_closing;
    uint64_t *calls_made; /* by rank */
    char *has_left;       /* by rank */
} banyan_group;

/* Takes the setup over on success, and the world, where there is one. */
banyan_status banyan_group_create(banyan_setup *setup, banyan_world *world, banyan_group **out,
                                  banyan_error *err);
void banyan_group_destroy(banyan_group *group); /* waits for its relays; accepts NULL */

/* The rank's next call: its entry in the log. A failure that ends the group has been told to it. */
banyan_status banyan_group_enter(banyan_group *group, int rank, banyan_endpoint *endpoint,
                                 const banyan_call *call, banyan_call_entry **out, banyan_error *err);

/* 'allreduce(count 10, float32, sum)', into the buffer. */
const char *banyan_call_describe(const banyan_call *call, char *buffer, size_t size);
int banyan_call_is_same(const banyan_call *a, const banyan_call *b);

/* Elements of the vector that the call of that many ranks works on. */
size_t banyan_call_whole(const banyan_call *call, int size);

/* The member is done with the entry. */
void banyan_group_leave(banyan_group *group, banyan_call_entry *entry);

/* The rank's handle goes away; once nothing of it uses the group any more, it is released, which returns
 * whether it was the last. */
void banyan_group_part(banyan_group *group, int rank, banyan_endpoint *endpoint);
int banyan_group_release(banyan_group *group);

/* Finds call number `number` with the lock held, or NULL. */
banyan_call_entry *banyan_group_find(banyan_group *group, uint64_t number);

/* relay.c: starts a thread for every relay of the plan that has none yet, with the lock held. */
banyan_status banyan_relays_start(banyan_group *group, banyan_group_plan *plan, uint64_t first_call,
                                  banyan_error *err);
void banyan_relays_join(banyan_group *group);

#endif
