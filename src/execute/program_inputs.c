/* SPDX-License-Identifier: Apache-2.0 */
/* execute/program_inputs.c: which operations meet a node's pieces as they were given.
 *
 * One walk through the rounds as the schedule means them, first all reads, then all changes, with a mark on
 * every piece that a receive has changed. Fresh operations can take their elements from the caller's input,
 * so nothing has to be copied before the run; pieces that stay unmarked are copied by themselves. An
 * operation that meets marked and unmarked pieces is possible, but rare: such a program starts with a
 * copy. */
#include "core/alloc.h"
#include "execute/program.h"

static void judge(banyan_program *program, banyan_operation *o, const char *is_changed)
{
    int changed = 0;

    for (int i = 0; i < o->piece_count; i++)
        changed += is_changed[o->first_piece + i];
    o->is_fresh = !changed;
    program->mixes_inputs |= changed > 0 && changed < o->piece_count;
}

static void walk_round(banyan_program *program, const int *operation_of, size_t begin, size_t end,
                       char *is_changed)
{
    const banyan_transfer *transfers = program->schedule->transfers;

    for (size_t i = begin; i < end; i++)
        if (transfers[i].src == program->node)
            judge(program, &program->operations[operation_of[i]], is_changed);
    for (size_t i = begin; i < end; i++)
        if (transfers[i].dst == program->node) {
            judge(program, &program->operations[operation_of[i]], is_changed);
            for (int k = 0; k < transfers[i].piece_count; k++)
                is_changed[transfers[i].first_piece + k] = 1;
        }
}

int banyan_program_find_inputs(banyan_program *program, const int *operation_of)
{
    const banyan_schedule *schedule = program->schedule;
    char *is_changed = banyan_alloc((size_t)schedule->piece_count, 1);

    if (!is_changed)
        return 0;
    for (size_t begin = 0, end; begin < schedule->transfer_count; begin = end) {
        end = banyan_schedule_round_end(schedule, begin);
        walk_round(program, operation_of, begin, end, is_changed);
    }
    program->is_kept = is_changed;
    for (int i = 0; i < schedule->piece_count; i++)
        is_changed[i] =
            !is_changed[i] && program->rank >= 0 && banyan_schedule_is_result(schedule, program->rank, i);
    return 1;
}
