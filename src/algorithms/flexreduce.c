/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flexreduce.c: reduce-scatter up an uneven tree, each rank with a share that its place deserves.
 *
 *          root           twelve items; level 0: in each host,     level 1: between hosts,
 *        /      \         equal shares                             halves of these
 *      h0        h1
 *     /  \     / | \      0 [0,6)   1 [6,12)                       0 [2,5)   1 [7,10)
 *    0    1   2  3  4     2 [0,4)   3 [4,8)   4 [8,12)             2 [0,2)   3 [5,7)   4 [10,12)
 *
 *     Rank 0 sends items 0 and 1 to 2, and adds what 2 has of 2 and 3 and what 3 has of 4: as much leaves
 *     each host as enters it, half of the vector.
 *
 * Which share of which level goes to whom is in flexreduce_plan.c. Here each such call becomes transfers: who
 * holds a part of a new share, one rank below each child, sends it to the share's owner, either
 *
 *     directly     in turns, each child first to the next one, then to the one after: least latency
 *     in a chain   from child to child, adding up, to the owner: only neighbours among the children talk,
 *                  which spares links that many children share, such as those of racks
 *     in a tree    binomial, the owner's child its root: fewer hops in a row than a chain, and fewer of them
 *                  over shared links than directly
 *
 * whichever takes less time on the routes of the network, level by level. All-gather takes the same way back.
 * Where links of a level differ, slower ones may get smaller shares (flexreduce_shares.c): that plan is taken
 * if its busiest link has less to do.
 * Where a new share leaves the old one, its owner holds a stale part there, which is overwritten first.
 *
 * Cost: 2 sum over levels of max (m-1)(a + n/(m w)), m degree and w speed; no branch sends more than (m-1)/m
 * n over the links of its children, which is the least possible for each.
 *
 * Paper: J. Lee et al., FlexReduce: Flexible All-reduce for Distributed Deep Learning on Asymmetric Network
 * Topology, 2020. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/flexreduce_plan.h"
#include "core/alloc.h"
#include "topology/routes.h"

#define LARGE_BYTES 67108864.0

typedef enum { DIRECT, CHAIN, TREE, FORM_COUNT } call_form;

static const char *const form_names[FORM_COUNT] = {"direct", "chain", "tree"};

typedef struct {
    banyan_flexreduce_call_plan plan;
    int64_t *cut;
    int cut_count;
    call_form *form;  /* of each level */
    int *level_round; /* the first round of each level, and after the last one that of the all-gather */
    banyan_routes *routes;
    double *load; /* of each link, in seconds a byte of vector */
} work;

static void work_fini(work *w)
{
    banyan_flexreduce_call_plan_fini(&w->plan);
    banyan_routes_destroy(w->routes);
    banyan_free(w->cut);
    banyan_free(w->form);
    banyan_free(w->level_round);
    banyan_free(w->load);
}

static int compare_cuts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Pieces are what lies between any two ends of calls. */
static banyan_status find_cuts(work *w, banyan_error *err)
{
    const banyan_flexreduce_call_plan *plan = &w->plan;
    size_t count = 2 * plan->call_count + 2, kept = 1;

    w->cut = banyan_alloc(count, sizeof *w->cut);
    if (!w->cut)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < plan->call_count; i++) {
        w->cut[2 * i] = plan->calls[i].part.begin;
        w->cut[2 * i + 1] = plan->calls[i].part.end;
    }
    w->cut[count - 1] = plan->whole;
    qsort(w->cut, count, sizeof *w->cut, compare_cuts);
    for (size_t i = 1; i < count; i++)
        if (w->cut[i] > w->cut[kept - 1])
            w->cut[kept++] = w->cut[i];
    w->cut_count = (int)kept - 1;
    return BANYAN_SUCCESS;
}

static int piece_at(const work *w, int64_t where)
{
    const int64_t *found = bsearch(&where, w->cut, (size_t)w->cut_count + 1, sizeof *w->cut, compare_cuts);

    return (int)(found - w->cut);
}

