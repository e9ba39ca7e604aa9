/* SPDX-License-Identifier: Apache-2.0 */
/* bound/cut_family.c: weighted cuts in memory: made, copied, divided by what their numbers have in common,
 * so that the same proof is always written the same way, and freed. */
#include "bound/cut_family.h"

#include <string.h>

#include "core/alloc.h"
#include "core/gcd.h"

banyan_status banyan_cut_family_init(banyan_cut_family *out, int count, size_t members, int node_count,
                                     banyan_error *err)
{
    *out = (banyan_cut_family){.count = count, .first = banyan_alloc((size_t)count + 1, sizeof *out->first)};
    out->node = banyan_alloc(members, sizeof *out->node);
    out->weight = banyan_alloc((size_t)count, sizeof *out->weight);
    out->potential = banyan_alloc((size_t)node_count, sizeof *out->potential);
    if (out->first && out->node && out->weight && out->potential)
        return BANYAN_SUCCESS;
    banyan_cut_family_fini(out);
    return banyan_fail_memory(err);
}

void banyan_cut_family_fini(banyan_cut_family *family)
{
    banyan_free(family->first);
    banyan_free(family->node);
    banyan_free(family->weight);
    banyan_free(family->potential);
    *family = (banyan_cut_family){0};
}

banyan_status banyan_cut_family_of_cut(const banyan_graph *graph, const unsigned char *sends,
                                       banyan_cut_family *out, banyan_error *err)
{
    banyan_status status = banyan_cut_family_init(out, 1, (size_t)graph->node_count, graph->node_count, err);

    if (status)
        return status;
    out->weight[0] = 1;
    for (int v = 0; v < graph->node_count; v++)
        if (!sends[v])
            out->node[out->first[1]++] = v;
    return BANYAN_SUCCESS;
}

static int64_t common_divisor(const banyan_cut_family *family, int node_count, int64_t common)
{
    for (int k = 0; k < family->count; k++)
        common = banyan_gcd(common, family->weight[k]);
    for (int v = 0; v < node_count; v++)
        common = banyan_gcd(common, family->potential[v] < 0 ? -family->potential[v] : family->potential[v]);
    return common;
}

static void divide(banyan_cut_family *family, int node_count, int64_t divisor)
{
    for (int k = 0; k < family->count; k++)
        family->weight[k] /= divisor;
    for (int v = 0; v < node_count; v++)
        family->potential[v] /= divisor;
}

void banyan_cut_family_reduce(banyan_cut_family *family, banyan_cut_family *other, int node_count)
{
    int64_t common = common_divisor(family, node_count, 0);

    if (other)
        common = common_divisor(other, node_count, common);
    if (common > 1)
        divide(family, node_count, common);
    if (common > 1 && other)
        divide(other, node_count, common);
}

banyan_status banyan_cut_family_copy(const banyan_graph *graph, const banyan_cut_family *family,
                                     banyan_cut_family *out, banyan_error *err)
{
    banyan_status status = banyan_cut_family_init(out, family->count, (size_t)family->first[family->count],
                                                  graph->node_count, err);

    if (status)
        return status;
    for (int k = 0; k < family->count; k++) {
        out->weight[k] = family->weight[k];
        out->first[k + 1] = out->first[k];
        for (int i = family->first[k]; i < family->first[k + 1]; i++)
            if (banyan_graph_is_joined(graph, family->node[i]))
                out->node[out->first[k + 1]++] = family->node[i];
    }
    for (int v = 0; v < graph->node_count; v++)
        out->potential[v] = banyan_graph_is_joined(graph, v) ? family->potential[v] : 0;
    return BANYAN_SUCCESS;
}
