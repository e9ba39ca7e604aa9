/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/field_teccl.c: schedules that TE-CCL published, imported, verified and simulated, and ours
 * beside.
 *
 * The files say which chunk travelled over which link in which epoch. In that of two NDv2 node 0 is a
 * switch: 15 GPUs gather, and what lacks a link goes through node 0. So there 15 workers are active, and the
 * 16th forwards; a chunk is 62.5 bytes, 1 KB over 16 GPUs. In that of four, GPUs 1 to 32 are ours from 0, and
 * node 0 is the switch between machines, which copies: what GPU 9 sends to two machines in one epoch leaves
 * it once. The other published files are too long to stand here. */
#include <stdio.h>
#include <stdlib.h>

#include "bound/bound.h"
#include "core/alloc.h"
#include "planner/planner.h"
#include "reproduce/field_networks.h"
#include "simulate/fluid.h"
#include "verify/verify.h"

enum { MOST_GPUS = 32, SCHEDULES = 2 };

typedef struct {
    const char *label, *const *flows;
    int machines, gpus;
    int first_gpu;   /* the node that is the file's GPU 1 */
    int relay;       /* the node that is the file's node 0 */
    int is_switch;   /* the relay is one, and copies */
    double bytes;    /* of the gathered vector */
    double finish_s; /* "Collective_Finish_Time" */
    double solver_s; /* 0: not published */
} published;

static const published schedules[SCHEDULES] = {
    {"NDv2 x2, 1 KB", field_teccl_ndv2x2, 2, 15, 1, 0, 0, 15 * 62.5, 4.137e-6, 574},
    {"NDv2 x4, 1 MB", field_teccl_ndv2x4, 4, 32, 0, 32, 1, 1e6, 75e-6, 0},
};

typedef struct {
    const published *from;
    banyan_topology *topology;
    int active[MOST_GPUS];
    banyan_problem problem;
    banyan_schedule *schedule;
    double simulated_s, ours_s, bound_s;
    int is_right;
    char why[sizeof((banyan_error *)0)->text], algorithm[64];
} imported;

typedef struct {
    banyan_builder builder;
    int *route_of;          /* by link: its route + 1; 0: none yet */
    int sent[MOST_GPUS][2]; /* by chunk: from whom + 1 and when it came to the switch last */
    int epoch;
} importing;

static int find_link(const banyan_topology *topology, int src, int dst)
{
    for (int i = topology->out_first[src]; i < topology->out_first[src + 1]; i++)
        if (topology->links[topology->out_link[i]].dst == dst)
            return topology->out_link[i];
    return -1;
}

static void add(banyan_builder *builder, int round, int src, int dst, int piece, int route)
{
    banyan_builder_add(builder,
                       (banyan_transfer){round, src, dst, piece, 1, BANYAN_ACTION_COPY, piece, route});
}

/* The route of one link: one for all transfers over it, since what has one route takes turns. */
static int route_of(importing *to, int link)
{
    if (!to->route_of[link])
        to->route_of[link] = 1 + banyan_builder_add_route(&to->builder, &link, 1);
    return to->route_of[link] - 1;
}

/* Over its link, or through the relay. A switch that copies gets a chunk once in an epoch. */
static void add_flow(const imported *in, importing *to, int src, int dst, int piece)
{
    int relay = in->from->relay, *sent = to->sent[piece], direct = find_link(in->topology, src, dst);
    int through[2] = {find_link(in->topology, src, relay), find_link(in->topology, relay, dst)};

    if (direct >= 0) {
        add(&to->builder, 2 * to->epoch, src, dst, piece, route_of(to, direct));
    } else if (!in->from->is_switch) {
        add(&to->builder, 2 * to->epoch, src, dst, piece, banyan_builder_add_route(&to->builder, through, 2));
    } else {
        if (sent[0] != src + 1 || sent[1] != to->epoch)
            add(&to->builder, 2 * to->epoch, src, relay, piece, route_of(to, through[0]));
        sent[0] = src + 1;
        sent[1] = to->epoch;
        add(&to->builder, 2 * to->epoch + 1, relay, dst, piece, route_of(to, through[1]));
    }
}

/* One line of the file; returns how many transfers it has. */
static int import_line(const imported *in, importing *to, const char *line)
{
    int first = in->from->first_gpu, count = 0;

    for (const char *at = line; *at;) {
        char *end;

        if (*at == '@') {
            to->epoch = (int)strtol(at + 1, &end, 10);
        } else {
            int chunk = (int)strtol(at, &end, 10), src = (int)strtol(end + 1, &end, 10);
            int dst = (int)strtol(end + 1, &end, 10);

            add_flow(in, to, first + src - 1, first + dst - 1, chunk - 1);
            count++;
        }
        at = *end ? end + 1 : end;
    }
    return count;
}

static banyan_status import(imported *in, banyan_error *err)
{
    importing to = {.route_of = banyan_alloc((size_t)in->topology->link_count, sizeof(int))};
    int wanted = in->from->gpus * (in->from->gpus - 1), count = 0;

    if (!to.route_of)
        return banyan_fail_memory(err);
    banyan_problem_begin(&in->problem, &to.builder);
    banyan_builder_cut_evenly(&to.builder, in->from->gpus);
    for (const char *const *line = in->from->flows; *line; line++)
        count += import_line(in, &to, *line);
    if (count != wanted)
        banyan_builder_fail(&to.builder, BANYAN_INTERNAL_ERROR,
                            "TE-CCL's schedule has %d transfers here, not %d", count, wanted);
    banyan_free(to.route_of);
    return banyan_builder_finish(&to.builder, &in->schedule, err);
}

