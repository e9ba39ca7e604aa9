/* SPDX-License-Identifier: Apache-2.0 */
/* group/world.h: a group whose ranks are processes, on this host or many: what one of them knows.
 *
 *     records of all ranks ─> the same setup everywhere ─> control tree (group/control.h), data endpoint
 *
 * Rank 0 makes each plan when it enters the first call that needs it, and sends it to all; the others wait
 * for it, and check its digest. Every call has a label (its number, arguments and plan); each stream begins
 * with it, so ranks that make different calls notice before a byte is added up. */
#ifndef BANYAN_GROUP_WORLD_H
#define BANYAN_GROUP_WORLD_H

#include "bootstrap/rank_record.h"
#include "core/settings.h"
#include "group/control.h"
#include "group/group.h"
#include "group/picture.h"

#define BANYAN_LABEL_BYTES 40

/* How the ranks of a new world exchange their records. */
typedef struct {
    void *context;
    /* Completes and exchanges: ready(world, local, record) must be called once the address that leads to the
     * others (or none, family 0) is known, before mine is sent. records has room for all. */
    banyan_status (*exchange)(void *context, banyan_world *world, banyan_rank_record *mine,
                              banyan_rank_record *records, banyan_error *err);
} banyan_meeting;

typedef struct {
    int rank, size;
    int old_rank;                /* in the group that this one comes from, or -1 */
    int color, key;              /* of a split */
    const banyan_secret *secret; /* NULL: rank 0's record brings one */
    banyan_meeting meeting;
    int *is_bound; /* set before others can count this rank in; NULL: nobody asks */
} banyan_world_options;

/* Joins a new world. The setup is completed (topology by hosts) and stays the caller's. rank and size are as
 * the records say in the end. */
banyan_status banyan_world_create(const banyan_world_options *options, banyan_setup *setup,
                                  banyan_world **out, banyan_error *err);
void banyan_world_destroy(banyan_world *world); /* accepts NULL */

/* For meetings: makes the listening socket on this interface and writes its address onto the record. */
banyan_status banyan_world_ready(banyan_world *world, const banyan_address *local, banyan_rank_record *mine,
                                 banyan_error *err);

/* The group has taken the setup over: this is where it is now. */
void banyan_world_bind(banyan_world *world, const banyan_setup *setup);

/* The setup has a new topology of the same ranks: streams get windows that suit it, or, where its speeds are
 * not known, those of the beginning. */
banyan_status banyan_world_suit_window(banyan_world *world, int is_known, banyan_error *err);

/* Rank 0: a plan that was made for a call which is still to come; taken over. */
void banyan_world_keep_plan(banyan_world *world, banyan_group_plan *plan);

/* All ranks between the same two calls: rank 0's text, the caller's to free on each of them. */
banyan_status banyan_world_share_text(banyan_world *world, const char *text, char **out, banyan_error *err);

/* What the network is taken for from now on, for those who ask; facts->topology does not count. */
void banyan_world_show_network(banyan_world *world, const banyan_picture *facts,
                               const banyan_topology *topology);

/* As the settings say. */
const char *banyan_world_setting(const banyan_world *world, banyan_setting setting);
double banyan_world_seconds(const banyan_world *world, banyan_setting setting);
int64_t banyan_world_integer(const banyan_world *world, banyan_setting setting);

/* Whether hosts are reached over TCP. */
int banyan_world_is_tcp(const banyan_world *world);

banyan_endpoint *banyan_world_endpoint(banyan_world *world);
banyan_control *banyan_world_control(banyan_world *world);
int banyan_world_rank(const banyan_world *world);
int banyan_world_size(const banyan_world *world);
const banyan_rank_record *banyan_world_records(const banyan_world *world);

/* The group's own secret: for its listeners. */
void banyan_world_copy_secret(const banyan_world *world, banyan_secret *out);

/* A secret for a group that comes from this one: the same on all ranks. */
void banyan_world_derive_secret(banyan_world *world, const char *purpose, uint64_t number,
                                banyan_secret *out);

/* This rank's next call, as banyan_group_enter. The entry is freed with banyan_free. */
banyan_status banyan_world_enter(banyan_world *world, banyan_group_plan **plans, const banyan_call *call,
                                 banyan_call_entry **out, banyan_error *err);

/* The call has ended, well or not. */
void banyan_world_finish(banyan_world *world);

/* A relay's next call, when it has come. *is_over: rank 0 has left, and no call comes any more. */
banyan_status banyan_world_follow(banyan_world *world, banyan_group_plan **plans, banyan_call_entry *entry,
                                  int *is_over, banyan_error *err);

/* The label of an entry, and what to say when a peer's differs. */
void banyan_world_label(const banyan_call_entry *entry, unsigned char out[BANYAN_LABEL_BYTES]);
void banyan_world_explain(banyan_world *world, const banyan_call_entry *entry, int node,
                          const unsigned char *theirs, banyan_error *out);

/* No call comes any more: tells the others and ends the thread. */
void banyan_world_leave(banyan_world *world);

#endif
