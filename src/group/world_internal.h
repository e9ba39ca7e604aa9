/* SPDX-License-Identifier: Apache-2.0 */
/* group/world_internal.h: what a world is, for world.c and world_calls.c. */
#ifndef BANYAN_GROUP_WORLD_INTERNAL_H
#define BANYAN_GROUP_WORLD_INTERNAL_H

#include "core/settings.h"
#include "group/world.h"
#include "transport/tcp.h"

#define BANYAN_WORLD_RECENT 64 /* calls that rank 0 remembers, to compare with what others want */

/* A plan that has come and waits to be used, or, at a relay, a call. */
typedef struct banyan_plan_letter banyan_plan_letter;
struct banyan_plan_letter {
    banyan_plan_letter *next;
    int is_call;
    size_t bytes;
    unsigned char body[];
};

typedef struct banyan_wish banyan_wish; /* a call that another rank waits for a plan in */

struct banyan_world {
    int rank, size;
    const banyan_setup *setup;
    banyan_settings *settings;
    banyan_log *log; /* the setup's, which outlives us */
    banyan_secret secret;
    banyan_rank_record *records; /* by rank */
    int node_count;
    int *rank_of;              /* by node */
    banyan_address *addresses; /* by node */
    banyan_address *others;    /* BANYAN_INTERFACES - 1 of each node */
    int interface_count;
    banyan_interface interfaces[BANYAN_INTERFACES]; /* our own */
    banyan_tcp_meeting meeting;
    banyan_endpoint *tcp;
    banyan_endpoint *endpoint; /* what calls use: tcp or messages, or several with it in it */
    banyan_control *control;
    uint64_t calls_made; /* the caller's own */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock: */
    banyan_endpoint *shm;      /* NULL: no rank shares our host */
    banyan_endpoint *messages; /* NULL: neither MPI nor UCX */
    banyan_plan_letter *letters;
    banyan_wish *wishes;
    banyan_group_plan *unpublished; /* the caller's own, at rank 0: made, but not sent yet */
    uint64_t current;               /* how many calls have begun */
    uint64_t done;                  /* and ended */
    int64_t changed_ns;
    unsigned char recent[BANYAN_WORLD_RECENT][BANYAN_LABEL_BYTES];
    banyan_picture picture;
    char loss[600]; /* the last connection that was lost while others of its pair go on; "": none */
    char *has_left; /* by rank */
    uint64_t *left_after;
};

/* world_join.c */
banyan_status banyan_world_read_settings(banyan_world *world, banyan_error *err);
banyan_status banyan_world_choose_window(banyan_world *world, const banyan_setup *setup, int is_learnt,
                                         banyan_error *err);
banyan_status banyan_world_meet(banyan_world *world, const banyan_world_options *options,
                                const banyan_setup *setup, banyan_error *err);

/* world_transports.c: opens what carries the bytes, and starts the control tree. */
banyan_status banyan_world_begin(banyan_world *world, const banyan_setup *setup, banyan_error *err);
void banyan_world_spread(void *context, banyan_status status, const char *sentence);
void banyan_world_note_loss(void *context, const char *sentence);
const char *banyan_world_name_member(void *context, int member, char *buffer, size_t size);
int banyan_world_node_of(const banyan_setup *setup, int process);

/* world_descriptors.c: before the records are known (world->size is 0), and after; *spare is what is left for
 * others. */
banyan_status banyan_world_reserve_descriptors(const banyan_world *world, const banyan_setup *setup, int rank,
                                               int size, long *spare, banyan_error *err);

/* world_log.c */
void banyan_world_log_start(const banyan_world *world, const banyan_setup *setup);
void banyan_world_log_strangers(const banyan_world *world); /* where there were any */

/* world_calls.c */
banyan_status banyan_world_open_calls(banyan_world *world, banyan_error *err);
void banyan_world_close_calls(banyan_world *world);

/* The control thread's. */
void banyan_world_hear_left(void *context, int rank, uint64_t calls);
void banyan_world_hear_want(void *context, int rank, const unsigned char *body, size_t bytes);
void banyan_world_hear_plan(void *context, const unsigned char *body, size_t bytes);
void banyan_world_tell_state(void *context, banyan_rank_state *out);
void banyan_world_tell_network(void *context, banyan_text *text);
void banyan_world_hear_call(void *context, const unsigned char *body, size_t bytes);

/* world_calls.c, for world_follow.c: */
void banyan_world_read_label(const unsigned char *label, uint64_t *number, banyan_call *call);
banyan_status banyan_world_adopt(banyan_world *world, banyan_group_plan **plans, const banyan_call *call,
                                 size_t size_class, const banyan_plan_letter *letter, banyan_group_plan **out,
                                 banyan_error *err);

#endif
