/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flows_weigh.c: fewer flows at the least loss: drop some of the lightest, let a linear program
 * weigh the rest anew, and again until they are few enough. */
#include <string.h>

#include "algorithms/flows.h"
#include "core/alloc.h"
#include "solve/net/lp.h"

typedef struct {
    const banyan_topology *topology;
    banyan_flows *flows;
    double widest;
    int *row;
    double *value, *used, *limit;
} scale;

static void scale_fini(scale *s)
{
    banyan_free(s->row);
    banyan_free(s->value);
    banyan_free(s->used);
    banyan_free(s->limit);
}

static banyan_status scale_init(scale *s, banyan_flows *flows, const banyan_topology *topology,
                                banyan_error *err)
{
    size_t links = (size_t)topology->link_count;

    *s = (scale){.topology = topology, .flows = flows};
    s->row = banyan_alloc(links, sizeof *s->row);
    s->value = banyan_alloc(links, sizeof *s->value);
    s->used = banyan_alloc(links, sizeof *s->used);
    s->limit = banyan_alloc(links, sizeof *s->limit);
    if (!s->row || !s->value || !s->used || !s->limit)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < links; i++)
        if (topology->links[i].bytes_per_s > s->widest)
            s->widest = topology->links[i].bytes_per_s;
    for (size_t i = 0; i < links; i++)
        s->limit[i] = topology->links[i].bytes_per_s / s->widest;
    return BANYAN_SUCCESS;
}

static void add_flow(scale *s, banyan_lp *lp, const banyan_flow_tree *flow)
{
    int count = 0;
    size_t end = flow->first_hop + (size_t)(flow->in_count + flow->out_count);

    for (size_t h = flow->first_hop; h < end; h++)
        for (int j = 0; j < s->flows->hops[h].link_count; j++) {
            int link = s->flows->links[s->flows->hops[h].first_link + (size_t)j];

            if (s->used[link] == 0)
                s->row[count++] = link;
            s->used[link]++;
        }
    for (int i = 0; i < count; i++) {
        s->value[i] = s->used[s->row[i]];
        s->used[s->row[i]] = 0;
    }
    banyan_lp_add_column(lp, 1, count, s->row, s->value);
}

static banyan_status weigh(scale *s, banyan_error *err)
{
    banyan_lp *lp;
    banyan_status status = banyan_lp_create(s->topology->link_count, NULL, s->limit, &lp, err);

    if (status)
        return status;
    for (size_t i = 0; i < s->flows->flow_count; i++)
        add_flow(s, lp, &s->flows->flows[i]);
    status = banyan_lp_solve(lp, err);
    for (size_t i = 0; !status && i < s->flows->flow_count; i++) {
        double weight = banyan_lp_values(lp)[i];

        s->flows->flows[i].weight = weight > 0 ? weight * s->widest : 0;
    }
    banyan_lp_destroy(lp);
    return status;
}

banyan_status banyan_flows_limit(banyan_flows *flows, const banyan_topology *topology, size_t limit,
                                 banyan_error *err)
{
    scale s;
    banyan_status status;

    banyan_flows_keep_heaviest(flows, flows->flow_count);
    if (flows->flow_count <= limit)
        return BANYAN_SUCCESS;
    status = scale_init(&s, flows, topology, err);
    while (!status && flows->flow_count > limit) {
        size_t over = flows->flow_count - limit;

        banyan_flows_keep_heaviest(flows, flows->flow_count - (over + 2) / 3);
        status = weigh(&s, err);
    }
    if (!status)
        banyan_flows_keep_heaviest(flows, limit);
    scale_fini(&s);
    return status;
}
