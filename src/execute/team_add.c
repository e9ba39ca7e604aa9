/* SPDX-License-Identifier: Apache-2.0 */
/* execute/team_add.c: what a team does with bytes: copies between the user's vector and slots, and the
 * additions, in the order that the schedule gives (execute/sums.h), block by block so that what is added up
 * stays in the first cache. */
#include <string.h>

#include "execute/copy.h"
#include "execute/team_internal.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void banyan_team_bind(banyan_team *team, size_t count)
{
    const banyan_schedule *schedule = team->sums->schedule;
    size_t begin;

    if (team->is_bound && team->bound_count == count)
        return;
    for (int piece = 0; piece < schedule->piece_count; piece++)
        banyan_schedule_elements(schedule, count, piece, 1, &begin, &team->piece_begin[piece + 1]);
    team->bound_count = count;
    team->is_bound = 1;
}

/* ---- Copies between the user's vector and slots. */

void banyan_team_gather(const banyan_team *team, size_t begin, size_t end, char *into)
{
    const banyan_vector *vector = &team->runner->vector;

    while (begin < end) {
        size_t elements = end - begin;
        const char *from = banyan_vector_from(vector, begin, &elements);

        if (team->is_far)
            banyan_copy_from_far(into, from, elements * vector->element_bytes);
        else
            memcpy(into, from, elements * vector->element_bytes);
        into += elements * vector->element_bytes;
        begin += elements;
    }
}

static void past_cache(char *into, const char *from, size_t bytes)
{
    banyan_copy_past_cache(into, from, bytes);
    banyan_copy_settle();
}

void banyan_team_scatter(const banyan_team *team, size_t begin, size_t end, const char *from)
{
    const banyan_vector *vector = &team->runner->vector;

    while (begin < end) {
        size_t elements = end - begin;
        char *into = banyan_vector_into(vector, begin, &elements);

        if (team->is_past_cache)
            past_cache(into, from, elements * vector->element_bytes);
        else
            banyan_copy_from_far(into, from, elements * vector->element_bytes);
        from += elements * vector->element_bytes;
        begin += elements;
    }
}

/* ---- Additions. */

void banyan_team_sum(const banyan_team *team, int piece, const char *const *inputs, char *into,
                     size_t elements)
{
    const banyan_sums *sums = team->sums;
    int first = sums->first[piece], end = sums->first[piece + 1];

    for (int i = first; i < end; i++) {
        const banyan_addition *addition = &sums->additions[i];
        const char *operands[2];
        char *sum = i == end - 1
                        ? into
                        : team->places + (size_t)(addition->into - sums->ranks) * BANYAN_TEAM_BLOCK_BYTES;

        for (int k = 0; k < 2; k++) {
            int value = k ? addition->b : addition->a;

            operands[k] = value < sums->ranks
                              ? inputs[value]
                              : team->places + (size_t)(value - sums->ranks) * BANYAN_TEAM_BLOCK_BYTES;
        }
        if (operands[1] == sum) /* a + b is b + a, and a kernel may overwrite a only */
            team->runner->kernel(sum, operands[1], operands[0], elements);
        else
            team->runner->kernel(sum, operands[0], operands[1], elements);
    }
    if (team->runner->request->op == BANYAN_AVG)
        banyan_kernel_divide(team->runner->request->type, into, elements, sums->ranks);
}

void banyan_team_add_up(const banyan_team *team, const banyan_chunk *c, size_t begin, size_t end,
                        int is_shown)
{
    const banyan_vector *vector = &team->runner->vector;
    const char *inputs[BANYAN_WORKSPACE_MAX_MEMBERS];
    size_t bytes = vector->element_bytes;
    int piece = 0, place = team->workspaces->place;

    while (begin < end) {
        size_t elements = least(end - begin, BANYAN_TEAM_BLOCK_BYTES / bytes),
               offset = (begin - c->begin) * bytes;
        char *into;

        while (team->piece_begin[piece + 1] <= begin)
            piece++;
        elements = least(elements, team->piece_begin[piece + 1] - begin);
        for (int i = 0; i < team->workspaces->count; i++)
            inputs[i] = banyan_team_data(banyan_team_slot(team, i, c)) + offset;
        into = is_shown ? banyan_team_data(banyan_team_slot(team, place, c)) + offset
                        : banyan_vector_into(vector, begin, &elements);
        inputs[place] = banyan_vector_from(vector, begin, &elements);
        banyan_team_sum(team, piece, inputs, into, elements);
        if (is_shown)
            banyan_team_scatter(team, begin, begin + elements, into);
        begin += elements;
    }
}
