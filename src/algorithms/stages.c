/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/stages.c: the time of trees from the fullest link of each stage.
 *
 *     stage     0    1    2    3          Whole messages pass the stages one after the other: the sum of what
 *     slice 0   ==   =    ==   =          the fullest link of each takes. With K slices all stages are soon
 *     slice 1        ==   =    ==   =     under way at once, and together they take as long as the link that
 *     slice 2             ==   =    ==    is fullest in all: fullest + (sum - fullest) / K,
 *
 * and the latency of the deepest tree, up and down. A stage is a round where messages keep to these, so that
 * each has its links for itself. Where they do not, it is a level of the trees: what is as many hops from its
 * leaves is under way at the same time and shares. Behind switches the fluid model gives the same where trees
 * are even; on cables, where slices take turns, it is faster by a few per cent.
 *
 * Cost: the links of all hops. */
#include "algorithms/stages.h"

#include <math.h>

#include "core/alloc.h"
#include "schedule/walk.h"
#include "topology/routes.h"

typedef struct {
    double stage_s, total_s;
    int stage;
} link_load;

/* A node of a tree. */
typedef struct {
    int level;        /* hops until what comes last is there */
    double latency_s; /* from the root */
} place;

typedef struct {
    const banyan_schedule *schedule;
    const banyan_topology *topology;
    banyan_routes *routes;
    link_load *load;
    place *places; /* by flow and node */
    size_t *head;  /* by stage: its first transfer, plus 1 */
    size_t *next;  /* by transfer: another of its stage, plus 1 */
    int stage_count;
} stage_walk;

static banyan_status find_links(stage_walk *w, const banyan_transfer *t, const int **links, int *count,
                                banyan_error *err)
{
    const banyan_schedule *s = w->schedule;

    if (t->route < 0)
        return banyan_routes_find(w->routes, t->src, t->dst, links, count, err);
    *links = s->route_link + s->route_first[t->route];
    *count = s->route_first[t->route + 1] - s->route_first[t->route];
    return BANYAN_SUCCESS;
}

/* Puts transfers into their stages. Rounds ascend, so what reaches a node before it sends is seen before. */
static banyan_status sort(stage_walk *w, banyan_stage_kind kind, double *latency_s, banyan_error *err)
{
    const banyan_schedule *s = w->schedule;

    for (size_t i = 0; i < s->transfer_count; i++) {
        const banyan_transfer *t = &s->transfers[i];
        place *tree = w->places + (size_t)t->flow * (size_t)s->node_count;
        int level = tree[t->src].level, count;
        int stage = kind == BANYAN_STAGE_IS_ROUND || level > t->round ? t->round : level;
        const int *links;
        banyan_status status = find_links(w, t, &links, &count, err);

        if (status)
            return status;
        if (tree[t->dst].level <= level)
            tree[t->dst].level = level + 1;
        if (t->action == BANYAN_ACTION_COPY) {
            tree[t->dst].latency_s = tree[t->src].latency_s;
            for (int k = 0; k < count; k++)
                tree[t->dst].latency_s += w->topology->links[links[k]].latency_s;
            *latency_s = fmax(*latency_s, tree[t->dst].latency_s);
        }
        w->next[i] = w->head[stage];
        w->head[stage] = i + 1;
    }
    return BANYAN_SUCCESS;
}

/* Adds a transfer to what its links carry, in its stage and in all. */
static banyan_status carry(stage_walk *w, const banyan_transfer *t, int stage, double bytes,
                           double *fullest_s, double *fullest_of_all_s, banyan_error *err)
{
    double part = bytes * banyan_schedule_share(w->schedule, t->first_piece, t->piece_count);
    const int *links;
    int count;
    banyan_status status = find_links(w, t, &links, &count, err);

    for (int k = 0; !status && k < count; k++) {
        link_load *load = &w->load[links[k]];
        double seconds = part / w->topology->links[links[k]].bytes_per_s;

        if (load->stage != stage + 1)
            load->stage_s = 0;
        load->stage = stage + 1;
        load->stage_s += seconds;
        load->total_s += seconds;
        *fullest_s = fmax(*fullest_s, load->stage_s);
        *fullest_of_all_s = fmax(*fullest_of_all_s, load->total_s);
    }
    return status;
}

static banyan_status add_up(stage_walk *w, double bytes, int slices, double *seconds, banyan_error *err)
{
    double sum_s = 0, fullest_of_all_s = 0;

    for (int stage = 0; stage < w->stage_count; stage++) {
        double fullest_s = 0;

        for (size_t i = w->head[stage]; i; i = w->next[i - 1]) {
            banyan_status status =
                carry(w, &w->schedule->transfers[i - 1], stage, bytes, &fullest_s, &fullest_of_all_s, err);

            if (status)
                return status;
        }
        sum_s += fullest_s;
    }
    *seconds = fullest_of_all_s + (sum_s - fullest_of_all_s) / slices;
    return BANYAN_SUCCESS;
}