/* The reduces of a call, one by one: in its turn, from whom to whom, and whether it overwrites. Directly a
 * child that is `turn` before the owner's sends to the owner; in a chain the children after the owner's
 * begin; in a tree a child that is an odd multiple of 2^t after the owner's sends in turn t to the one 2^t
 * before it. The part of the owner's own child, where the owner has not got it itself, goes first directly,
 * else last. */
typedef struct {
    int turn, from, to, overwrites;
} call_hop;

/* Turns of a binomial tree over that many children. */
static int count_turns(int count)
{
    int turns = 0;

    while (1 << turns < count)
        turns++;
    return turns;
}

static call_hop find_hop(const banyan_flexreduce_call_plan *plan, const banyan_flexreduce_call *call,
                         call_form form, int i)
{
    const int *holder = plan->holders + call->first_holder;
    int count = call->holder_count, child = call->owner_child;
    int is_stale = !call->owner_holds;

    if (form == DIRECT) {
        int turn = i + !is_stale;

        return (call_hop){i, holder[(child + count - turn) % count], call->owner, turn == 0};
    }
    if (i == count - 1)
        return (call_hop){form == TREE ? count_turns(count) : i, holder[child], call->owner, 1};
    if (form == TREE) {
        int turn = __builtin_ctz((unsigned)(i + 1));

        return (call_hop){turn, holder[(child + i + 1) % count],
                          holder[(child + i + 1 - (1 << turn)) % count], 0};
    }
    return (call_hop){i, holder[(child + 1 + i) % count], holder[(child + 2 + i) % count], 0};
}

static int count_hops(const banyan_flexreduce_call *call)
{
    return call->holder_count - call->owner_holds;
}

/* Puts a hop's traffic on its links. */
static banyan_status load_one_way(work *w, const banyan_flexreduce_call *call, int from, int to,
                                  double *latency_s, banyan_error *err)
{
    const banyan_problem *problem = w->plan.problem;
    const banyan_link *links = problem->topology->links;
    double share = (double)(call->part.end - call->part.begin) / (double)w->plan.whole, sum = 0;
    const int *route;
    int count;
    banyan_status status =
        banyan_routes_find(w->routes, problem->active[from], problem->active[to], &route, &count, err);

    if (status)
        return status;
    for (int i = 0; i < count; i++) {
        w->load[route[i]] += share / links[route[i]].bytes_per_s;
        sum += links[route[i]].latency_s;
    }
    *latency_s = fmax(*latency_s, sum);
    return BANYAN_SUCCESS;
}

static banyan_status load_hop(work *w, const banyan_flexreduce_call *call, const call_hop *hop, int both_ways,
                              double *latency_s, banyan_error *err)
{
    banyan_status status = load_one_way(w, call, hop->from, hop->to, latency_s, err);

    if (!status && both_ways)
        status = load_one_way(w, call, hop->to, hop->from, latency_s, err);
    return status;
}

static double find_busiest(const work *w)
{
    double busiest = 0;

    for (int i = 0; i < w->plan.problem->topology->link_count; i++)
        busiest = fmax(busiest, w->load[i]);
    return busiest;
}

/* Seconds that a level takes in a form: its busiest link, and one hop after the other in a chain or tree.
 * Shares by bandwidth count on the all-gather at the same time. */
static banyan_status time_level(work *w, int level, call_form form, double *seconds, banyan_error *err)
{
    const banyan_problem *problem = w->plan.problem;
    double bytes = problem->bytes ? (double)problem->bytes : LARGE_BYTES, latency_s = 0;
    int longest = 0;

    memset(w->load, 0, (size_t)problem->topology->link_count * sizeof *w->load);
    for (size_t i = 0; i < w->plan.call_count; i++) {
        const banyan_flexreduce_call *call = &w->plan.calls[i];
        int hops = call->level == level ? count_hops(call) : 0;

        for (int k = 0; k < hops; k++) {
            call_hop hop = find_hop(&w->plan, call, form, k);
            banyan_status status = load_hop(w, call, &hop, w->plan.is_weighted, &latency_s, err);

            if (status)
                return status;
        }
        if (hops > longest)
            longest = hops;
    }
    if (form == TREE)
        longest = count_turns(longest + 1);
    *seconds = bytes * find_busiest(w) + latency_s * (form == DIRECT ? 1 : longest);
    return BANYAN_SUCCESS;
}

