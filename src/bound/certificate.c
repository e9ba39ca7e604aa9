/* SPDX-License-Identifier: Apache-2.0 */
/* bound/certificate.c: an all-reduce certificate in words: which links have a price, named in pairs where
 * both directions have the same one, and how often a byte must cross them. This is for people; what is
 * checked is the numbers (bound/check.h). */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "bound/bound.h"
#include "core/alloc.h"
#include "core/text.h"

/* Links named before the rest is only counted. */
#define NAMED_LINKS 6

/* Links in the order of their ends and prices, so that the way back of one is soon found. */
typedef struct {
    const banyan_topology *topology;
    const banyan_certificate *certificate;
    int *sorted; /* link ids */
} way_index;

static int compare_ways(const way_index *index, int a, int src, int dst, int64_t price)
{
    const banyan_link *link = &index->topology->links[a];
    int64_t own = index->certificate->price[a];

    if (link->src != src)
        return link->src < src ? -1 : 1;
    if (link->dst != dst)
        return link->dst < dst ? -1 : 1;
    return own < price ? -1 : own > price;
}

static int compare_links(const void *left, const void *right, void *context)
{
    const way_index *index = context;
    int a = *(const int *)left, b = *(const int *)right;
    const banyan_link *link = &index->topology->links[b];
    int order = compare_ways(index, a, link->src, link->dst, index->certificate->price[b]);

    return order ? order : (a > b) - (a < b);
}

static banyan_status index_ways(way_index *index, const banyan_topology *topology,
                                const banyan_certificate *c, banyan_error *err)
{
    *index = (way_index){topology, c, banyan_alloc((size_t)c->link_count, sizeof *index->sorted)};
    if (!index->sorted)
        return banyan_fail_memory(err);
    for (int i = 0; i < c->link_count; i++)
        index->sorted[i] = i;
    qsort_r(index->sorted, (size_t)c->link_count, sizeof *index->sorted, compare_links, index);
    return BANYAN_SUCCESS;
}

/* The first link back with the same price; INT_MAX: there is none. */
static int way_back(const way_index *index, int link)
{
    const banyan_link *l = &index->topology->links[link];
    int64_t price = index->certificate->price[link];
    int low = 0, high = index->certificate->link_count;

    while (low < high) {
        int middle = (low + high) / 2;

        if (compare_ways(index, index->sorted[middle], l->dst, l->src, price) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->certificate->link_count &&
                   compare_ways(index, index->sorted[low], l->dst, l->src, price) == 0
               ? index->sorted[low]
               : INT_MAX;
}

/* The way back of a link that is listed already is not named again. */
static int is_second_way(const way_index *index, int link)
{
    return way_back(index, link) < link;
}

static int is_both_ways(const way_index *index, int link)
{
    return way_back(index, link) < INT_MAX;
}

static int count_cables(const way_index *index)
{
    const banyan_certificate *c = index->certificate;
    int count = 0;

    for (int i = 0; i < c->link_count; i++)
        count += c->price[i] > 0 && !is_second_way(index, i);
    return count;
}

static void list_links(banyan_text *text, const way_index *index, int count)
{
    const banyan_topology *topology = index->topology;
    const banyan_certificate *c = index->certificate;
    int named = 0;

    for (int i = 0; i < c->link_count && named < NAMED_LINKS; i++) {
        const banyan_link *link = &topology->links[i];

        if (!c->price[i] || is_second_way(index, i))
            continue;
        banyan_text_add(text, "%s%s%s%s", banyan_text_separator(named, count),
                        banyan_topology_node_name(topology, link->src), is_both_ways(index, i) ? "-" : "->",
                        banyan_topology_node_name(topology, link->dst));
        if (c->kind == BANYAN_CERTIFICATE_PRICES)
            banyan_text_add(text, " (counted %lld times)", (long long)c->price[i]);
        named++;
    }
    if (count > named)
        banyan_text_add(text, " and %d more", count - named);
}

/* Whether links count in one direction alone: where links are asymmetric. */
static int has_one_way(const way_index *index)
{
    for (int i = 0; i < index->certificate->link_count; i++)
        if (index->certificate->price[i] && !is_both_ways(index, i))
            return 1;
    return 0;
}

/* How often a byte must cross the priced links, in both directions together: the bound says capacity /
 * rate. */
static double crossings(const banyan_topology *topology, const banyan_rate *rate)
{
    const banyan_certificate *c = &rate->certificate;
    double worth = 0, common = 0;

    for (int i = 0; i < c->link_count; i++) {
        worth += (double)c->price[i] * topology->links[i].bytes_per_s;
        if (c->price[i])
            common = (double)c->price[i];
    }
    if (c->kind == BANYAN_CERTIFICATE_PRICES || common == 0)
        common = 1;
    return worth / common / rate->bytes_per_s;
}

static void explain(banyan_text *text, const way_index *index, const banyan_rate *rate)
{
    const banyan_certificate *c = index->certificate;
    int cables = count_cables(index), is_one_way = has_one_way(index);
    const char *each_way = is_one_way ? "" : " each way";
    double times = crossings(index->topology, rate) / (is_one_way ? 1 : 2);

    banyan_text_add(text, "link%s ", cables == 1 ? "" : "s");
    list_links(text, index, cables);
    if (fabs(times - cables) < 1e-6 * cables)
        banyan_text_add(text, ": every byte must cross %s once%s", cables == 1 ? "it" : "them", each_way);
    else
        banyan_text_add(text, ": every byte must cross these links at least %.6g times%s", times,
                        is_one_way ? "" : " in each direction");
    if (c->kind == BANYAN_CERTIFICATE_PARTITION && !is_one_way)
        banyan_text_add(text, ", to connect %d parts of the network", c->part_count);
}

banyan_status banyan_bound_explain(const banyan_topology *topology, const int *active, int active_count,
                                   const banyan_bound *bound, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    way_index index;
    banyan_status status;

    (void)active;
    if (active_count < 2) {
        banyan_text_add(&text, "one active worker: nothing has to move");
        return banyan_text_take(&text, out, err);
    }
    status = index_ways(&index, topology, &bound->allreduce.certificate, err);
    if (status)
        return status;
    explain(&text, &index, &bound->allreduce);
    banyan_free(index.sorted);
    return banyan_text_take(&text, out, err);
}
