/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/field_teccl.c: a schedule that TE-CCL published, imported, verified and simulated, and ours
 * beside.
 *
 * microsoft/TE-CCL, output_provided, NDv2_output/2_chassis/AllGather/Fast/1KB.json: which chunk travelled
 * over which link in which epoch of 3.5 ns. In that file node 0 is a switch: 15 GPUs gather, and what lacks
 * a link goes through node 0. So here 15 workers are active, and the 16th forwards. A chunk is 62.5 bytes, 1
 * KB over 16 GPUs. The other published files are too long to stand here. */
#include <stdio.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "planner/planner.h"
#include "reproduce/field_networks.h"
#include "simulate/fluid.h"
#include "verify/verify.h"

#define CHUNK_BYTES 62.5
#define THEIR_S 4.137e-6     /* "Collective_Finish_Time" */
#define THEIR_PLANNING_S 574 /* of the same network and size */

enum { GPUS = 15, RELAY = 0 };

/* "@EPOCH", then CHUNK:SRC-DST for each transfer that begins in it. */
static const char flows[] =
    "@0 14:14-13 8:8-12 1:1-5 2:2-1 5:5-7 10:10-11 4:4-3 12:12-14 14:14-12 4:4-6 6:6-5 6:6-4 2:2-4 5:5-1 "
    "10:10-9 "
    "9:9-13 1:1-3 4:4-5 12:12-15 12:12-8 3:3-1 9:9-11 13:13-15 2:2-6 7:7-3 14:14-15 3:3-2 12:12-13 2:2-3 "
    "4:4-1 "
    "8:8-11 10:10-8 1:1-4 11:11-9 8:8-1 8:8-10 9:9-8 13:13-12 7:7-5 13:13-14 5:5-4 11:11-15 14:14-10 3:3-7 "
    "4:4-7 "
    "6:6-7 6:6-2 10:10-14 8:8-9 7:7-6 15:15-11 4:4-2 5:5-6 15:15-14 7:7-4 13:13-9 15:15-12 4:4-9 9:9-10 "
    "11:11-10 "
    "15:15-13 1:1-2 11:11-8 @1 3:3-4 @2 3:3-9 @4 2:2-9 @6 1:1-9 "
    "@201 9:13-14 11:15-13 7:3-9 6:2-3 14:10-8 1:2-6 9:13-15 7:3-1 14:10-11 12:8-10 2:6-5 11:15-12 3:7-5 "
    "5:1-3 "
    "13:9-10 7:3-2 3:2-6 12:8-9 8:12-15 9:13-12 11:15-14 13:9-8 10:14-15 10:14-12 10:14-13 12:8-1 12:8-11 "
    "13:9-11 "
    "15:11-10 1:5-7 15:11-8 8:12-14 5:1-2 6:2-1 14:10-9 8:12-13 2:6-7 15:11-9 @203 6:2-9 11:8-1 @205 10:8-1 "
    "5:1-9 "
    "@207 9:8-1 @374 8:1-3 8:1-5 8:1-4 8:1-2 @402 15:8-1 @404 14:8-1 @406 13:8-1 @573 4:9-8 4:9-11 4:9-13 "
    "4:9-10 "
    "@575 3:9-8 12:1-2 12:1-4 3:9-11 8:2-6 12:1-5 3:9-10 3:9-13 8:3-7 12:1-3 @577 2:9-10 2:9-13 11:1-2 "
    "11:1-3 2:9-11 "
    "11:1-5 2:9-8 @579 10:1-5 1:9-10 10:1-3 1:9-11 10:1-2 1:9-13 1:9-8 @581 9:1-3 9:1-5 9:1-2 "
    "@774 7:9-13 7:9-10 7:9-8 4:11-15 4:10-14 4:8-12 7:9-11 @776 3:8-12 6:9-10 6:9-8 3:10-14 12:2-6 6:9-11 "
    "12:3-7 "
    "15:1-2 15:1-4 3:11-15 6:9-13 15:1-5 15:1-3 @778 14:1-5 2:11-15 5:9-10 5:9-13 14:1-2 5:9-8 11:5-4 5:9-11 "
    "2:10-14 "
    "14:1-3 11:2-6 11:3-7 2:8-12 @780 13:1-3 10:5-4 13:1-2 1:8-12 1:11-15 13:1-5 1:10-14 10:2-6 10:3-7 @782 "
    "9:2-6 "
    "9:3-7 9:5-4 @975 7:10-14 7:8-12 7:11-15 @977 6:11-15 15:2-6 15:3-7 6:10-14 6:8-12 @979 5:11-15 5:10-14 "
    "14:3-7 "
    "14:5-4 14:2-6 5:8-12 @981 13:2-6 13:5-4 13:3-7";

static int find_link(const banyan_topology *topology, int src, int dst)
{
    for (int i = topology->out_first[src]; i < topology->out_first[src + 1]; i++)
        if (topology->links[topology->out_link[i]].dst == dst)
            return topology->out_link[i];
    return -1;
}

/* Over its link, or through the relay. */
static int add_route(const banyan_topology *topology, banyan_builder *builder, int src, int dst)
{
    int direct = find_link(topology, src, dst),
        through[2] = {find_link(topology, src, RELAY), find_link(topology, RELAY, dst)};

    return direct >= 0 ? banyan_builder_add_route(builder, &direct, 1)
                       : banyan_builder_add_route(builder, through, 2);
}

