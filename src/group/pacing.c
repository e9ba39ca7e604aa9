/* SPDX-License-Identifier: Apache-2.0 */
/* group/pacing.c: which calls are paced, and how fast. */
#include "group/pacing.h"

#include "core/alloc.h"
#include "simulate/paces.h"

static banyan_status create(const banyan_group_plan *plan, const banyan_setup *setup, int node,
                            banyan_pacing **out, banyan_error *err)
{
    banyan_pacing *pacing = banyan_alloc(1, sizeof *pacing);
    banyan_limits limits;
    banyan_status status = pacing ? banyan_bandwidth_limit(plan->schedule, setup->topology, &limits, err)
                                  : banyan_fail_memory(err);

    if (!status)
        status = banyan_paces_find(plan->schedule, setup->topology, node, &pacing->bytes_per_s, err);
    if (status) {
        banyan_pacing_destroy(pacing);
        return status;
    }
    pacing->limit = limits.bytes_per_s;
    *out = pacing;
    return BANYAN_SUCCESS;
}

void banyan_pacing_destroy(banyan_pacing *pacing)
{
    if (pacing)
        banyan_free(pacing->bytes_per_s);
    banyan_free(pacing);
}

void banyan_pacing_lift(banyan_endpoint *endpoint)
{
    for (int i = 0; endpoint->transport->pace && i < endpoint->member_count; i++)
        if (i != endpoint->member)
            endpoint->transport->pace(endpoint, i, 0);
}

static int is_call_paced(const banyan_pacing *pacing)
{
    return !pacing->is_over && pacing->calls > 0;
}

static void pace(const banyan_pacing *pacing, banyan_endpoint *endpoint)
{
    double headroom = pacing->calls % BANYAN_LOOSE_PERIOD ? BANYAN_PACE_HEADROOM : BANYAN_LOOSE;

    for (int i = 0; i < endpoint->member_count; i++)
        if (i != endpoint->member)
            endpoint->transport->pace(endpoint, i, headroom * pacing->bytes_per_s[i]);
}

banyan_status banyan_pacing_begin(const banyan_group_plan *plan, const banyan_setup *setup,
                                  banyan_endpoint *endpoint, banyan_error *err)
{
    int node = endpoint->member, is_known = !setup->is_default_topology || setup->is_measured;
    banyan_status status = BANYAN_SUCCESS;

    if (!endpoint->transport->pace)
        return BANYAN_SUCCESS;
    if (!plan->is_paced || !is_known) {
        banyan_pacing_lift(endpoint);
        return BANYAN_SUCCESS;
    }
    if (!plan->pacings[node])
        status = create(plan, setup, node, &plan->pacings[node], err);
    if (status)
        return status;
    plan->pacings[node]->is_paced = is_call_paced(plan->pacings[node]);
    if (plan->pacings[node]->is_paced)
        pace(plan->pacings[node], endpoint);
    else
        banyan_pacing_lift(endpoint);
    return BANYAN_SUCCESS;
}

void banyan_pacing_end(const banyan_group_plan *plan, const banyan_endpoint *endpoint, size_t bytes,
                       double seconds)
{
    banyan_pacing *pacing = plan->is_paced ? plan->pacings[endpoint->member] : NULL;

    if (!pacing)
        return;
    pacing->calls++;
    if ((double)bytes > BANYAN_PACE_EXCEEDED * pacing->limit * seconds)
        pacing->is_over = 1;
}
