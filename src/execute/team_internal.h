/* SPDX-License-Identifier: Apache-2.0 */
/* execute/team_internal.h: what the files of a team share: waiting (team_wait.c), copies and additions
 * (team_add.c), registered memory (team_registered.c), and the order of things (team.c). */
#ifndef BANYAN_EXECUTE_TEAM_INTERNAL_H
#define BANYAN_EXECUTE_TEAM_INTERNAL_H

#include "execute/copy_wide.h"
#include "execute/sums.h"
#include "execute/team.h"

#define BANYAN_TEAM_BLOCK_BYTES                                                                              \
    ((size_t)8 << 10) /* what is added up at a time: it stays in the first cache */

struct banyan_team {
    banyan_sums *sums;
    banyan_workspaces *workspaces;
    banyan_workspace *own;
    banyan_copies copies;
    char *places;        /* for what additions keep, BANYAN_TEAM_BLOCK_BYTES each */
    size_t *piece_begin; /* by piece, for bound_count elements; one more at the end */
    size_t bound_count;
    int is_bound;
    /* of the current run */
    banyan_runner *runner;
    int64_t deadline_ns; /* 0: not worked out yet */
    int stranger;        /* the place of a rank that means another call, or -1 */
    char strange_label[BANYAN_WORKSPACE_LABEL_BYTES];
    int is_far;        /* the vector is in no cache */
    int is_past_cache; /* results go to memory that is in no cache and will not fit */
    uint32_t phase;    /* that our slots get */
    int late;          /* the place of one that did not come in time, or -1 */
    /* where all memory is registered: everybody's vectors as they lie here, by place */
    const char *inputs[BANYAN_WORKSPACE_MAX_MEMBERS];
    char *results[BANYAN_WORKSPACE_MAX_MEMBERS];
};

typedef struct {
    uint64_t number;
    size_t begin, end;
    size_t share; /* elements */
} banyan_chunk;

static inline banyan_workspace_slot *banyan_team_slot(const banyan_team *team, int place,
                                                      const banyan_chunk *c)
{
    return &team->workspaces->of[place]->slots[c->number % BANYAN_WORKSPACE_SLOTS];
}

/* Where the first byte of what the slot shows lies. */
static inline char *banyan_team_data(banyan_workspace_slot *slot)
{
    return slot->data + slot->phase % BANYAN_WORKSPACE_LINE;
}

/* team_wait.c: counts up and wakes who waits for it; and waits until a member's counter is there. */
void banyan_team_publish(const banyan_runner *runner, _Atomic uint64_t *counter, uint64_t value);
/* Of members on one core the first stays; the others move to a free one, where there is any, but are not
 * bound to it. */
void banyan_team_leave_shared_core(const banyan_workspaces *workspaces);
banyan_status banyan_team_wait_for(banyan_team *team, int place, const _Atomic uint64_t *counter,
                                   uint64_t value, banyan_error *err);

/* team_add.c: pieces are where they are for that many elements. */
void banyan_team_bind(banyan_team *team, size_t count);
/* Elements begin..end-1 of the user's vector into a slot, or out of one. */
void banyan_team_gather(const banyan_team *team, size_t begin, size_t end, char *into);
void banyan_team_scatter(const banyan_team *team, size_t begin, size_t end, const char *from);
/* One block of a piece: the inputs by place, each where its block begins. */
void banyan_team_sum(const banyan_team *team, int piece, const char *const *inputs, char *into,
                     size_t elements);
/* Adds up elements begin..end-1 of the chunk: in the user's memory, or with is_shown in our slot and then
 * there. */
void banyan_team_add_up(const banyan_team *team, const banyan_chunk *c, size_t begin, size_t end,
                        int is_shown);

/* team.c: shows what the slot holds by now; and waits until the others do, for this call. */
void banyan_team_show(banyan_team *team, const banyan_chunk *c);
banyan_status banyan_team_wait_for_slot(banyan_team *team, const banyan_chunk *c, banyan_error *err);
banyan_status banyan_team_wait_for_inputs(banyan_team *team, const banyan_chunk *c, banyan_error *err);
void banyan_team_find_share(const banyan_chunk *c, int place, size_t *begin, size_t *end);
void banyan_team_cut_chunk(const banyan_team *team, banyan_chunk *c, size_t begin, size_t end);

/* team_registered.c: whether our vector is in registered memory: the slot then says where it is. */
int banyan_team_register(banyan_team *team, banyan_workspace_slot *slot);
/* How many are, as the slots of the chunk say. */
int banyan_team_count_registered(const banyan_team *team, const banyan_chunk *c);
/* All have. *is_done is 0 after success where somebody cannot reach another's memory. */
banyan_status banyan_team_run_registered(banyan_team *team, const banyan_chunk *c, int *is_done,
                                         banyan_error *err);

/* team_pair.c: of two ranks: adds up the chunk, and shows the next one (which may be empty); and elements of
 * a chunk. */
void banyan_team_add_pair(const banyan_team *team, const banyan_chunk *now, const banyan_chunk *next);
size_t banyan_team_pair_elements(const banyan_team *team);
uint32_t banyan_team_pair_phase(const banyan_team *team);

#endif
