/* SPDX-License-Identifier: Apache-2.0 */
/* bound/certificate.c: an all-reduce certificate in words. */
#include <math.h>

#include "bound/bound.h"
#include "core/text.h"

/* Links named before the rest is only counted. */
#define NAMED_LINKS 6

/* The way back of a link that is listed already is not named again. */
static int is_second_way(const banyan_topology *topology, const banyan_certificate *c, int link)
{
    for (int i = 0; i < link; i++)
        if (c->price[i] == c->price[link] && topology->links[i].src == topology->links[link].dst &&
            topology->links[i].dst == topology->links[link].src)
            return 1;
    return 0;
}

static int is_both_ways(const banyan_topology *topology, const banyan_certificate *c, int link)
{
    for (int i = 0; i < c->link_count; i++)
        if (c->price[i] == c->price[link] && topology->links[i].src == topology->links[link].dst &&
            topology->links[i].dst == topology->links[link].src)
            return 1;
    return 0;
}

static int count_cables(const banyan_topology *topology, const banyan_certificate *c)
{
    int count = 0;

    for (int i = 0; i < c->link_count; i++)
        count += c->price[i] > 0 && !is_second_way(topology, c, i);
    return count;
}

static void list_links(banyan_text *text, const banyan_topology *topology, const banyan_certificate *c,
                       int count)
{
    int named = 0;

    for (int i = 0; i < c->link_count && named < NAMED_LINKS; i++) {
        const banyan_link *link = &topology->links[i];

        if (!c->price[i] || is_second_way(topology, c, i))
            continue;
        banyan_text_add(text, "%s%s%s%s",
                        named == 0           ? ""
                        : named + 1 == count ? " and "
                                             : ", ",
                        banyan_topology_node_name(topology, link->src),
                        is_both_ways(topology, c, i) ? "-" : "->",
                        banyan_topology_node_name(topology, link->dst));
        if (c->kind == BANYAN_CERTIFICATE_PRICES)
            banyan_text_add(text, " (counted %lld times)", (long long)c->price[i]);
        named++;
    }
    if (count > named)
        banyan_text_add(text, " and %d more", count - named);
}

/* Whether links count in one direction alone: where directions are unlike. */
static int has_one_way(const banyan_topology *topology, const banyan_certificate *c)
{
    for (int i = 0; i < c->link_count; i++)
        if (c->price[i] && !is_both_ways(topology, c, i))
            return 1;
    return 0;
}

/* How often a byte must cross the priced links, in both directions together: the bound says capacity / rate. */
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

banyan_status banyan_bound_explain(const banyan_topology *topology, const int *active, int active_count,
                                   const banyan_bound *bound, char **out, banyan_error *err)
{
    const banyan_rate *rate = &bound->allreduce;
    const banyan_certificate *c = &rate->certificate;
    banyan_text text = BANYAN_TEXT_EMPTY;
    int cables = count_cables(topology, c), is_one_way = has_one_way(topology, c);
    const char *each_way = is_one_way ? "" : " each way";
    double times;

    (void)active;
    if (active_count < 2) {
        banyan_text_add(&text, "one active worker: nothing has to move");
        return banyan_text_take(&text, out, err);
    }
    times = crossings(topology, rate) / (is_one_way ? 1 : 2);
    banyan_text_add(&text, "link%s ", cables == 1 ? "" : "s");
    list_links(&text, topology, c, cables);
    if (fabs(times - cables) < 1e-6 * cables)
        banyan_text_add(&text, ": every byte must cross %s once%s", cables == 1 ? "it" : "them", each_way);
    else
        banyan_text_add(&text, ": every byte must cross them %.6g times in all%s", times, each_way);
    if (c->kind == BANYAN_CERTIFICATE_PARTITION && !is_one_way)
        banyan_text_add(&text, ", to join %d parts of the network", c->part_count);
    return banyan_text_take(&text, out, err);
}
