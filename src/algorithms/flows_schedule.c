/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flows_schedule.c: flows as transfers in rounds.
 *
 * A flow's piece of the vector is its weight's share. Hops towards the root add, hops away from it overwrite;
 * at a node that holds no data of its own (a relay, a switch that adds) the first to arrive overwrites and
 * comes in a round before the others. A hop gets the first round in which what it moves is complete and none
 * of its links has been given away. Flows take turns by hops, so that all of them move from the start. In a
 * plan with stages the hops of the second come in rounds after all others, behind the schedule's barrier. */
#include <math.h>
#include <string.h>

#include "algorithms/flows.h"
#include "core/alloc.h"
#include "solve/net/fraction.h"
#include "topology/routes.h"

#define WHOLE ((int64_t)1 << 20)
#define LARGEST_WHOLE ((int64_t)1 << 40)
#define MIN_PART 4096.0 /* of the lightest tree: rounded, it weighs hardly more or less on thin links */

typedef struct {
    uint64_t *taken; /* a bit a round */
    size_t words;
} calendar;

typedef struct {
    const banyan_flows *flows;
    const banyan_problem *problem;
    banyan_builder builder;
    banyan_routes *routes;
    calendar *calendar;   /* by link */
    int *ready;           /* by flow and node: the first round in which its value may be read */
    unsigned char *holds; /* by flow and node: there is something to add to */
    int *route_head;      /* hash table of known routes, chained */
    size_t *route_hop;
    int *route_next;
    int *
        /* by link: the route of a hop over it alone, plus 2 (1: the default one); 0: not yet asked for */
        link_route;
    int earliest, latest; /* rounds: of what is placed now, of all so far */
    banyan_transfer *placed;
    size_t placed_count;
} weaver;

enum { BUCKETS = 4096 };

static void weaver_fini(weaver *w)
{
    if (w->calendar)
        for (int i = 0; i < w->problem->topology->link_count; i++)
            banyan_free(w->calendar[i].taken);
    banyan_free(w->calendar);
    banyan_free(w->ready);
    banyan_free(w->holds);
    banyan_free(w->route_head);
    banyan_free(w->route_hop);
    banyan_free(w->route_next);
    banyan_free(w->link_route);
    banyan_free(w->placed);
    banyan_routes_destroy(w->routes);
}

static banyan_status weaver_init(weaver *w, const banyan_flows *flows, const banyan_problem *problem,
                                 banyan_error *err)
{
    size_t nodes = (size_t)problem->topology->node_count, cells = flows->flow_count * nodes;

    *w = (weaver){.flows = flows, .problem = problem};
    w->calendar = banyan_alloc((size_t)problem->topology->link_count, sizeof *w->calendar);
    w->ready = banyan_alloc(cells, sizeof *w->ready);
    w->holds = banyan_alloc(cells, 1);
    w->route_head = banyan_alloc(BUCKETS, sizeof *w->route_head);
    w->route_hop = banyan_alloc(flows->hop_count, sizeof *w->route_hop);
    w->route_next = banyan_alloc(flows->hop_count, sizeof *w->route_next);
    w->link_route = banyan_alloc((size_t)problem->topology->link_count, sizeof *w->link_route);
    w->placed = banyan_alloc(flows->hop_count, sizeof *w->placed);
    if (!w->calendar || !w->ready || !w->holds || !w->route_head || !w->route_hop || !w->route_next ||
        !w->link_route || !w->placed)
        return banyan_fail_memory(err);
    for (int i = 0; i < BUCKETS; i++)
        w->route_head[i] = -1;
    for (size_t f = 0; f < flows->flow_count; f++)
        for (int r = 0; r < problem->active_count; r++)
            w->holds[f * nodes + (size_t)problem->active[r]] = 1;
    return banyan_routes_create(problem->topology, &w->routes, err);
}

/* The first round from this one on in which all links of the hop are free. */
static size_t find_free(const weaver *w, const banyan_hop *hop, size_t round)
{
    const int *links = w->flows->links + hop->first_link;
    uint64_t past = ((uint64_t)1 << round % 64) - 1;

    for (size_t word = round / 64;; word++, past = 0) {
        uint64_t taken = past;

        for (int i = 0; i < hop->link_count; i++)
            if (word < w->calendar[links[i]].words)
                taken |= w->calendar[links[i]].taken[word];
        if (~taken)
            return word * 64 + (size_t)__builtin_ctzll(~taken);
    }
}

static int take(weaver *w, const banyan_hop *hop, size_t round)
{
    for (int i = 0; i < hop->link_count; i++) {
        calendar *c = &w->calendar[w->flows->links[hop->first_link + (size_t)i]];

        if (round / 64 >= c->words) {
            size_t words = round / 64 + 1 + round / 128;
            uint64_t *taken = banyan_realloc(c->taken, words, sizeof *taken);

            if (!taken)
                return 0;
            memset(taken + c->words, 0, (words - c->words) * sizeof *taken);
            c->taken = taken;
            c->words = words;
        }
        c->taken[round / 64] |= (uint64_t)1 << round % 64;
    }
    return 1;
}

