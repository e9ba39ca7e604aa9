/* SPDX-License-Identifier: Apache-2.0 */
/* verify/msccl_check.c: the judgement in its order: limits and bounds first, then the graph of what waits for
 * what (schedule/msccl_graph.h), then races, then values. Each stage needs that the ones before found
 * nothing, except values, which are told even where there is a race. */
#include "verify/msccl.h"

#include <stdio.h>
#include <string.h>

#include "verify/msccl_judge.h"

static void check_limits(banyan_msccl_judge *judge)
{
    const banyan_msccl_program *program = judge->program;
    int shares = program->collective == BANYAN_COLLECTIVE_ALLGATHER ||
                 program->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER;

    if (shares && program->chunk_count % program->rank_count)
        banyan_msccl_complain(judge, "nchunksperloop=\"%d\" is not a multiple of ngpus=\"%d\"",
                              program->chunk_count, program->rank_count);
    if (!program->in_place && !program->out_of_place)
        banyan_msccl_complain(judge, "inplace and outofplace are both 0: no call can use the program");
    for (int r = 0; r < program->rank_count; r++) {
        int nodes = banyan_msccl_node_count(program, r);

        if (nodes > BANYAN_MSCCL_NODES)
            banyan_msccl_complain(judge, "rank %d: %d XML elements, and a runtime holds %d", r, nodes,
                                  BANYAN_MSCCL_NODES);
        if (program->ranks[r].block_count > BANYAN_MSCCL_CHILDREN)
            banyan_msccl_complain(judge, "rank %d: %d thread blocks, and a runtime holds %d", r,
                                  program->ranks[r].block_count, BANYAN_MSCCL_CHILDREN);
    }
    for (int b = 0; b < program->block_count; b++)
        if (program->blocks[b].step_count > BANYAN_MSCCL_STEPS)
            banyan_msccl_complain(judge, "rank %d, tb %d (line %d): %d steps, and a runtime holds %d",
                                  program->blocks[b].rank, program->blocks[b].id, program->blocks[b].line,
                                  program->blocks[b].step_count, BANYAN_MSCCL_STEPS);
}

static void check_range(banyan_msccl_judge *judge, int step, const char *which, char buffer, int offset)
{
    const banyan_msccl_program *program = judge->program;
    const banyan_msccl_rank *rank = &program->ranks[program->blocks[program->steps[step].block].rank];
    int declared = buffer == 'i' ? rank->i_chunks : buffer == 'o' ? rank->o_chunks : rank->s_chunks;
    int real = buffer == 'i'   ? banyan_msccl_input_chunks(program)
               : buffer == 'o' ? banyan_msccl_output_chunks(program)
                               : declared;
    int count = program->steps[step].cnt;
    char name[80];

    banyan_msccl_step_name(program, step, name, sizeof name);
    if (offset < 0 || offset > declared - count)
        banyan_msccl_complain(judge, "%s: %s is %d chunks at %c %d, but %c_chunks=\"%d\"", name, which, count,
                              buffer, offset, buffer, declared);
    else if (offset > real - count)
        banyan_msccl_complain(judge, "%s: %s is %d chunks at %c %d, but a call's buffer has %d", name, which,
                              count, buffer, offset, real);
}

/* A step that reads and writes may do so on the same chunks or on different ones, but not on shifted ones. */
static void check_overlap(banyan_msccl_judge *judge, int step)
{
    const banyan_msccl_program *program = judge->program;
    const banyan_msccl_step *s = &program->steps[step];
    int rank = program->blocks[s->block].rank;
    size_t src = banyan_msccl_cell(judge, rank, s->srcbuf, s->srcoff);
    size_t dst = banyan_msccl_cell(judge, rank, s->dstbuf, s->dstoff);
    size_t distance = src > dst ? src - dst : dst - src;
    char name[80];

    if (distance && distance < (size_t)s->cnt)
        banyan_msccl_complain(judge, "%s: its source and its destination overlap without being the same",
                              banyan_msccl_step_name(program, step, name, sizeof name));
}

static void check_bounds(banyan_msccl_judge *judge)
{
    const banyan_msccl_program *program = judge->program;

    for (int i = 0; i < program->step_count; i++) {
        const banyan_msccl_ability *can = banyan_msccl_can(program->steps[i].type);
        long before = judge->verdict->problem_count;

        if (can->reads)
            check_range(judge, i, "the source", program->steps[i].srcbuf, program->steps[i].srcoff);
        if (can->writes)
            check_range(judge, i, "the destination", program->steps[i].dstbuf, program->steps[i].dstoff);
        if (can->reads && can->writes && judge->verdict->problem_count == before)
            check_overlap(judge, i);
    }
}

static void report(void *context, const char *sentence)
{
    banyan_msccl_complain(context, "%s", sentence);
}

static banyan_status judge_mode(banyan_msccl_judge *judge, banyan_error *err)
{
    banyan_status status;

    check_bounds(judge);
    if (judge->verdict->problem_count)
        return BANYAN_SUCCESS;
    status = banyan_msccl_judge_races(judge, err);
    return status ? status : banyan_msccl_judge_values(judge, err);
}

banyan_status banyan_verify_msccl(const banyan_msccl_program *program, int slots, banyan_verdict *verdict,
                                  banyan_error *err)
{
    banyan_msccl_judge judge = {.program = program, .prefix = "", .verdict = verdict};
    int both = program->in_place && program->out_of_place;
    banyan_msccl_graph *graph = NULL;
    banyan_status status;

    memset(verdict, 0, sizeof *verdict);
    check_limits(&judge);
    if (verdict->problem_count)
        return BANYAN_SUCCESS;
    status = banyan_msccl_graph_build(program, slots, report, &judge, &graph, err);
    judge.graph = graph;
    if (!status && graph && program->in_place) {
        judge.in_place = 1;
        judge.prefix = both ? "in place: " : "";
        status = judge_mode(&judge, err);
    }
    if (!status && graph && program->out_of_place && !verdict->problem_count) {
        judge.in_place = 0;
        judge.prefix = both ? "out of place: " : "";
        status = judge_mode(&judge, err);
    }
    banyan_msccl_graph_destroy(graph);
    return status;
}
