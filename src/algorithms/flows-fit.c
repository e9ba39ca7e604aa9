/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flows-fit.c: how many trees for the size at hand.
 *
 * With hops a seconds long and rate X, slices of the best size pass D hops up and down in
 *     (sqrt(n / X) + sqrt((D - 1) a))^2 ,
 * and a link that serves k flows pays a further k - 1 times. We try the shallowest flow alone, then 2, 4, 8,
 * ... of the heaviest, then all, and keep the quickest. */
#include <math.h>
#include <string.h>

#include "algorithms/flows.h"
#include "core/alloc.h"

#define MUCH_QUICKER 0.75

static double longest_latency(const banyan_topology *topology)
{
    double longest = 0;

    for (int i = 0; i < topology->link_count; i++)
        if (topology->links[i].latency_s > longest)
            longest = topology->links[i].latency_s;
    return longest;
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
                             int *uses, double *seconds, banyan_error *err)
{
    double rate, latency = longest_latency(topology), hops = 2.0 * banyan_flows_depth(flows);
    banyan_status status = banyan_flows_rate(flows, topology, &rate, err);

    if (!status) {
        double root = sqrt((double)bytes / rate) + sqrt((hops - 1) * latency);

        *seconds = root * root + latency * (busiest_link(flows, uses, topology->link_count) - 1);
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

        flows->flow_count = count < all ? count : all;
        status = predict(flows, topology, bytes, uses, &seconds, err);
        if (!status && seconds < (count < all ? least : least / MUCH_QUICKER)) {
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
