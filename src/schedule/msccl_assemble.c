/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/msccl_assemble.c: from steps in the order of events to a program: ranks, their thread blocks with
 * peers and channel, and in each block its steps. */
#include "core/alloc.h"
#include "schedule/msccl_weave.h"

static void fill_blocks(const banyan_msccl_lanes *lanes, banyan_msccl_program *program)
{
    for (int b = 0; b < program->block_count; b++)
        program->blocks[b].send = program->blocks[b].recv = -1;
    for (int c = 0; c < lanes->connection_count; c++) {
        const banyan_msccl_connection *connection = &lanes->connections[c];
        banyan_msccl_block *sender = &program->blocks[program->ranks[connection->src].first_block +
                                                      lanes->block_id[connection->send_block]];
        banyan_msccl_block *receiver = &program->blocks[program->ranks[connection->dst].first_block +
                                                        lanes->block_id[connection->recv_block]];

        sender->send = connection->dst;
        receiver->recv = connection->src;
        sender->chan = receiver->chan = connection->chan;
        if (connection->chan >= program->channel_count)
            program->channel_count = connection->chan + 1;
    }
}

/* Sorts the steps by block and marks those that are waited for. */
static void fill_steps(const banyan_msccl_lanes *lanes, const banyan_msccl_step *steps,
                       banyan_msccl_program *program)
{
    for (int i = 0; i < program->step_count; i++) {
        banyan_msccl_step step = steps[i];
        const banyan_msccl_rank *rank = &program->ranks[lanes->block_rank[step.block]];
        banyan_msccl_block *block = &program->blocks[rank->first_block + lanes->block_id[step.block]];

        step.block = rank->first_block + lanes->block_id[step.block];
        program->steps[block->first_step + block->step_count++] = step;
        if (step.depid >= 0)
            program->steps[program->blocks[rank->first_block + step.depid].first_step + step.deps].hasdep = 1;
    }
}

static int make_room(const banyan_msccl_lanes *lanes, size_t step_count, banyan_msccl_program *program)
{
    int ranks = lanes->parts->active_count;

    program->rank_count = ranks;
    program->block_count = lanes->block_count;
    program->step_count = (int)step_count;
    program->channel_count = 1;
    program->ranks = banyan_alloc((size_t)ranks, sizeof *program->ranks);
    program->blocks = banyan_alloc((size_t)lanes->block_count, sizeof *program->blocks);
    program->steps = banyan_alloc(step_count, sizeof *program->steps);
    return program->ranks && program->blocks && program->steps;
}

/* Blocks rank by rank, and in each room for its steps. */
static void place_blocks(const banyan_msccl_lanes *lanes, const int *step_counts,
                         banyan_msccl_program *program)
{
    for (int b = 0; b < lanes->block_count; b++)
        program->ranks[lanes->block_rank[b]].block_count++;
    for (int r = 0, first = 0; r < program->rank_count; r++) {
        program->ranks[r].first_block = first;
        first += program->ranks[r].block_count;
    }
    for (int b = 0; b < lanes->block_count; b++) {
        int index = program->ranks[lanes->block_rank[b]].first_block + lanes->block_id[b];

        program->blocks[index].rank = lanes->block_rank[b];
        program->blocks[index].id = lanes->block_id[b];
        program->blocks[index].first_step = step_counts[b]; /* the length, for now */
    }
    for (int b = 0, first = 0; b < lanes->block_count; b++) {
        int length = program->blocks[b].first_step;

        program->blocks[b].first_step = first;
        first += length;
    }
}

banyan_status banyan_msccl_assemble(const banyan_msccl_lanes *lanes, const banyan_msccl_step *steps,
                                    size_t step_count, const int *step_counts, banyan_msccl_program **out,
                                    banyan_error *err)
{
    banyan_msccl_program *program = banyan_alloc(1, sizeof *program);

    *out = NULL;
    if (!program || !make_room(lanes, step_count, program)) {
        banyan_msccl_destroy(program);
        return banyan_fail_memory(err);
    }
    place_blocks(lanes, step_counts, program);
    fill_blocks(lanes, program);
    fill_steps(lanes, steps, program);
    *out = program;
    return BANYAN_SUCCESS;
}
