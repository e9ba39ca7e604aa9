/* SPDX-License-Identifier: Apache-2.0 */
/* train/labels.c: dynamic programming over what is in flight.
 *
 * A label at place j says: everything before j was sent, the last group just started, and this is in flight.
 * From it every next group (up to each later place, at each level) gives a label there. A label is dropped if
 * even the best joint rate from here on cannot beat the best grouping known: that alone is exact, and is what
 * small problems get. Larger ones also drop a label if
 *
 *   - another one at the same place, left to itself until the same moment, has no more in flight and no more
 *     left of any. That is exact but for rare cases: a level says how many may be in flight, not when to
 *     start, so the better off may start the next group earlier than is good, and has no way to wait. Seen
 *     only for three or more streams, or where two together move less than one; it cost 0.1 % at the most;
 *   - it is not among the most promising ones of its place. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "train/search.h"

#define MAX_LABELS 400000 /* some 100 MB; then the search ends with what it has */

typedef struct {
    banyan_traffic traffic;
    double score_s; /* cannot end before */
    int place, level;
    int parent, next; /* -1: none; next is of the same place */
} label;

typedef struct {
    banyan_search *search;
    const int *ends;
    int count, width;
    double gain;
    int *heads;     /* by place; 0 is the beginning, place p the end ends[p - 1] */
    double *rest_s; /* by place: what is still to send cannot end before */
    label *labels;
    size_t label_count, capacity;
    int best; /* a label at the last place, or -1 */
} dynamics;

static int end_of(const dynamics *in, int place)
{
    return place ? in->ends[place - 1] : 0;
}

static int by_work(const banyan_flight *a, const banyan_flight *b)
{
    return a->work_s != b->work_s ? a->work_s > b->work_s : a->wire_s > b->wire_s;
}

static void sort_flights(banyan_traffic *traffic)
{
    for (int i = 1; i < traffic->count; i++)
        for (int j = i; j > 0 && by_work(&traffic->flights[j], &traffic->flights[j - 1]); j--) {
            banyan_flight moved = traffic->flights[j];

            traffic->flights[j] = traffic->flights[j - 1];
            traffic->flights[j - 1] = moved;
        }
}

static int dominates(const dynamics *in, const banyan_traffic *a, const banyan_traffic *b)
{
    banyan_traffic left = *a, right = *b;

    if (a->now_s > b->now_s)
        return 0;
    banyan_traffic_wait(&left, in->search->cost, b->now_s, BANYAN_MAX_STREAMS, NULL);
    if (left.count > right.count)
        return 0;
    sort_flights(&left);
    sort_flights(&right);
    for (int i = 0; i < left.count; i++) {
        const banyan_flight *l = &left.flights[i], *r = &right.flights[i];

        if (l->work_s > r->work_s || fmax(l->wire_s, b->now_s) > fmax(r->wire_s, b->now_s))
            return 0;
    }
    return 1;
}

static double score(const dynamics *in, const banyan_traffic *traffic, int place)
{
    const banyan_grouping_units *units = in->search->units;
    double work_s = (units->bytes_before[units->count] - units->bytes_before[end_of(in, place)]) *
                    in->search->cost->least_s_per_byte;

    if (place == in->count)
        return banyan_traffic_end(traffic, in->search->cost);
    for (int i = 0; i < traffic->count; i++)
        work_s += traffic->flights[i].work_s;
    return fmax(in->rest_s[place], traffic->now_s + work_s / in->gain);
}

/* Unlinks what the newcomer dominates; 0 if the newcomer itself is dominated. */
static int make_way(dynamics *in, int place, const banyan_traffic *newcomer)
{
    for (int i = in->heads[place]; i >= 0; i = in->labels[i].next)
        if (dominates(in, &in->labels[i].traffic, newcomer))
            return 0;
    for (int *link = &in->heads[place]; *link >= 0;) {
        label *old = &in->labels[*link];

        if (dominates(in, newcomer, &old->traffic))
            *link = old->next;
        else
            link = &old->next;
    }
    return 1;
}

static void drop_worst(dynamics *in, int place)
{
    int *worst = &in->heads[place], held = 0;

    for (int *link = &in->heads[place]; *link >= 0; link = &in->labels[*link].next, held++)
        if (in->labels[*link].score_s > in->labels[*worst].score_s)
            worst = link;
    if (held > in->width)
        *worst = in->labels[*worst].next;
}