static int same_links(const banyan_flows *flows, const banyan_hop *a, const banyan_hop *b)
{
    return a->link_count == b->link_count &&
           memcmp(flows->links + a->first_link, flows->links + b->first_link,
                  (size_t)a->link_count * sizeof(int)) == 0;
}

/* The index of the hop's links as a route; -1 when the default route is the same. */
static banyan_status look_up_route(weaver *w, size_t hop_index, int *out, banyan_error *err)
{
    const banyan_hop *hop = &w->flows->hops[hop_index];
    const int *links = w->flows->links + hop->first_link, *usual;
    unsigned bucket = 0;
    int count;
    banyan_status status = banyan_routes_find(w->routes, hop->src, hop->dst, &usual, &count, err);

    *out = -1;
    if (status || (count == hop->link_count && memcmp(usual, links, (size_t)count * sizeof(int)) == 0))
        return status;
    for (int i = 0; i < hop->link_count; i++)
        bucket = bucket * 31 + (unsigned)links[i];
    bucket %= BUCKETS;
    for (int r = w->route_head[bucket]; r >= 0; r = w->route_next[r])
        if (same_links(w->flows, hop, &w->flows->hops[w->route_hop[r]])) {
            *out = r;
            return BANYAN_SUCCESS;
        }
    *out = banyan_builder_add_route(&w->builder, links, hop->link_count);
    if (*out >= 0) {
        w->route_hop[*out] = hop_index;
        w->route_next[*out] = w->route_head[bucket];
        w->route_head[bucket] = *out;
    }
    return BANYAN_SUCCESS;
}

/* The same; hops over single links, of which direct networks have nothing else, are looked up once a link. */
static banyan_status find_route(weaver *w, size_t hop_index, int *out, banyan_error *err)
{
    const banyan_hop *hop = &w->flows->hops[hop_index];
    int *known = hop->link_count == 1 ? &w->link_route[w->flows->links[hop->first_link]] : NULL;
    banyan_status status = BANYAN_SUCCESS;

    if (known && *known)
        *out = *known - 2;
    else
        status = look_up_route(w, hop_index, out, err);
    if (!status && known && *out >= -1)
        *known = *out + 2;
    return status;
}

/* The hop's round: its data is ready, its links are free, and a first arrival has a round of its own. */
static banyan_status place_hop(weaver *w, size_t f, size_t hop_index, int towards, banyan_error *err)
{
    const banyan_hop *hop = &w->flows->hops[hop_index];
    size_t nodes = (size_t)w->problem->topology->node_count;
    int *src_ready = &w->ready[f * nodes + (size_t)hop->src],
        *dst_ready = &w->ready[f * nodes + (size_t)hop->dst];
    unsigned char *holds = &w->holds[f * nodes + (size_t)hop->dst];
    int first = !*holds, round = *src_ready > w->earliest ? *src_ready : w->earliest, route;
    banyan_transfer t = {
        .src = hop->src, .dst = hop->dst, .first_piece = (int)f, .piece_count = 1, .flow = (int)f};
    banyan_status status = find_route(w, hop_index, &route, err);

    if (status)
        return status;
    if (towards && *holds == 2 && round < *dst_ready) /* a relay: after the arrival that began its sum */
        round = *dst_ready;
    round = (int)find_free(w, hop, (size_t)round);
    if (!take(w, hop, (size_t)round))
        return banyan_fail_memory(err);
    w->latest = round > w->latest ? round : w->latest;
    t.round = round;
    t.route = route;
    t.action = towards && !first ? BANYAN_ACTION_REDUCE : BANYAN_ACTION_COPY;
    w->placed[w->placed_count++] = t;
    if (first)
        *holds = 2;
    if (!towards || round + 1 > *dst_ready)
        *dst_ready = round + 1;
    return BANYAN_SUCCESS;
}

/* Which of the flow's hops belong to the stage: all, or those up in the first and those down in the
 * second. */
static void hops_of(const banyan_flow_tree *flow, int stage, size_t *begin, size_t *end)
{
    size_t all = (size_t)(flow->in_count + flow->out_count),
           turn = flow->is_later ? (size_t)flow->in_count : all;

    *begin = stage ? turn : 0;
    *end = stage ? all : turn;
}

/* All hops at the same position of every flow, then the next: flows advance side by side. */
static banyan_status place_stage(weaver *w, int stage, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int more = 1;

    for (size_t i = 0; !status && more; i++) {
        more = 0;
        for (size_t f = 0; !status && f < w->flows->flow_count; f++) {
            const banyan_flow_tree *flow = &w->flows->flows[f];
            size_t begin, end;

            hops_of(flow, stage, &begin, &end);
            if (begin + i >= end)
                continue;
            more = 1;
            status = place_hop(w, f, flow->first_hop + begin + i, begin + i < (size_t)flow->in_count, err);
        }
    }
    return status;
}

