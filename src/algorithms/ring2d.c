/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/ring2d.c: a ring all-reduce along each dimension of a torus or mesh, one after the other.
 *
 *     3x3:   rows    0-1-2  3-4-5  6-7-8   all-reduce: each row has its sum
 *            columns 0-3-6  1-4-7  2-5-8   all-reduce: everybody has the whole sum
 *
 * All dimensions and both ways are used at once, by flows with their part of the vector each (lines.h), so
 * every link of a torus is busy all the time. But the data travels once a dimension: `bucket` sends less.
 * Cost on N x N: 4(N-1) a + (N-1)/N n b. On a mesh the step from the end of a line to its beginning crosses
 * the whole line.
 *
 * Paper: C. Ying et al., Image Classification at Supercomputer Scale, 2018. */
#include "algorithms/lines.h"

#include "core/gcd.h"

static banyan_status applies(const banyan_problem *problem, banyan_error *err)
{
    return banyan_lines_check(problem, "ring2d", err);
}

static void append_flow(banyan_lines *lines, int flow)
{
    int round = 0;

    for (int turn = 0; turn < lines->dimension_count; turn++) {
        round = banyan_lines_run(lines, banyan_circle_reduce_scatter, round, flow, turn, 0);
        round = banyan_lines_run(lines, banyan_circle_all_gather, round, flow, turn, 0);
    }
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    banyan_lines lines;
    banyan_status status = banyan_lines_init(&lines, problem, &builder, err);

    if (status)
        return status;
    for (int d = 0; d < lines.dimension_count; d++) /* every ring cuts the whole share in equal parts */
        lines.share *=
            banyan_lines_extent(&lines, d) / (int)banyan_gcd(lines.share, banyan_lines_extent(&lines, d));
    return banyan_lines_finish(&lines, problem, append_flow, out, err);
}

const banyan_algorithm banyan_algorithm_ring2d = {
    .name = "ring2d",
    .summary = "a ring all-reduce along every dimension of a torus or mesh in turn, in flows for all links",
    .paper = "Ying et al.: Image Classification at Supercomputer Scale, 2018",
    .cost = "4(N-1) a + (N-1)/N n b on an N x N torus",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .applies = applies,
    .build = build,
};