static banyan_status add(dynamics *in, const label *made, banyan_error *err)
{
    int place = made->place;
    void *labels = in->labels;

    if (place == in->count) { /* complete, and better than all before */
        in->search->best_s = made->score_s;
        in->heads[place] = -1;
    } else if (in->width && !make_way(in, place, &made->traffic)) {
        return BANYAN_SUCCESS;
    }
    if (!banyan_grow(&labels, in->label_count, &in->capacity, sizeof *in->labels))
        return banyan_fail_memory(err);
    in->labels = labels;
    in->labels[in->label_count] = *made;
    in->labels[in->label_count].next = in->heads[place];
    in->heads[place] = (int)in->label_count++;
    if (place == in->count)
        in->best = in->heads[place];
    else if (in->width)
        drop_worst(in, place);
    return BANYAN_SUCCESS;
}

static banyan_status expand(dynamics *in, int place, int parent, banyan_error *err)
{
    for (int to = in->count; to > place; to--)
        for (int level = 0; level < in->search->streams; level++) {
            label made = {
                .traffic = in->labels[parent].traffic, .place = to, .level = level, .parent = parent};
            banyan_status status;

            if (level > made.traffic.count)
                break; /* more than are in flight: the same as the level below */
            banyan_traffic_send_units(&made.traffic, in->search->cost, in->search->units, end_of(in, place),
                                      end_of(in, to), level);
            made.score_s = score(in, &made.traffic, to);
            if (made.score_s >= in->search->best_s || in->label_count >= MAX_LABELS)
                continue;
            status = add(in, &made, err);
            if (status)
                return status;
        }
    return BANYAN_SUCCESS;
}

static void find_rests(dynamics *in)
{
    const banyan_grouping_units *units = in->search->units;
    const banyan_cost *cost = in->search->cost;
    double whole = units->bytes_before[units->count], rest_s = 0;

    for (int place = in->count - 1; place >= 0; place--) {
        for (int i = end_of(in, place); i < end_of(in, place + 1); i++)
            rest_s = fmax(rest_s, units->ready_s[i] + cost->start_s +
                                      (whole - units->bytes_before[i]) * cost->least_s_per_byte / in->gain);
        in->rest_s[place] = rest_s;
    }
}

static void write_best(dynamics *in)
{
    banyan_grouping_cuts *out = &in->search->best;
    int groups = 0;

    for (int i = in->best; in->labels[i].parent >= 0; i = in->labels[i].parent)
        groups++;
    out->count = groups;
    for (int i = in->best; in->labels[i].parent >= 0; i = in->labels[i].parent)
        out->cuts[--groups] = (banyan_cut){end_of(in, in->labels[i].place), in->labels[i].level, 0};
}

static banyan_status run(dynamics *in, banyan_error *err)
{
    label start = {.parent = -1};
    banyan_status status = BANYAN_SUCCESS;

    for (int place = 0; place <= in->count; place++)
        in->heads[place] = -1;
    find_rests(in);
    status = add(in, &start, err);
    for (int place = 0; !status && place < in->count; place++)
        for (int i = in->heads[place]; !status && i >= 0; i = in->labels[i].next)
            if (in->labels[i].score_s < in->search->best_s)
                status = expand(in, place, i, err);
    if (!status && in->best >= 0)
        write_best(in);
    return status;
}

banyan_status banyan_search_labels(banyan_search *search, const int *ends, int count, int width,
                                   banyan_error *err)
{
    dynamics in = {.search = search,
                   .ends = ends,
                   .count = count,
                   .width = width,
                   .gain = banyan_cost_gain(search->cost, search->streams),
                   .best = -1};
    banyan_status status;

    in.heads = banyan_alloc((size_t)count + 1, sizeof *in.heads);
    in.rest_s = banyan_alloc((size_t)count + 1, sizeof *in.rest_s);
    status = in.heads && in.rest_s ? run(&in, err) : banyan_fail_memory(err);
    banyan_free(in.heads);
    banyan_free(in.rest_s);
    banyan_free(in.labels);
    return status;
}