static banyan_status import(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    int epoch = 0, count = 0;

    banyan_problem_begin(problem, &builder);
    banyan_builder_cut_evenly(&builder, GPUS);
    for (const char *at = flows; *at;) {
        char *end;
        int chunk = 0, src, dst;

        if (*at == '@') {
            epoch = (int)strtol(at + 1, &end, 10);
        } else {
            chunk = (int)strtol(at, &end, 10);
            src = (int)strtol(end + 1, &end, 10);
            dst = (int)strtol(end + 1, &end, 10);
            banyan_builder_add(&builder,
                               (banyan_transfer){epoch, src, dst, chunk - 1, 1, BANYAN_ACTION_COPY, chunk - 1,
                                                 add_route(problem->topology, &builder, src, dst)});
            count++;
        }
        at = *end ? end + 1 : end;
    }
    if (count != GPUS * (GPUS - 1))
        banyan_builder_fail(&builder, BANYAN_INTERNAL_ERROR,
                            "TE-CCL's schedule has %d transfers here, not %d", count, GPUS * (GPUS - 1));
    return banyan_builder_finish(&builder, out, err);
}

static banyan_status simulate(const banyan_topology *topology, const banyan_schedule *schedule,
                              double *seconds, banyan_error *err)
{
    banyan_fluid_result result;
    banyan_status status = banyan_fluid(schedule, topology, (size_t)(GPUS * CHUNK_BYTES), NULL, &result, err);

    if (!status) {
        *seconds = result.timeline->total_s;
        banyan_fluid_fini(&result);
    }
    return status;
}

static banyan_status verify(const banyan_topology *topology, const banyan_schedule *schedule, int *is_right,
                            char *why, size_t size, banyan_error *err)
{
    banyan_verdict verdict;
    banyan_error sentence = {0};
    banyan_status status = banyan_verify(schedule, topology, &verdict, err);

    if (status)
        return status;
    *is_right = !banyan_verdict_status(&verdict, &sentence);
    snprintf(why, size, "%s",
             *is_right ? "an all-gather of 15 GPUs in 210 transfers, each chunk to each GPU once"
                       : sentence.text);
    return BANYAN_SUCCESS;
}

static banyan_status plan_ours(const banyan_problem *problem, double *seconds, char *name, size_t size,
                               banyan_error *err)
{
    banyan_plan *plans;
    int count;
    banyan_status status = banyan_plan_all(problem, &plans, &count, err);

    if (status)
        return status;
    *seconds = 0;
    for (int i = 0; i < count; i++)
        if (plans[i].schedule && (*seconds == 0 || plans[i].network_s < *seconds)) {
            *seconds = plans[i].network_s;
            snprintf(name, size, "%s, planned in %.1f ms", plans[i].algorithm->name,
                     1e3 * plans[i].planning_s);
        }
    banyan_plans_destroy(plans, count);
    return BANYAN_SUCCESS;
}

static void show(banyan_reproduction *r, double imported_s, double ours_s, int is_right, const char *why,
                 const char *algorithm)
{
    banyan_figure *f = banyan_figure_open(
        r, &(banyan_figure_head){
               .name = "te-ccl",
               .title = "TE-CCL: a published schedule, imported",
               .setting = "all-gather of 1 KB on NDv2 x2, 15 GPUs and a relay, as their file has it; "
                          "fluid simulator, links alone",
               .kind = BANYAN_FIGURE_TABLE,
               .x = "schedule",
               .y = "us",
               .tolerance = 0.01});
    char reason[160];

    banyan_figure_add(f, BANYAN_PAPERS, "finish, as published", 0, "theirs", THEIR_S * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "simulated", 0, "theirs", imported_s * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "simulated", 1, "ours", ours_s * 1e6);
    banyan_figure_state(f, "TE-CCL's schedule is an all-gather on its network", is_right, why);
    banyan_figure_compare(f, "finish of TE-CCL's schedule, us", BANYAN_PAPERS, THEIR_S * 1e6,
                          imported_s * 1e6, NULL);
    snprintf(reason, sizeof reason, "%s; theirs took %.0f s", algorithm, (double)THEIR_PLANNING_S);
    banyan_figure_compare(f, "our plan against TE-CCL's, us", BANYAN_PAPERS, THEIR_S * 1e6, ours_s * 1e6,
                          reason);
}

banyan_status field_show_teccl(banyan_reproduction *r, banyan_error *err)
{
    banyan_problem problem = {.active_count = GPUS,
                              .collective = BANYAN_COLLECTIVE_ALLGATHER,
                              .bytes = (size_t)(GPUS * CHUNK_BYTES)};
    banyan_topology *topology = NULL;
    banyan_schedule *theirs = NULL;
    double imported_s = 0, ours_s = 0;
    char why[sizeof err->text] = "", algorithm[64] = "";
    int active[GPUS], is_right = 0;
    banyan_status status = field_ndv2_build(2, &topology, err);

    for (int i = 0; i < GPUS; i++)
        active[i] = i + 1;
    problem.topology = topology;
    problem.active = active;
    if (!status)
        status = import(&problem, &theirs, err);
    if (!status)
        status = verify(topology, theirs, &is_right, why, sizeof why, err);
    if (!status)
        status = simulate(topology, theirs, &imported_s, err);
    if (!status)
        status = plan_ours(&problem, &ours_s, algorithm, sizeof algorithm, err);
    if (!status)
        show(r, imported_s, ours_s, is_right, why, algorithm);
    banyan_schedule_destroy(theirs);
    banyan_topology_destroy(topology);
    return status;
}
