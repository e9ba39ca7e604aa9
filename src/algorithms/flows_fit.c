/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flows_fit.c: how many trees for the current size.
 *
 * The fullest link is busy for n / X. Before it has anything to do, and after it is done, slices pass D hops
 * up and down, and each takes
 *     a + slice b ,    a slice no larger than the tree's piece of the vector:
 * so more trees not only have more rate X, their pieces are also smaller and pass their hops sooner. But
 * every further flow on a link is a message more to handle, which costs a small part of a. We try the
 * shallowest flow alone, then 2, 4, 8, ... of the heaviest, then all, and keep the quickest. */
#include <math.h>
#include <string.h>

#include "algorithms/flows.h"
#include "core/alloc.h"

#define HANDLING 0.0625      /* of a hop's latency, for each further message on a link */
#define FEWER_FLOWS_TIME 0.9 /* to do without some of them where their rate decides */
#define RATE_SHARE 0.5       /* of the time, beyond which the rate decides, not the latency */

double banyan_flows_heaviest_share(const banyan_flows *flows)
{
    double total = 0, heaviest = 0;

    for (size_t f = 0; f < flows->flow_count; f++) {
        total += flows->flows[f].weight;
        heaviest = fmax(heaviest, flows->flows[f].weight);
    }
    return heaviest / total;
}

/* What the slowest hop takes for that many bytes; and its latency alone. */
static double slowest_hop(const banyan_flows *flows, const banyan_topology *topology, double bytes,
                          double *latency_s)
{
    double slowest = 0;

    for (size_t f = 0; f < flows->flow_count; f++) {
        const banyan_flow_tree *flow = &flows->flows[f];
        size_t end = flow->first_hop + (size_t)(flow->in_count + flow->out_count);

        for (size_t h = flow->first_hop; h < end; h++) {
            double wait_s = 0, s_per_byte = 0;

            for (int j = 0; j < flows->hops[h].link_count; j++) {
                const banyan_link *link =
                    &topology->links[flows->links[flows->hops[h].first_link + (size_t)j]];

                wait_s += link->latency_s;
                s_per_byte = fmax(s_per_byte, 1 / link->bytes_per_s);
            }
            if (wait_s + bytes * s_per_byte > slowest) {
                slowest = wait_s + bytes * s_per_byte;
                *latency_s = wait_s;
            }
        }
    }
    return slowest;
}

/* The most flows that one link serves. */
static int busiest_link(const banyan_flows *flows, int *uses, int link_count)
{
    int most = 0;

    memset(uses, 0, (size_t)link_count * sizeof *uses);
    for (size_t f = 0; f < flows->flow_count; f++) {
        const banyan_flow_tree *flow = &flows->flows[f];
        size_t end = flow->first_hop + (size_t)(flow->in_count + flow->out_count);

        for (size_t h = flow->first_hop; h < end; h++)
            for (int j = 0; j < flows->hops[h].link_count; j++) {
                int *count = &uses[flows->links[flows->hops[h].first_link + (size_t)j]];

                most = ++*count > most ? *count : most;
            }
    }
    return most;
}

static banyan_status predict(const banyan_flows *flows, const banyan_topology *topology, size_t bytes,
                             int *uses, double *seconds, int *by_rate, banyan_error *err)
{
    double rate, hops = 2.0 * banyan_flows_depth(flows), latency_s = 0;
    double slice = fmin(BANYAN_FLOW_SLICE_BYTES, banyan_flows_heaviest_share(flows) * (double)bytes);
    banyan_status status = banyan_flows_rate(flows, topology, &rate, err);

    if (!status) {
        double hop_s = slowest_hop(flows, topology, slice, &latency_s);
        int more = busiest_link(flows, uses, topology->link_count) - 1;

        *seconds = (double)bytes / rate + (hops - 1) * hop_s + latency_s + more * HANDLING * latency_s;
        *by_rate = (double)bytes / rate > RATE_SHARE * *seconds;
    }
    return status;
}

/* The shallowest to the front; among equals the heaviest, which is there already. */
static void shallowest_first(banyan_flow_tree *flows, size_t count)
{
    size_t best = 0;
    banyan_flow_tree chosen;

    for (size_t i = 1; i < count; i++)
        if (flows[i].depth < flows[best].depth)
            best = i;
    chosen = flows[best];
    memmove(flows + 1, flows, best * sizeof *flows);
    flows[0] = chosen;
}

banyan_status banyan_flows_fit(banyan_flows *flows, const banyan_topology *topology, size_t bytes,
                               banyan_error *err)
{
    size_t all = flows->flow_count, best = all;
    int *uses = banyan_alloc((size_t)topology->link_count, sizeof *uses);
    double least = HUGE_VAL;
    banyan_status status = uses ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status && all)
        shallowest_first(flows->flows, all);
    for (size_t count = 1; !status && all; count *= 2) {
        double seconds;
        int by_rate = 0;

        flows->flow_count = count < all ? count : all;
        status = predict(flows, topology, bytes, uses, &seconds, &by_rate, err);
        if (!status && seconds < (count >= all && by_rate ? least / FEWER_FLOWS_TIME : least)) {
            least = seconds;
            best = flows->flow_count;
        }
        if (count >= all)
            break;
    }
    flows->flow_count = best;
    banyan_free(uses);
    return status;
}