/* Whole chunks, which take turns on a link in the order of their epochs. */
static banyan_status simulate(imported *in, banyan_error *err)
{
    const banyan_fluid_options options = {.slice_bytes = (size_t)1 << 62, .service = BANYAN_SERVICE_TURNS};
    banyan_fluid_result result;
    banyan_status status =
        banyan_fluid(in->schedule, in->topology, in->problem.bytes, &options, &result, err);

    if (!status) {
        in->simulated_s = result.timeline->total_s;
        banyan_fluid_fini(&result);
    }
    return status;
}

static banyan_status verify(imported *in, banyan_error *err)
{
    banyan_verdict verdict;
    banyan_error sentence = {0};
    banyan_status status = banyan_verify(in->schedule, in->topology, &verdict, err);

    if (status)
        return status;
    in->is_right = !banyan_verdict_status(&verdict, &sentence);
    if (in->is_right)
        snprintf(in->why, sizeof in->why, "an all-gather of %d GPUs in %zu transfers", in->from->gpus,
                 in->schedule->transfer_count);
    else
        snprintf(in->why, sizeof in->why, "%s", sentence.text);
    return BANYAN_SUCCESS;
}

static banyan_status plan_ours(imported *in, banyan_error *err)
{
    banyan_plan *plans;
    int count;
    banyan_status status = banyan_plan_all(&in->problem, &plans, &count, err);

    if (status)
        return status;
    for (int i = 0; i < count; i++)
        if (plans[i].schedule && (in->ours_s == 0 || plans[i].network_s < in->ours_s)) {
            in->ours_s = plans[i].network_s;
            snprintf(in->algorithm, sizeof in->algorithm, "%s, planned in %.1f ms", plans[i].algorithm->name,
                     1e3 * plans[i].planning_s);
        }
    banyan_plans_destroy(plans, count);
    return BANYAN_SUCCESS;
}

static banyan_status find_bound(imported *in, banyan_error *err)
{
    banyan_bound bound = {0};
    banyan_status status =
        banyan_bound_find(in->topology, in->active, in->from->gpus, BANYAN_RELAYS_ADD, &bound, err);

    if (status)
        return status;
    in->bound_s = (double)in->problem.bytes / bound.allgather.bytes_per_s;
    banyan_bound_fini(&bound);
    return BANYAN_SUCCESS;
}

static void show(banyan_figure *f, const imported *in, int row)
{
    const published *from = in->from;
    char reason[200], what[96];
    int length;

    banyan_figure_add(f, BANYAN_PAPERS, "theirs, as published", row, from->label, from->finish_s * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "theirs, simulated", row, from->label, in->simulated_s * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "ours, simulated", row, from->label, in->ours_s * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "bytes alone, at the bound", row, from->label, in->bound_s * 1e6);
    snprintf(what, sizeof what, "%s: TE-CCL's schedule is an all-gather on its network", from->label);
    banyan_figure_state(f, what, in->is_right, in->why);
    snprintf(what, sizeof what, "%s: finish of TE-CCL's schedule, us", from->label);
    banyan_figure_compare(f, what, BANYAN_PAPERS, from->finish_s * 1e6, in->simulated_s * 1e6, NULL);
    length =
        snprintf(reason, sizeof reason, "%s; %.1f us are bytes at the bound, the rest is latency and filling",
                 in->algorithm, in->bound_s * 1e6);
    if (from->solver_s > 0)
        snprintf(reason + length, sizeof reason - (size_t)length, "; their solver took %.0f s",
                 from->solver_s);
    snprintf(what, sizeof what, "%s: our plan against TE-CCL's, us", from->label);
    banyan_figure_compare(f, what, BANYAN_PAPERS, from->finish_s * 1e6, in->ours_s * 1e6, reason);
}

static banyan_status play(banyan_figure *f, int row, banyan_error *err)
{
    imported in = {.from = &schedules[row]};
    banyan_status status = field_ndv2_build(in.from->machines, in.from->is_switch, &in.topology, err);

    for (int i = 0; i < in.from->gpus; i++)
        in.active[i] = in.from->first_gpu + i;
    in.problem = (banyan_problem){.topology = in.topology,
                                  .active = in.active,
                                  .active_count = in.from->gpus,
                                  .collective = BANYAN_COLLECTIVE_ALLGATHER,
                                  .bytes = (size_t)in.from->bytes};
    if (!status)
        status = import(&in, err);
    if (!status)
        status = verify(&in, err);
    if (!status)
        status = simulate(&in, err);
    if (!status)
        status = plan_ours(&in, err);
    if (!status)
        status = find_bound(&in, err);
    if (!status)
        show(f, &in, row);
    banyan_schedule_destroy(in.schedule);
    banyan_topology_destroy(in.topology);
    return status;
}

banyan_status field_show_teccl(banyan_reproduction *r, banyan_error *err)
{
    banyan_figure *f = banyan_figure_open(
        r,
        &(banyan_figure_head){
            .name = "te-ccl",
            .title = "TE-CCL: published schedules, imported",
            .setting = "all-gather. NDv2 x2: 15 GPUs and a relay, as their file has it; NDv2 x4: the switch "
                       "between machines copies; fluid simulator, links alone",
            .kind = BANYAN_FIGURE_TABLE,
            .x = "network",
            .y = "us",
            .tolerance = 0.01});
    banyan_status status = BANYAN_SUCCESS;

    for (int row = 0; !status && row < SCHEDULES; row++)
        status = play(f, row, err);
    return status;
}
