/* SPDX-License-Identifier: Apache-2.0 */
/* transport/shm_board.c: the seats of a board lie in the members' segments, behind the headers. */
#include <sched.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/shm_endpoint.h"

#define WRITERS_PATIENCE_NS INT64_C(200000000)

static int has_place(const shm_endpoint *e, int member)
{
    return member == e->base.member ||
           (member >= 0 && member < e->base.member_count && e->peers[member].segment.header != NULL);
}

static int rank_count(const shm_endpoint *e)
{
    int count = 0;

    for (int i = 0; i < e->base.member_count; i++)
        count += has_place(e, i) && e->peers[i].rank >= 0;
    return count;
}

static banyan_status sit_down(shm_endpoint *e, const int *members, int count, banyan_error *err)
{
    banyan_board *board;
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < count && !status; i++)
        status = banyan_shm_watch(e, members[i], err);
    if (status)
        return status;
    board = banyan_alloc(1, sizeof *board);
    if (!board)
        return banyan_fail_memory(err);
    board->count = count;
    board->spins = e->spins;
    board->yields = e->yields;
    for (int i = 0; i < count; i++) {
        board->members[i] = members[i];
        board->seats[i] = (banyan_seat *)(void *)e->peers[members[i]].seat.memory;
        if (members[i] == e->base.member)
            board->place = i;
    }
    e->board = board;
    return BANYAN_SUCCESS;
}

banyan_status banyan_shm_board(banyan_endpoint *base, const int *members, int count, banyan_board **out,
                               banyan_error *err)
{
    shm_endpoint *e = (shm_endpoint *)base;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (e->way != BANYAN_SHM_BEST || count < 2 || count > BANYAN_BOARD_MOST_MEMBERS)
        return BANYAN_SUCCESS;
    for (int i = 0; i < count; i++)
        if (!has_place(e, members[i]))
            return BANYAN_SUCCESS;
    if (count !=
        rank_count(e)) /* all ranks of the host or none: nobody must see another board than the others */
        return BANYAN_SUCCESS;
    if (!e->board)
        status = sit_down(e, members, count, err);
    *out = e->board;
    return status;
}

/* Whether anybody who lives writes into what is lent to it. */
static int is_written(const shm_endpoint *e)
{
    const banyan_board *board = e->board;

    for (int i = 0; i < board->count; i++)
        if (i != board->place && atomic_load(&board->seats[i]->writes) &&
            !banyan_shm_is_lost(&e->peers[board->members[i]]))
            return 1;
    return 0;
}

/* Writers look at has_withdrawn every few kilobytes, so they are gone in a moment; but one that is stopped in
 * between could go on at any time, perhaps when our buffer has long been used for something else. It may
 * write where our pages were. */
void banyan_shm_board_withdraw(shm_endpoint *e)
{
    int64_t patience_ns = banyan_clock_ns() + WRITERS_PATIENCE_NS;
    banyan_board *board = e->board;

    if (!board)
        return;
    atomic_store(&board->seats[board->place]->has_withdrawn, 1);
    if (!board->lent)
        return;
    while (is_written(e) && banyan_clock_ns() < patience_ns)
        sched_yield();
    if (is_written(e))
        banyan_shared_memory_cut_off(board->lent, board->lent_bytes);
    board->lent = NULL;
}