banyan_status banyan_stages_seconds(const banyan_schedule *schedule, const banyan_topology *topology,
                                    banyan_stage_kind kind, double bytes, int slices, double *seconds,
                                    banyan_error *err)
{
    size_t places = (size_t)schedule->flow_count * (size_t)schedule->node_count;
    stage_walk w = {.schedule = schedule, .topology = topology, .stage_count = schedule->round_count};
    double latency_s = 0, carried_s = 0;
    banyan_status status = banyan_routes_create(topology, &w.routes, err);

    w.load = banyan_alloc((size_t)topology->link_count, sizeof *w.load);
    w.places = banyan_alloc(places, sizeof *w.places);
    w.head = banyan_alloc((size_t)schedule->round_count, sizeof *w.head);
    w.next = banyan_alloc(schedule->transfer_count, sizeof *w.next);
    if (!status && (!w.load || !w.places || !w.head || !w.next))
        status = banyan_fail_memory(err);
    if (!status)
        status = sort(&w, kind, &latency_s, err);
    if (!status)
        status = add_up(&w, bytes, slices, &carried_s, err);
    if (!status)
        *seconds = carried_s + 2 * latency_s;
    banyan_free(w.load);
    banyan_free(w.places);
    banyan_free(w.head);
    banyan_free(w.next);
    banyan_routes_destroy(w.routes);
    return status;
}

/* Whole messages on their way. */
typedef struct {
    stage_walk stages;
    double bytes;
    double *free_s;  /* by link */
    double *ready_s; /* by flow and node */
    double *end_s;   /* by transfer */
    double last_s;
} message_walk;

/* A node's copy of a flow. */
static double *ready_of(const message_walk *w, int flow, int node)
{
    return &w->ready_s[(size_t)flow * (size_t)w->stages.schedule->node_count + (size_t)node];
}

static banyan_status send(void *context, size_t transfer, banyan_error *err)
{
    message_walk *w = context;
    const banyan_transfer *t = &w->stages.schedule->transfers[transfer];
    const banyan_link *all = w->stages.topology->links;
    double part = w->bytes * banyan_schedule_share(w->stages.schedule, t->first_piece, t->piece_count);
    double begin_s = *ready_of(w, t->flow, t->src), slowest_s = 0, latency_s = 0;
    const int *links;
    int count;
    banyan_status status = find_links(&w->stages, t, &links, &count, err);

    if (status)
        return status;
    for (int k = 0; k < count; k++) {
        begin_s = fmax(begin_s, w->free_s[links[k]]);
        latency_s += all[links[k]].latency_s;
    }
    for (int k = 0; k < count; k++) {
        double seconds = part / all[links[k]].bytes_per_s;

        w->free_s[links[k]] = begin_s + seconds;
        slowest_s = fmax(slowest_s, seconds);
    }
    w->end_s[transfer] = begin_s + slowest_s + latency_s;
    return BANYAN_SUCCESS;
}

static void apply(void *context, size_t transfer)
{
    message_walk *w = context;
    const banyan_transfer *t = &w->stages.schedule->transfers[transfer];
    double *ready_s = ready_of(w, t->flow, t->dst);

    *ready_s = fmax(*ready_s, w->end_s[transfer]);
    w->last_s = fmax(w->last_s, w->end_s[transfer]);
}

banyan_status banyan_stages_walk(const banyan_schedule *schedule, const banyan_topology *topology,
                                 double bytes, double *seconds, banyan_error *err)
{
    static const banyan_walk_steps steps = {send, apply};
    size_t places = (size_t)schedule->flow_count * (size_t)schedule->node_count;
    message_walk w = {.stages = {.schedule = schedule, .topology = topology}, .bytes = bytes};
    banyan_status status = banyan_routes_create(topology, &w.stages.routes, err);

    w.free_s = banyan_alloc((size_t)topology->link_count, sizeof *w.free_s);
    w.ready_s = banyan_alloc(places, sizeof *w.ready_s);
    w.end_s = banyan_alloc(schedule->transfer_count, sizeof *w.end_s);
    if (!status && (!w.free_s || !w.ready_s || !w.end_s))
        status = banyan_fail_memory(err);
    if (!status)
        status = banyan_schedule_walk(schedule, &steps, &w, err);
    if (!status)
        *seconds = w.last_s;
    banyan_free(w.free_s);
    banyan_free(w.ready_s);
    banyan_free(w.end_s);
    banyan_routes_destroy(w.stages.routes);
    return status;
}