/* Hands the transfers over in the order of their rounds: they are many more than rounds, so these are
 * counted. */
static banyan_status hand_over(weaver *w, banyan_error *err)
{
    size_t *first = banyan_alloc((size_t)w->latest + 2, sizeof *first);
    size_t *order = banyan_alloc(w->placed_count, sizeof *order);
    banyan_status status = first && order ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (size_t i = 0; !status && i < w->placed_count; i++)
        first[w->placed[i].round + 1]++;
    for (int r = 0; !status && r < w->latest; r++)
        first[r + 1] += first[r];
    for (size_t i = 0; !status && i < w->placed_count; i++)
        order[first[w->placed[i].round]++] = i;
    for (size_t i = 0; !status && i < w->placed_count; i++)
        banyan_builder_add(&w->builder, w->placed[order[i]]);
    banyan_free(first);
    banyan_free(order);
    return status;
}

static banyan_status place_all(weaver *w, banyan_error *err)
{
    banyan_status status = place_stage(w, 0, err);
    int is_staged = 0;

    for (size_t f = 0; f < w->flows->flow_count; f++)
        is_staged |= w->flows->flows[f].is_later;
    if (status || !is_staged)
        return status;
    w->earliest = w->latest + 1;
    banyan_builder_set_barrier(&w->builder, w->earliest);
    return place_stage(w, 1, err);
}

/* Where a tree is light there must be more parts. */
static double count_parts(const double *weight, size_t count, double total)
{
    int64_t whole = WHOLE;
    double least = total;

    for (size_t i = 0; i < count; i++)
        least = weight[i] < least ? weight[i] : least;
    while (whole < LARGEST_WHOLE && least / total * (double)whole < MIN_PART)
        whole *= 2;
    return (double)whole;
}

/* Small whole weights where the shares are such, else parts of 2^20 or more. */
static banyan_status cut_by_weight(const banyan_flows *flows, banyan_builder *builder, banyan_error *err)
{
    size_t count = flows->flow_count;
    double *weight = banyan_alloc(count, sizeof *weight), total = 0, whole;
    int64_t *cut = banyan_alloc(count + 1, sizeof *cut), *part = banyan_alloc(count, sizeof *part);

    if (!weight || !cut || !part) {
        banyan_free(weight);
        banyan_free(cut);
        banyan_free(part);
        return banyan_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        total += weight[i] = flows->flows[i].weight;
    whole = count_parts(weight, count, total);
    if (!banyan_fraction_small_integers(weight, (int)count, 256, 1e-9, part))
        for (size_t i = 0; i < count; i++)
            part[i] = (int64_t)nearbyint(weight[i] / total * whole);
    for (size_t i = 0; i < count; i++)
        cut[i + 1] = cut[i] + (part[i] > 0 ? part[i] : 1);
    banyan_builder_cut(builder, cut[count], cut, (int)count);
    banyan_free(weight);
    banyan_free(cut);
    banyan_free(part);
    return BANYAN_SUCCESS;
}

/* Parts of ranks are equal, so that their weights must add up to the same: they do, as whole numbers. */
static banyan_status cut_by_rank(const banyan_flows *flows, banyan_builder *builder, banyan_error *err)
{
    size_t count = flows->flow_count;
    int64_t *cut = banyan_alloc(count + 1, sizeof *cut);

    if (!cut)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < count; i++)
        cut[i + 1] = cut[i] + (int64_t)flows->flows[i].weight;
    banyan_builder_cut(builder, cut[count], cut, (int)count);
    banyan_free(cut);
    return BANYAN_SUCCESS;
}

banyan_status banyan_flows_build(const banyan_flows *flows, const banyan_problem *problem,
                                 banyan_schedule **out, banyan_error *err)
{
    weaver w;
    banyan_status status, finished;

    *out = NULL;
    if (flows->failed)
        return banyan_fail_memory(err);
    status = weaver_init(&w, flows, problem, err);
    banyan_problem_begin(problem, &w.builder);
    if (!status && banyan_collective_parts(problem->collective, 2) > 1)
        status = cut_by_rank(flows, &w.builder, err);
    else if (!status)
        status = cut_by_weight(flows, &w.builder, err);
    if (!status)
        status = place_all(&w, err);
    if (!status)
        status = hand_over(&w, err);
    if (status)
        banyan_builder_fail(&w.builder, status, "%s", err ? err->text : "");
    finished = banyan_builder_finish(&w.builder, out, status ? NULL : err);
    weaver_fini(&w);
    return status ? status : finished;
}