/* The fastest form of a level; of equals the first. */
static banyan_status choose_form(work *w, int level, banyan_error *err)
{
    double best_s = INFINITY;

    for (int form = 0; form < FORM_COUNT; form++) {
        double seconds;
        banyan_status status = time_level(w, level, (call_form)form, &seconds, err);

        if (status)
            return status;
        if (seconds < best_s * (1 - 1e-9)) {
            best_s = seconds;
            w->form[level] = (call_form)form;
        }
    }
    return BANYAN_SUCCESS;
}

static banyan_status choose_forms(work *w, banyan_error *err)
{
    const char *text = banyan_problem_parameter(w->plan.problem, "calls", "auto");
    banyan_status status = BANYAN_SUCCESS;
    int form = 0;

    if (!strcmp(text, "auto")) {
        for (int level = 0; !status && level < w->plan.level_count; level++)
            status = choose_form(w, level, err);
        return status;
    }
    while (form < FORM_COUNT && strcmp(text, form_names[form]) != 0)
        form++;
    if (form == FORM_COUNT)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "option 'calls' must be auto, direct, chain or tree, not '%s'", text);
    for (int level = 0; level < w->plan.level_count; level++)
        w->form[level] = (call_form)form;
    return BANYAN_SUCCESS;
}

/* A level takes as many rounds as its longest call has turns. */
static void find_rounds(work *w)
{
    for (size_t i = 0; i < w->plan.call_count; i++) {
        const banyan_flexreduce_call *call = &w->plan.calls[i];

        for (int k = 0; k < count_hops(call); k++) {
            int turns = find_hop(&w->plan, call, w->form[call->level], k).turn + 1;

            if (turns > w->level_round[call->level + 1])
                w->level_round[call->level + 1] = turns;
        }
    }
    for (int level = 0; level < w->plan.level_count; level++)
        w->level_round[level + 1] += w->level_round[level];
}

/* Every hop of the reduce, and its copy back. */
static void append_call(const work *w, banyan_builder *builder, const banyan_flexreduce_call *call)
{
    const int *active = w->plan.problem->active;
    int first = piece_at(w, call->part.begin), count = piece_at(w, call->part.end) - first;
    int last = 2 * w->level_round[w->plan.level_count] - 1;

    for (int i = 0; i < count_hops(call); i++) {
        call_hop hop = find_hop(&w->plan, call, w->form[call->level], i);
        int round = w->level_round[call->level] + hop.turn;

        if (hop.overwrites)
            banyan_builder_copy(builder, round, active[hop.from], active[hop.to], first, count, call->owner);
        else
            banyan_builder_reduce(builder, round, active[hop.from], active[hop.to], first, count,
                                  call->owner);
        banyan_builder_copy(builder, last - round, active[hop.to], active[hop.from], first, count,
                            call->owner);
    }
}

static banyan_status work_init(work *w, const banyan_problem *problem, int by_bandwidth, banyan_error *err)
{
    banyan_status status = banyan_flexreduce_call_plan_init(&w->plan, problem, by_bandwidth, err);

    if (!status)
        status = find_cuts(w, err);
    if (!status)
        status = banyan_routes_create(problem->topology, &w->routes, err);
    if (status)
        return status;
    w->form = banyan_alloc((size_t)w->plan.level_count, sizeof *w->form);
    w->level_round = banyan_alloc((size_t)w->plan.level_count + 1, sizeof *w->level_round);
    w->load = banyan_alloc((size_t)problem->topology->link_count, sizeof *w->load);
    if (!w->form || !w->level_round || !w->load)
        return banyan_fail_memory(err);
    status = choose_forms(w, err);
    if (!status)
        find_rounds(w);
    return status;
}

