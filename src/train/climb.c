/* SPDX-License-Identifier: Apache-2.0 */
/* train/climb.c: local search: small changes to a grouping, kept while it gets no worse.
 *
 *     shift  |aaa|bbb|  ->  |aa|abbb|        split  |aaaa|  ->  |aa|aa|
 *     join   |aa|bb|    ->  |aabb|           level  0 <-> 1, ...
 *
 * The traffic before each group is remembered, so a change costs only what comes after it, and is given up
 * as soon as what is left cannot be in time. When nothing helps for a while, a few changes are made blindly
 * from the best and the climb begins anew. The same seed is used always: equal problems get equal
 * groupings. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "train/search.h"

typedef struct {
    banyan_search *search;
    banyan_grouping_cuts here, trial;
    double here_s;
    banyan_traffic *before; /* by group of here; one more than there are groups */
    double gain;
    banyan_random random;
    long steps;
} climb;

static int begin_of(const banyan_grouping_cuts *cuts, int g)
{
    return g ? cuts->cuts[g - 1].end : 0;
}

static void insert_cut(banyan_grouping_cuts *cuts, int g, banyan_cut cut)
{
    memmove(&cuts->cuts[g + 1], &cuts->cuts[g], (size_t)(cuts->count - g) * sizeof *cuts->cuts);
    cuts->cuts[g] = cut;
    cuts->count++;
}

static void remove_cut(banyan_grouping_cuts *cuts, int g)
{
    cuts->count--;
    memmove(&cuts->cuts[g], &cuts->cuts[g + 1], (size_t)(cuts->count - g) * sizeof *cuts->cuts);
}

static int shift(climb *c, banyan_grouping_cuts *cuts, int g)
{
    int by = 1 << banyan_random_below(&c->random, 7), end = cuts->cuts[g].end;

    end += banyan_random_below(&c->random, 2) ? by : -by;
    if (g + 1 == cuts->count || end <= begin_of(cuts, g) || end >= cuts->cuts[g + 1].end)
        return 0;
    cuts->cuts[g].end = end;
    return 1;
}

static int split(climb *c, banyan_grouping_cuts *cuts, int g)
{
    int begin = begin_of(cuts, g), length = cuts->cuts[g].end - begin;
    banyan_cut cut = {0, banyan_random_below(&c->random, c->search->streams), 0};

    if (length < 2)
        return 0;
    cut.end = begin + 1 + banyan_random_below(&c->random, length - 1);
    insert_cut(cuts, g, cut);
    return 1;
}

/* One random change; the first group that it touches, or -1 where the change is not possible. */
static int change(climb *c, banyan_grouping_cuts *cuts)
{
    int g = banyan_random_below(&c->random, cuts->count), level;

    switch (banyan_random_below(&c->random, c->search->streams > 1 ? 5 : 4)) {
    case 0:
    case 1:
        return shift(c, cuts, g) ? g : -1;
    case 2:
        return split(c, cuts, g) ? g : -1;
    case 3:
        if (g + 1 == cuts->count)
            return -1;
        remove_cut(cuts, g);
        return g;
    default:
        level = banyan_random_below(&c->random, c->search->streams);
        if (level == cuts->cuts[g].level)
            return -1;
        cuts->cuts[g].level = level;
        return g;
    }
}

static double left_over(const banyan_traffic *traffic)
{
    double work_s = 0;

    for (int i = 0; i < traffic->count; i++)
        work_s += traffic->flights[i].work_s;
    return work_s;
}

/* When the trial ends, from its group g on; infinite as soon as that is later than limit_s for certain. */
static double finish(climb *c, const banyan_grouping_cuts *cuts, int g, double limit_s, banyan_traffic *keep)
{
    const banyan_grouping_units *units = c->search->units;
    const banyan_cost *cost = c->search->cost;
    banyan_traffic traffic = c->before[g];
    double whole = units->bytes_before[units->count];

    for (; g < cuts->count; g++) {
        int end = cuts->cuts[g].end;
        double rest_s = (whole - units->bytes_before[end]) * cost->least_s_per_byte;

        banyan_traffic_send_units(&traffic, cost, units, begin_of(cuts, g), end, cuts->cuts[g].level);
        c->steps--;
        if (keep)
            keep[g + 1] = traffic;
        else if (traffic.now_s + (left_over(&traffic) + rest_s) / c->gain > limit_s)
            return INFINITY;
    }
    return banyan_traffic_end(&traffic, cost);
}

/* Makes the trial what we stand on; it differs from group g on. */
static void move_to_trial(climb *c, int g)
{
    banyan_grouping_cuts_copy(&c->here, &c->trial);
    c->here_s = finish(c, &c->here, g, INFINITY, c->before);
    if (c->here_s < c->search->best_s) {
        c->search->best_s = c->here_s;
        banyan_grouping_cuts_copy(&c->search->best, &c->here);
    }
}

static void jump(climb *c)
{
    int changes = 2 + banyan_random_below(&c->random, 4);

    banyan_grouping_cuts_copy(&c->trial, &c->search->best);
    while (changes--)
        change(c, &c->trial);
    move_to_trial(c, 0);
}

static void walk(climb *c)
{
    int patience = 0;

    banyan_grouping_cuts_copy(&c->trial, &c->search->best);
    move_to_trial(c, 0);
    while (c->steps > 0 && !banyan_search_is_done(c->search)) {
        double end_s;
        int g;

        banyan_grouping_cuts_copy(&c->trial, &c->here);
        c->steps -= 1 + c->here.count / 64; /* for the copy */
        g = change(c, &c->trial);
        if (g < 0)
            continue;
        end_s = finish(c, &c->trial, g, c->here_s, NULL);
        patience = end_s < c->here_s ? 0 : patience + 1;
        if (end_s <= c->here_s)
            move_to_trial(c, g);
        if (patience > 200 + 8 * c->here.count) {
            jump(c);
            patience = 0;
        }
    }
}

banyan_status banyan_search_climb(banyan_search *search, long steps, banyan_error *err)
{
    climb c = {.search = search,
               .gain = banyan_cost_gain(search->cost, search->streams),
               .random = {20210510},
               .steps = steps};
    banyan_status status = banyan_grouping_cuts_init(&c.here, search->units, err);

    if (!status)
        status = banyan_grouping_cuts_init(&c.trial, search->units, err);
    c.before = banyan_alloc((size_t)search->units->count + 1, sizeof *c.before);
    if (!status && !c.before)
        status = banyan_fail_memory(err);
    if (!status)
        walk(&c);
    banyan_free(c.before);
    banyan_grouping_cuts_fini(&c.here);
    banyan_grouping_cuts_fini(&c.trial);
    return status;
}
