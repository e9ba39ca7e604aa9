/* SPDX-License-Identifier: Apache-2.0 */
/* execute/crew_internal.h: what the parts of a crew share: waiting (crew_wait.c), copies and additions
 * (crew_add.c), memory that ranks lend each other (crew_lent.c), and the order of things (crew.c). */
#ifndef BANYAN_EXECUTE_CREW_INTERNAL_H
#define BANYAN_EXECUTE_CREW_INTERNAL_H

#include "execute/copy_wide.h"
#include "execute/crew.h"
#include "execute/sums.h"

#define BANYAN_CREW_BLOCK_BYTES                                                                              \
    ((size_t)8 << 10) /* what is added up at a time: it stays in the first cache */

struct banyan_crew {
    banyan_sums *sums;
    banyan_board *board;
    banyan_seat *own;
    banyan_copies copies;
    char *places;        /* for what additions keep, BANYAN_CREW_BLOCK_BYTES each */
    size_t *piece_begin; /* by piece, for bound_count elements; one more at the end */
    size_t bound_count;
    int is_bound;
    /* of the current run */
    banyan_runner *runner;
    int64_t deadline_ns; /* 0: not worked out yet */
    int stranger;        /* the place of a rank that means another call, or -1 */
    char strange_label[BANYAN_BOARD_LABEL_BYTES];
    int is_far;        /* the vector is in no cache */
    int is_past_cache; /* results go to memory that is in no cache and will not fit */
    uint32_t phase;    /* that our slots get */
    int late;          /* the place of one that did not come in time, or -1 */
    /* where all lend their memory: everybody's vectors as they lie here, by place */
    const char *inputs[BANYAN_BOARD_MOST_MEMBERS];
    char *results[BANYAN_BOARD_MOST_MEMBERS];
};

typedef struct {
    uint64_t number;
    size_t begin, end;
    size_t share; /* elements */
} banyan_chunk;

static inline banyan_board_slot *banyan_crew_slot(const banyan_crew *crew, int place, const banyan_chunk *c)
{
    return &crew->board->seats[place]->slots[c->number % BANYAN_BOARD_SLOTS];
}

/* Where the first byte of what the slot shows lies. */
static inline char *banyan_crew_data(banyan_board_slot *slot)
{
    return slot->data + slot->phase % BANYAN_BOARD_LINE;
}

/* crew_wait.c: counts up and wakes who waits for it; and waits until a member's counter is there. */
void banyan_crew_publish(const banyan_runner *runner, _Atomic uint64_t *counter, uint64_t value);
/* Of members on one core the first stays; the others move to a free one, where there is any, but are not
 * bound to it. */
void banyan_crew_leave_shared_core(const banyan_board *board);
banyan_status banyan_crew_wait_for(banyan_crew *crew, int place, const _Atomic uint64_t *counter,
                                   uint64_t value, banyan_error *err);

/* crew_add.c: pieces are where they are for that many elements. */
void banyan_crew_bind(banyan_crew *crew, size_t count);
/* Elements begin..end-1 of the user's vector into a slot, or out of one. */
void banyan_crew_gather(const banyan_crew *crew, size_t begin, size_t end, char *into);
void banyan_crew_scatter(const banyan_crew *crew, size_t begin, size_t end, const char *from);
/* One block of a piece: the inputs by place, each where its block begins. */
void banyan_crew_sum(const banyan_crew *crew, int piece, const char *const *inputs, char *into,
                     size_t elements);
/* Adds up elements begin..end-1 of the chunk: in the user's memory, or with is_shown in our slot and then
 * there. */
void banyan_crew_add_up(const banyan_crew *crew, const banyan_chunk *c, size_t begin, size_t end,
                        int is_shown);

/* crew.c: shows what the slot holds by now; and waits until the others do, for this call. */
void banyan_crew_show(banyan_crew *crew, const banyan_chunk *c);
banyan_status banyan_crew_wait_for_slot(banyan_crew *crew, const banyan_chunk *c, banyan_error *err);
banyan_status banyan_crew_wait_for_inputs(banyan_crew *crew, const banyan_chunk *c, banyan_error *err);
void banyan_crew_find_share(const banyan_chunk *c, int place, size_t *begin, size_t *end);
void banyan_crew_cut_chunk(const banyan_crew *crew, banyan_chunk *c, size_t begin, size_t end);

/* crew_lent.c: whether our vector can be lent: the slot then says where it is. */
int banyan_crew_lend(banyan_crew *crew, banyan_board_slot *slot);
/* How many have lent theirs, as the slots of the chunk say. */
int banyan_crew_count_lenders(const banyan_crew *crew, const banyan_chunk *c);
/* All have. *is_done is 0 after success where somebody cannot reach another's memory. */
banyan_status banyan_crew_run_lent(banyan_crew *crew, const banyan_chunk *c, int *is_done, banyan_error *err);

/* crew_pair.c: of two ranks: adds up the chunk, and shows the next one (which may be empty); and elements of
 * a chunk. */
void banyan_crew_add_pair(const banyan_crew *crew, const banyan_chunk *now, const banyan_chunk *next);
size_t banyan_crew_pair_elements(const banyan_crew *crew);
uint32_t banyan_crew_pair_phase(const banyan_crew *crew);

#endif
