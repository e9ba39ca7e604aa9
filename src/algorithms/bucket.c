/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/bucket.c: reduce-scatter dimension by dimension on a torus or mesh, and all-gather back.
 *
 *     4x4:   rows     rings of 4: each worker is left with a quarter of its row's sum
 *            columns  rings of 4: each is left with a sixteenth of the whole sum; then columns and rows back
 *
 * Each dimension deals only with what the ones before have left, so nothing travels twice. All dimensions and
 * both ways are used at once, by flows with their part of the vector each (lines.h): on a torus of equal
 * extents every link carries the least there is, in far fewer rounds than a ring of all. Cost on N x N:
 * 4(N-1) a + (p-1)/2p n b. Lines of a mesh go 0 2 4 .. 5 3 1, no step longer than two links; their links
 * carry twice as much as a torus's.
 *
 * Paper: N. Jain, Y. Sabharwal, Optimal Bucket Algorithms for Large MPI Collectives on Torus Interconnects,
 * 2010. */
#include "algorithms/lines.h"

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    return banyan_lines_check(problem, "bucket", err);
}

static void append_flow(banyan_lines *lines, int flow)
{
    int round = 0;

    for (int turn = 0; turn < lines->dimension_count; turn++)
        round = banyan_lines_run(lines, banyan_circle_reduce_scatter, round, flow, turn, turn);
    for (int turn = lines->dimension_count - 1; turn >= 0; turn--)
        round = banyan_lines_run(lines, banyan_circle_all_gather, round, flow, turn, turn);
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    banyan_lines lines;
    banyan_status status = banyan_lines_init(&lines, problem, &builder, err);

    if (status)
        return status;
    lines.share = problem->active_count;
    lines.is_folded = 1;
    return banyan_lines_finish(&lines, problem, append_flow, out, err);
}

const banyan_algorithm banyan_algorithm_bucket = {
    .name = "bucket",
    .summary = "reduce-scatter along every dimension of a torus or mesh in turn, and back: least volume",
    .paper =
        "Jain, Sabharwal: Optimal Bucket Algorithms for Large MPI Collectives on Torus Interconnects, 2010",
    .cost = "4(N-1) a + (p-1)/2p n b on an N x N torus",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = applies,
    .build = build,
};