/* Seconds a byte of vector that the busiest link needs in all, there and back. */
static banyan_status find_limit(work *w, double *seconds, banyan_error *err)
{
    double latency_s = 0;

    memset(w->load, 0, (size_t)w->plan.problem->topology->link_count * sizeof *w->load);
    for (size_t i = 0; i < w->plan.call_count; i++) {
        const banyan_flexreduce_call *call = &w->plan.calls[i];

        for (int k = 0; k < count_hops(call); k++) {
            call_hop hop = find_hop(&w->plan, call, w->form[call->level], k);
            banyan_status status = load_hop(w, call, &hop, 1, &latency_s, err);

            if (status)
                return status;
        }
    }
    *seconds = find_busiest(w);
    return BANYAN_SUCCESS;
}

/* The paper's plan in place of the one by bandwidth, unless that has a lower limit. */
static banyan_status compare_with_degree(work *w, banyan_error *err)
{
    double weighted_s = 0, degree_s = 0;
    work other = {0};
    banyan_status status = work_init(&other, w->plan.problem, 0, err);

    if (!status)
        status = find_limit(w, &weighted_s, err);
    if (!status)
        status = find_limit(&other, &degree_s, err);
    if (!status && weighted_s >= degree_s * (1 - 1e-9)) {
        work swap = *w;

        *w = other;
        other = swap;
    }
    work_fini(&other);
    return status;
}

static banyan_status work_init_by_option(work *w, const banyan_problem *problem, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "shares", "auto");
    int is_auto = !strcmp(text, "auto");
    banyan_status status;

    if (!is_auto && strcmp(text, "degree") && strcmp(text, "bandwidth"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "option 'shares' must be auto, degree or bandwidth, not '%s'", text);
    status = work_init(w, problem, strcmp(text, "degree") != 0, err);
    if (!status && is_auto && w->plan.is_weighted)
        status = compare_with_degree(w, err);
    return status;
}

static banyan_status build(const banyan_problem *problem, banyan_schedule **out, banyan_error *err)
{
    banyan_builder builder;
    work w = {.plan = {.tree = {.open_node = -1}}};
    banyan_status status = work_init_by_option(&w, problem, err);

    if (!status) {
        banyan_problem_begin(problem, &builder);
        banyan_builder_cut(&builder, w.plan.whole, w.cut, w.cut_count);
        for (size_t i = 0; i < w.plan.call_count; i++)
            append_call(&w, &builder, &w.plan.calls[i]);
        status = banyan_builder_finish(&builder, out, err);
    }
    work_fini(&w);
    return status;
}

static const banyan_algorithm_option options[] = {
    BANYAN_TREE_OPTION,
    {"calls", "auto|direct|chain|tree",
     "how a part gets to its owner (default auto: what the routes make faster)"},
    {"shares", "auto|degree|bandwidth",
     "equal parts for the children of a branch, or smaller ones for slower links (default auto: what leaves "
     "the busiest link less to do)"},
    {NULL, NULL, NULL},
};

static const banyan_parameter variants[] = {{"shares", "degree"}, {"shares", "bandwidth"}, {NULL, NULL}};

const banyan_algorithm banyan_algorithm_flexreduce = {
    .name = "flexreduce",
    .summary = "reduce-scatter up an uneven tree of hosts and switches, with shares of different size",
    .paper =
        "Lee et al.: FlexReduce: Flexible All-reduce for Distributed Deep Learning on Asymmetric Network "
        "Topology, 2020",
    .cost = "2 sum over levels of (m-1)(a + n b/m), m the degree and b of the level's links",
    .collectives = BANYAN_CAN(ALLREDUCE),
    .options = options,
    .variants = variants,
    .build = build,
};
