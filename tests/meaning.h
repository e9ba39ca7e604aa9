/* SPDX-License-Identifier: Apache-2.0 */
/* meaning.h: what a schedule does, found by doing it round by round on counts of contributions.
 * Slow, plain and apart from verify/, so that the one checks the other. */
#ifndef BANYAN_TESTS_MEANING_H
#define BANYAN_TESTS_MEANING_H

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "schedule/schedule.h"

/* Counts of one piece at one node: how often rank r is in it, and how much of it is rubbish. */
static int *meaning_at(int *state, const banyan_schedule *s, int node, int piece)
{
    return state + ((size_t)node * (size_t)s->piece_count + (size_t)piece) * (size_t)(s->active_count + 1);
}

static int meaning_begins_valid(const banyan_schedule *s, int rank, int piece)
{
    switch (s->collective) {
    case BANYAN_COLLECTIVE_ALLGATHER:
    case BANYAN_COLLECTIVE_GATHER:
        return s->owner[piece] == rank;
    case BANYAN_COLLECTIVE_BROADCAST:
    case BANYAN_COLLECTIVE_SCATTER:
        return rank == s->root;
    case BANYAN_COLLECTIVE_ALLTOALL: /* a row for each source */
        return s->cut[piece] * s->active_count >= rank * s->whole &&
               s->cut[piece] * s->active_count < (rank + 1) * s->whole;
    default:
        return 1;
    }
}

static void meaning_begin(const banyan_schedule *s, int *state)
{
    for (int node = 0; node < s->node_count; node++)
        for (int piece = 0; piece < s->piece_count; piece++)
            meaning_at(state, s, node, piece)[s->active_count] = 1;
    for (int rank = 0; rank < s->active_count; rank++)
        for (int piece = 0; piece < s->piece_count; piece++)
            if (meaning_begins_valid(s, rank, piece)) {
                int *counts = meaning_at(state, s, s->active[rank], piece);

                counts[s->active_count] = 0;
                counts[rank] = 1;
            }
}

static void meaning_apply(const banyan_schedule *s, const banyan_transfer *t, int *before, int *now)
{
    for (int piece = t->first_piece; piece < t->first_piece + t->piece_count; piece++) {
        int *from = meaning_at(before, s, t->src, piece), *to = meaning_at(now, s, t->dst, piece);

        for (int r = 0; r <= s->active_count; r++)
            to[r] = from[r] + (t->action == BANYAN_ACTION_REDUCE ? to[r] : 0);
    }
}

static int meaning_wanted(const banyan_schedule *s, int rank, int piece, int contributor)
{
    switch (s->collective) {
    case BANYAN_COLLECTIVE_ALLGATHER:
        return contributor == s->owner[piece];
    case BANYAN_COLLECTIVE_BROADCAST:
        return contributor == s->root;
    case BANYAN_COLLECTIVE_REDUCE_SCATTER:
        return rank == s->owner[piece] ? contributor < s->active_count : -1;
    case BANYAN_COLLECTIVE_REDUCE:
        return rank == s->root ? contributor < s->active_count : -1;
    case BANYAN_COLLECTIVE_GATHER:
        return rank == s->root ? contributor == s->owner[piece] : -1;
    case BANYAN_COLLECTIVE_SCATTER:
        return rank == s->owner[piece] ? contributor == s->root : -1;
    case BANYAN_COLLECTIVE_ALLTOALL:
        return rank != s->owner[piece]         ? -1
               : contributor < s->active_count ? meaning_begins_valid(s, contributor, piece)
                                               : 0;
    default:
        return contributor < s->active_count;
    }
}

static int meaning_ends_right(const banyan_schedule *s, int *state)
{
    for (int rank = 0; rank < s->active_count; rank++)
        for (int piece = 0; piece < s->piece_count; piece++)
            for (int from = 0; from <= s->active_count; from++) {
                int wanted = meaning_wanted(s, rank, piece, from);
                int found = meaning_at(state, s, s->active[rank], piece)[from];

                if (wanted >= 0 && found != wanted) {
                    fprintf(stderr, "%s of %d: rank %d piece %d has rank %d's part %d times, not %d\n",
                            s->algorithm ? s->algorithm : "?", s->active_count, rank, piece, from, found,
                            wanted);
                    return 0;
                }
            }
    return 1;
}

/* 1 if the schedule is the collective that it says it is. */
static int meaning_is_right(const banyan_schedule *s)
{
    size_t count = (size_t)s->node_count * (size_t)s->piece_count * (size_t)(s->active_count + 1);
    int *now = banyan_alloc(count, sizeof *now), *before = banyan_alloc(count, sizeof *before), right;

    meaning_begin(s, now);
    for (size_t i = 0; i < s->transfer_count; i++) {
        if (i == 0 || s->transfers[i].round != s->transfers[i - 1].round)
            memcpy(before, now, count * sizeof *now);
        meaning_apply(s, &s->transfers[i], before, now);
    }
    right = meaning_ends_right(s, now);
    banyan_free(now);
    banyan_free(before);
    return right;
}

#endif
