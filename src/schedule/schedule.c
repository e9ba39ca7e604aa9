/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/schedule.c: what one can ask of any schedule. */
#include "schedule/schedule.h"

#include <string.h>

#include "core/alloc.h"
#include "core/digest.h"

static const char *const collective_names[] = {
#define ENTRY(name, text) text,
    BANYAN_COLLECTIVE_MAP(ENTRY)
#undef ENTRY
};

const char *banyan_collective_name(banyan_collective collective)
{
    return (unsigned)collective < BANYAN_COLLECTIVE_COUNT ? collective_names[collective] : "unknown";
}

/* MPI, NCCL and the literature write all-reduce, all_reduce and allreduce. */
static int is_same_name(const char *given, const char *name)
{
    for (; *given; given++) {
        if (*given == '-' || *given == '_')
            continue;
        if (*given != *name++)
            return 0;
    }
    return !*name;
}

int banyan_collective_find(const char *name)
{
    for (int i = 0; i < BANYAN_COLLECTIVE_COUNT; i++)
        if (is_same_name(name, collective_names[i]))
            return i;
    return -1;
}

int banyan_collective_has_root(banyan_collective collective)
{
    return collective == BANYAN_COLLECTIVE_BROADCAST || collective == BANYAN_COLLECTIVE_REDUCE ||
           collective == BANYAN_COLLECTIVE_GATHER || collective == BANYAN_COLLECTIVE_SCATTER;
}

int banyan_collective_reduces(banyan_collective collective)
{
    return collective == BANYAN_COLLECTIVE_ALLREDUCE || collective == BANYAN_COLLECTIVE_REDUCE_SCATTER ||
           collective == BANYAN_COLLECTIVE_REDUCE;
}

size_t banyan_collective_parts(banyan_collective collective, int size)
{
    switch (collective) {
    case BANYAN_COLLECTIVE_ALLTOALL:
        return (size_t)size * (size_t)size;
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
    case BANYAN_COLLECTIVE_ALLGATHER:
    case BANYAN_COLLECTIVE_GATHER:
    case BANYAN_COLLECTIVE_SCATTER:
        return (size_t)size;
    default:
        return 1;
    }
}

int banyan_schedule_source(const banyan_schedule *schedule, int piece)
{
    __extension__ typedef __int128 wide;

    switch (schedule->collective) {
    case BANYAN_COLLECTIVE_ALLGATHER:
    case BANYAN_COLLECTIVE_GATHER:
        return schedule->owner[piece];
    case BANYAN_COLLECTIVE_BROADCAST:
    case BANYAN_COLLECTIVE_SCATTER:
        return schedule->root;
    case BANYAN_COLLECTIVE_ALLTOALL:
        return (int)((wide)schedule->cut[piece] * schedule->active_count / schedule->whole);
    default:
        return -1;
    }
}

int banyan_schedule_is_result(const banyan_schedule *schedule, int rank, int piece)
{
    switch (schedule->collective) {
    case BANYAN_COLLECTIVE_REDUCE:
    case BANYAN_COLLECTIVE_GATHER:
        return rank == schedule->root;
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
    case BANYAN_COLLECTIVE_SCATTER:
    case BANYAN_COLLECTIVE_ALLTOALL:
        return rank == schedule->owner[piece];
    default:
        return 1;
    }
}

void banyan_schedule_destroy(banyan_schedule *schedule)
{
    if (!schedule)
        return;
    banyan_free(schedule->topology);
    banyan_free(schedule->algorithm);
    banyan_free(schedule->active);
    banyan_free(schedule->cut);
    banyan_free(schedule->owner);
    banyan_free(schedule->route_first);
    banyan_free(schedule->route_link);
    banyan_free(schedule->transfers);
    banyan_free(schedule);
}

size_t banyan_schedule_round_end(const banyan_schedule *schedule, size_t begin)
{
    size_t end = begin;

    while (end < schedule->transfer_count &&
           schedule->transfers[end].round == schedule->transfers[begin].round)
        end++;
    return end;
}

int banyan_schedule_rank(const banyan_schedule *schedule, int node)
{
    int low = 0, high = schedule->active_count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (schedule->active[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < schedule->active_count && schedule->active[low] == node ? low : -1;
}

int *banyan_schedule_make_ranks(const banyan_schedule *schedule)
{
    int *ranks = banyan_alloc((size_t)schedule->node_count, sizeof *ranks);

    if (!ranks)
        return NULL;
    for (int i = 0; i < schedule->node_count; i++)
        ranks[i] = -1;
    for (int r = 0; r < schedule->active_count; r++)
        ranks[schedule->active[r]] = r;
    return ranks;
}

/* floor(count * cut / whole) without overflow: both factors may have 63 bits. */
static size_t bound_at(const banyan_schedule *schedule, size_t count, int piece)
{
    __extension__ typedef unsigned __int128 wide;

    return (size_t)((wide)count * (uint64_t)schedule->cut[piece] / (uint64_t)schedule->whole);
}

void banyan_schedule_elements(const banyan_schedule *schedule, size_t count, int first_piece, int piece_count,
                              size_t *begin, size_t *end)
{
    *begin = bound_at(schedule, count, first_piece);
    *end = bound_at(schedule, count, first_piece + piece_count);
}

double banyan_schedule_share(const banyan_schedule *schedule, int first_piece, int piece_count)
{
    return (double)(schedule->cut[first_piece + piece_count] - schedule->cut[first_piece]) /
           (double)schedule->whole;
}

void banyan_schedule_digest(const banyan_schedule *schedule, char out[17])
{
    banyan_digest digest;

    banyan_digest_init(&digest);
    banyan_digest_add_integer(&digest, schedule->collective);
    banyan_digest_add_integer(&digest, schedule->root);
    banyan_digest_add_integer(&digest, schedule->node_count);
    banyan_digest_add_integer(&digest, schedule->active_count);
    for (int i = 0; i < schedule->active_count; i++)
        banyan_digest_add_integer(&digest, schedule->active[i]);
    for (int i = 0; i <= schedule->piece_count; i++)
        banyan_digest_add_integer(&digest, schedule->cut[i]);
    if (schedule->barrier)
        banyan_digest_add_integer(&digest, schedule->barrier);
    for (int i = 0; schedule->owner && i < schedule->piece_count; i++)
        banyan_digest_add_integer(&digest, schedule->owner[i]);
    for (int i = 0; i < schedule->route_count; i++)
        for (int j = schedule->route_first[i]; j <= schedule->route_first[i + 1]; j++)
            banyan_digest_add_integer(&digest,
                                      j < schedule->route_first[i + 1] ? schedule->route_link[j] : -1);
    for (size_t i = 0; i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];
        const int fields[] = {t->round,       t->src,         t->dst,  t->first_piece,
                              t->piece_count, (int)t->action, t->flow, t->route};

        for (size_t j = 0; j < sizeof fields / sizeof *fields; j++)
            banyan_digest_add_integer(&digest, fields[j]);
    }
    banyan_digest_format(&digest, out);
}
