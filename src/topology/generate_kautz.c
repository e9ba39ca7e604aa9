/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate_kautz.c: one-way links, D out of each worker and D in, with the shortest paths that are
 * known for so few links: the generalised Kautz graph.
 *
 * Worker i sends to -(D i + j) modulo N, for j = 1 .. D. Every worker is reached in at most ceil(log_D N)
 * hops. Where N = D^k + D^(k-1) it is the Kautz graph, of diameter k. A link that would lead from a worker to
 * itself, which there is for some N, is left out.
 *
 * Imase and Itoh, "A Design for Directed Graphs with Minimum Diameter", IEEE Trans. Computers C-32, 1983;
 * used for all-gather by Zhao et al., "Efficient Direct-Connect Topologies for Collective Communications",
 * arXiv 2202.03356. */
#include "topology/generator.h"

static void build_kautz(const banyan_generator_request *request, banyan_topology_builder *builder)
{
    int workers = banyan_shape_value(&request->shape, 0, 0);
    int each = banyan_shape_value(&request->shape, 1, 0);

    if (each >= workers) {
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                     "%s: a worker has %d links out, and only %d others to reach",
                                     request->spec, each, workers - 1);
        return;
    }
    if (!banyan_generator_fits(request, builder, workers, (double)workers * each))
        return;
    banyan_generator_add_workers(builder, workers);
    for (int i = 0; i < workers; i++)
        for (int j = 1; j <= each; j++) {
            int to = (int)(((long)workers * each - (long)each * i - j) % workers);

            if (to != i)
                banyan_topology_add_link(builder, i, to, request->settings.bytes_per_s,
                                         request->settings.latency_s);
        }
}

const banyan_generator banyan_generator_kautz = {
    .info =
        {"kautz", "kautz:NxD",
         "generalised Kautz graph: N workers with D one-way links out and D in; 100 Gb/s and 1 us a link"},
    .least_parts = 2,
    .most_parts = 2,
    .defaults = {.bytes_per_s = BANYAN_GBPS(100), .latency_s = BANYAN_DEFAULT_LATENCY_S},
    .build = build_kautz,
};
