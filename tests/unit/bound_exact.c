/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/bound_exact.c: bounds of small random networks, compared with a reference that knows nothing
 * of the solvers.
 *
 * Cheapest trees come from a table over all sets of active workers and all places (Dreyfus and Wagner;
 * only nodes that add, or copy, may branch), rates from a linear program over such trees, which ends when
 * prices prove what trees reach; all-gather and reduce-scatter have as many trees from each active worker
 * as from any other. Networks have switches of all abilities, idle workers, links unlike in their
 * directions, of one direction, side by side, a million times wider than others, and dead ends. 400
 * networks, or 5,000 with BANYAN_TEST_ALL. Networks of 20 to 28 nodes, and grids, half of their workers
 * idle, take longer: there sets of helpers are too many for lists, and cuts alone prove up to 30 % too
 * much. BANYAN_TEST_ALL=1000-1099 takes these of them. */
#include "test.h"

#include <math.h>

#include "bound/bound.h"
#include "bound/staged.h"
#include "core/alloc.h"
#include "core/random.h"
#include "solve/net/lp.h"
#include "topology/build.h"

enum { MOST_NODES = 30, MOST_ACTIVE = 12, MOST_ARCS = 900, SETS = 1 << MOST_ACTIVE, ROUNDS = 400 };
enum { FEW_NODES = 9, FEW_ACTIVE = 5 };

typedef struct {
    banyan_topology *topology;
    banyan_relays relays;
    int active[MOST_ACTIVE], active_count;
    int node_count, arc_count, src[MOST_ARCS], dst[MOST_ARCS], link[MOST_ARCS];
    double width[MOST_ARCS];
    unsigned char adds[MOST_NODES], copies[MOST_NODES];
} network;

/* Cheapest trees out of every node (turned: into it) that serve sets of the active workers. */
typedef struct {
    const network *net;
    int turned;
    double way[MOST_NODES][MOST_NODES];
    int first_arc[MOST_NODES][MOST_NODES];
    double cost[SETS][MOST_NODES];
    int branch[SETS][MOST_NODES]; /* where a tree from here branches first, or ends */
    double split_cost[SETS][MOST_NODES];
    int split[SETS][MOST_NODES]; /* one half of what is served there; 0: it ends */
} table;

static int pick(banyan_random *random, int limit)
{
    return banyan_random_below(random, limit);
}

static double pick_width(banyan_random *random, int kind)
{
    static const double rates[] = {12.5e9, 25e9, 50e9, 300e9};

    switch (kind) {
    case 0:
        return 1e9;
    case 1:
        return 1 + pick(random, 5);
    case 2:
        return 1e10 * (0.1 + 0.9 * banyan_random_unit(random));
    case 3:
        return rates[pick(random, 4)];
    case 4:
        return pow(10, pick(random, 7));
    default:
        return pow(10, 6 * banyan_random_unit(random));
    }
}

static void add_links(banyan_random *random, banyan_topology_builder *builder, int a, int b, int kind,
                      int unlike)
{
    double width = pick_width(random, kind), back = width;

    if (unlike == 1)
        back = pick_width(random, kind);
    else if (unlike == 2 && pick(random, 4) == 0)
        back = width / 2;
    banyan_topology_add_link(builder, a, b, width, 0);
    if (unlike != 3 || pick(random, 6))
        banyan_topology_add_link(builder, b, a, back, 0);
}

/* Every node hangs on one before it, or all on the first switch; then some links more. */
static void make_topology(banyan_random *random, int workers, int switches, banyan_topology **out)
{
    int kind = pick(random, 6), unlike = pick(random, 2) ? 0 : pick(random, 4), shape = pick(random, 4),
        nodes = workers + switches, more = pick(random, 2 * nodes), abilities = pick(random, 6);
    banyan_topology_builder builder;

    banyan_topology_builder_init(&builder, "by chance");
    for (int v = 0; v < workers; v++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", v);
    for (int v = workers; v < nodes; v++) {
        int able = abilities < 4 ? abilities : pick(random, 4);

        banyan_topology_add_switch_f(&builder, "s%d", v);
        banyan_topology_set_abilities(&builder, v, able & 1, able >> 1);
    }
    for (int v = 1; v < nodes && shape < 3; v++)
        if (shape == 0 && switches && v != workers)
            add_links(random, &builder, v, workers, kind, unlike);
        else
            add_links(random, &builder, v, pick(random, v), kind, unlike);
    if (shape == 0 && switches)
        add_links(random, &builder, 0, workers, kind, unlike);
    for (int v = 0; v < nodes && shape == 3; v++) /* between even and odd ones: many nodes are alike */
        for (int w = 0; w < v; w++)
            if ((v ^ w) & 1)
                add_links(random, &builder, v, w, kind, unlike);
    for (int i = 0; i < more && shape != 3; i++) {
        int a = pick(random, nodes), b = pick(random, nodes);

        if (a != b)
            add_links(random, &builder, a, b, kind, unlike);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, out, NULL), BANYAN_SUCCESS);
}

static int is_active(const network *net, int v)
{
    for (int i = 0; i < net->active_count; i++)
        if (net->active[i] == v)
            return 1;
    return 0;
}

static int is_gone(const network *net, int v)
{
    return net->relays == BANYAN_RELAYS_NONE && net->topology->nodes[v].kind == BANYAN_NODE_WORKER &&
           !is_active(net, v);
}

/* Most pairs of workers are cabled, with widths not too far apart. */
static void make_dense_topology(banyan_random *random, int workers, banyan_topology **out)
{
    int kind = pick(random, 3), unlike = pick(random, 4), missing = pick(random, 2) ? 12 : 1000;
    banyan_topology_builder builder;

    banyan_topology_builder_init(&builder, "most pairs");
    for (int v = 0; v < workers; v++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", v);
    for (int v = 0; v < workers; v++)
        for (int w = 0; w < v; w++) {
            double width[2];

            for (int back = 0; back < 2; back++)
                width[back] = back && !unlike ? width[0]
                              : kind == 0     ? 1e9 * (1 + (pick(random, 3) > 0))
                              : kind == 1     ? 1e9 * (0.5 + 0.5 * banyan_random_unit(random))
                                              : 1e9 * (0.1 + 0.9 * banyan_random_unit(random));
            if (pick(random, missing) == 0)
                continue;
            banyan_topology_add_link(&builder, v, w, width[0], 0);
            banyan_topology_add_link(&builder, w, v, width[1], 0);
        }
    assert_int_equal(banyan_topology_builder_finish(&builder, out, NULL), BANYAN_SUCCESS);
}

static void take_links(network *net)
{
    for (int v = 0; v < net->node_count; v++) {
        const banyan_node *node = &net->topology->nodes[v];
        int helps = is_active(net, v) || net->relays == BANYAN_RELAYS_ADD;

        net->adds[v] = (unsigned char)(node->kind == BANYAN_NODE_WORKER ? helps : node->can_reduce);
        net->copies[v] = (unsigned char)(node->kind == BANYAN_NODE_WORKER ? helps : node->can_multicast);
    }
    for (int i = 0; i < net->topology->link_count; i++) {
        const banyan_link *link = &net->topology->links[i];

        if (is_gone(net, link->src) || is_gone(net, link->dst))
            continue;
        assert_true(net->arc_count < MOST_ARCS);
        net->src[net->arc_count] = link->src;
        net->dst[net->arc_count] = link->dst;
        net->link[net->arc_count] = i;
        net->width[net->arc_count++] = link->bytes_per_s;
    }
}

static void choose_active(banyan_random *random, int workers, int least, int limit, network *net)
{
    int most = workers < limit ? workers : limit;

    net->active_count = least + pick(random, most - least + 1);
    for (int v = 0, left = net->active_count, count = 0; v < workers; v++)
        if (pick(random, workers - v) < left)
            left--, net->active[count++] = v;
}

static void make_dense_network(uint64_t seed, network *net)
{
    banyan_random random = {seed};

    memset(net, 0, sizeof *net);
    net->node_count = 4 + pick(&random, FEW_NODES - 3);
    make_dense_topology(&random, net->node_count, &net->topology);
    net->relays = BANYAN_RELAYS_ADD;
    choose_active(&random, net->node_count - 1, 3, FEW_ACTIVE, net);
    take_links(net);
}

static void make_network(uint64_t seed, network *net)
{
    banyan_random random = {seed};
    int workers = 2 + pick(&random, 6), switches = pick(&random, 2) ? pick(&random, 3) : 0;

    memset(net, 0, sizeof *net);
    make_topology(&random, workers, switches, &net->topology);
    net->node_count = workers + switches;
    net->relays = (banyan_relays)(pick(&random, 2) ? 0 : pick(&random, 3));
    choose_active(&random, workers, 2, FEW_ACTIVE, net);
    take_links(net);
}

/* Links into idle nodes are mostly narrower than those out of them, or (turned) wider. */
static double pick_forwarding_width(banyan_random *random, int turned, int src, int dst, int active)
{
    int into = dst >= active && src < active, out = src >= active && dst < active;

    return (turned ? into : out)   ? 3 + pick(random, 6)
           : (turned ? out : into) ? 1 + pick(random, 3)
                                   : 1 + pick(random, 9);
}

/* 4 to 8 nodes, links of their own widths each way; most lead to or from idle nodes, which mostly forward
 * only. */
static void make_forwarding_network(uint64_t seed, network *net)
{
    banyan_random random = {seed};
    int active = 2 + pick(&random, 3), idle = 1 + pick(&random, 2), switches = 1 + pick(&random, 2),
        turned = pick(&random, 2), nodes = active + idle + switches, more = nodes + pick(&random, nodes);
    banyan_topology_builder builder;

    memset(net, 0, sizeof *net);
    banyan_topology_builder_init(&builder, "forwarding");
    for (int v = 0; v < active + idle; v++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", v);
    for (int v = active + idle; v < nodes; v++) {
        int able = pick(&random, 6);

        banyan_topology_add_switch_f(&builder, "s%d", v);
        banyan_topology_set_abilities(&builder, v, able == 1 || able == 3, able == 2 || able == 3);
    }
    for (int i = 1; i < nodes + more; i++) {
        int a = i < nodes ? i : pick(&random, nodes), b = pick(&random, i < nodes ? i : nodes);

        if (a == b || (a < active && b < active && (i >= nodes || pick(&random, 3))))
            continue;
        banyan_topology_add_link(&builder, a, b, pick_forwarding_width(&random, turned, a, b, active), 0);
        if (i < nodes || pick(&random, 2))
            banyan_topology_add_link(&builder, b, a, pick_forwarding_width(&random, turned, b, a, active), 0);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &net->topology, NULL), BANYAN_SUCCESS);
    net->node_count = nodes;
    net->relays = BANYAN_RELAYS_FORWARD;
    net->active_count = active;
    for (int v = 0; v < active; v++)
        net->active[v] = v;
    take_links(net);
}

/* The same with so many workers, active and idle, that trees must be searched for. */
static void make_larger_network(uint64_t seed, network *net)
{
    banyan_random random = {seed};
    int switches = pick(&random, 2) ? 1 + pick(&random, 4) : 0, workers = 20 + pick(&random, 5);

    memset(net, 0, sizeof *net);
    make_topology(&random, workers, switches, &net->topology);
    net->node_count = workers + switches;
    net->relays = BANYAN_RELAYS_ADD;
    choose_active(&random, workers, 10, MOST_ACTIVE, net);
    take_links(net);
}

/* A mesh or a torus, with links of all sorts. */
static void make_grid(uint64_t seed, network *net)
{
    banyan_random random = {seed};
    int a = 3 + pick(&random, 3), b = a == 3 ? 7 + pick(&random, 2) : 9 - a + pick(&random, 2),
        is_torus = pick(&random, 2), kind = pick(&random, 4), unlike = pick(&random, 3);
    banyan_topology_builder builder;

    memset(net, 0, sizeof *net);
    banyan_topology_builder_init(&builder, "grid");
    for (int v = 0; v < a * b; v++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", v);
    for (int v = 0; v < a * b; v++) {
        int x = v / b, y = v % b;

        if (x + 1 < a || is_torus)
            add_links(&random, &builder, v, (x + 1) % a * b + y, kind, unlike);
        if (y + 1 < b || is_torus)
            add_links(&random, &builder, v, x * b + (y + 1) % b, kind, unlike);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &net->topology, NULL), BANYAN_SUCCESS);
    net->node_count = a * b;
    net->relays = BANYAN_RELAYS_ADD;
    choose_active(&random, a * b, 10, MOST_ACTIVE, net);
    take_links(net);
}

/* What leaves (or enters) sets of nodes with some active workers inside and some outside: the least of it,
 * and the least for each active worker inside, times their number. */
static void find_cuts(const network *net, double *gather, double *scatter, double *narrowest)
{
    *gather = *scatter = *narrowest = HUGE_VAL;
    for (int set = 1; set < 1 << net->node_count; set++) {
        double leaves = 0, enters = 0;
        int inside = 0;

        for (int i = 0; i < net->active_count; i++)
            inside += set >> net->active[i] & 1;
        if (inside == 0 || inside == net->active_count)
            continue;
        for (int i = 0; i < net->arc_count; i++) {
            int from = set >> net->src[i] & 1, to = set >> net->dst[i] & 1;

            leaves += from && !to ? net->width[i] : 0;
            enters += to && !from ? net->width[i] : 0;
        }
        *gather = fmin(*gather, leaves * net->active_count / inside);
        *scatter = fmin(*scatter, enters * net->active_count / inside);
        *narrowest = fmin(*narrowest, fmin(leaves, enters));
    }
}

static void measure_ways(table *t, const double *cost)
{
    const network *net = t->net;
    int n = net->node_count;

    for (int v = 0; v < n; v++)
        for (int w = 0; w < n; w++)
            t->way[v][w] = v == w ? 0 : HUGE_VAL;
    for (int i = 0; i < net->arc_count; i++) {
        int from = t->turned ? net->dst[i] : net->src[i], to = t->turned ? net->src[i] : net->dst[i];

        if (cost[i] < t->way[from][to])
            t->way[from][to] = cost[i], t->first_arc[from][to] = i;
    }
    for (int by = 0; by < n; by++)
        for (int v = 0; v < n; v++)
            for (int w = 0; w < n; w++)
                if (t->way[v][by] + t->way[by][w] < t->way[v][w] * (1 - 1e-14)) {
                    t->way[v][w] = t->way[v][by] + t->way[by][w];
                    t->first_arc[v][w] = t->first_arc[v][by];
                }
}

static void fill_table(table *t, const network *net, int turned, const double *cost)
{
    const unsigned char *branches = turned ? net->adds : net->copies;

    t->net = net;
    t->turned = turned;
    measure_ways(t, cost);
    for (int set = 1; set < 1 << net->active_count; set++) {
        for (int v = 0; v < net->node_count; v++) {
            t->split_cost[set][v] = t->cost[set][v] = HUGE_VAL;
            t->split[set][v] = 0;
            for (int half = (set - 1) & set; half && branches[v]; half = (half - 1) & set)
                if (t->cost[half][v] + t->cost[set ^ half][v] < t->split_cost[set][v]) {
                    t->split_cost[set][v] = t->cost[half][v] + t->cost[set ^ half][v];
                    t->split[set][v] = half;
                }
        }
        for (int i = 0; i < net->active_count; i++)
            if (set == 1 << i)
                t->split_cost[set][net->active[i]] = 0;
        for (int v = 0; v < net->node_count; v++)
            for (int w = 0; w < net->node_count; w++)
                if (t->way[v][w] + t->split_cost[set][w] < t->cost[set][v]) {
                    t->cost[set][v] = t->way[v][w] + t->split_cost[set][w];
                    t->branch[set][v] = w;
                }
    }
}

/* How often the cheapest tree takes each arc. */
static void take_tree(const table *t, int set, int v, double *uses)
{
    int end = t->branch[set][v], half = t->split[set][end];

    while (v != end) {
        int arc = t->first_arc[v][end];

        uses[arc]++;
        v = t->turned ? t->net->src[arc] : t->net->dst[arc];
    }
    if (half) {
        take_tree(t, half, end, uses);
        take_tree(t, set ^ half, end, uses);
    }
}

/* The program over trees. Rows: arcs of each stage, then nodes, at which as much is summed as goes out
 * again. */
typedef struct {
    const network *net;
    banyan_stages stages;
    int rows;
    double room[2 * MOST_ARCS]; /* of the narrowest cut */
    banyan_lp *lp;
    table in, out[2]; /* out trees of the first and of the second stage */
} program;

static void add_tree(program *p, const table *t, int stage, int root)
{
    const network *net = p->net;
    double uses[MOST_ARCS] = {0}, value[MOST_ARCS + 1];
    int row[MOST_ARCS + 1], count = 0;

    take_tree(t, (1 << net->active_count) - 1, root, uses);
    for (int i = 0; i < net->arc_count; i++)
        if (uses[i] > 0)
            row[count] = stage * net->arc_count + i, value[count++] = uses[i];
    row[count] = p->rows + root;
    value[count++] = t->turned ? 1 : -1;
    banyan_lp_add_column(p->lp, t->turned, count, row, value);
}

/* What the prices (one per row) prove; wants_trees: the cheapest ones of each root become columns. */
static double prove(program *p, const double *price, int wants_trees)
{
    const network *net = p->net;
    int all = (1 << net->active_count) - 1, first = p->stages == BANYAN_STAGES_SEQUENTIAL,
        last = p->stages == BANYAN_STAGES_PIPELINED ? 0 : 1;
    double least = HUGE_VAL, worth = 0;

    fill_table(&p->in, net, 1, price);
    for (int stage = first; stage <= last; stage++)
        fill_table(&p->out[stage], net, 0, price + stage * net->arc_count);
    for (int v = 0; v < net->node_count; v++) {
        double out = HUGE_VAL;

        for (int stage = first; stage <= last; stage++)
            out = fmin(out, p->out[stage].cost[all][v]);
        if (!net->adds[v] || !net->copies[v] || isinf(p->in.cost[all][v]) || isinf(out))
            continue;
        least = fmin(least, p->in.cost[all][v] + out);
        for (int stage = first; wants_trees && stage <= last; stage++)
            add_tree(p, &p->out[stage], stage, v);
        if (wants_trees)
            add_tree(p, &p->in, 0, v);
    }
    for (int r = 0; r < p->rows; r++)
        worth += price[r] * p->room[r];
    return least > 0 ? worth / least : HUGE_VAL;
}

static banyan_lp *make_program(const program *p)
{
    double lower[2 * MOST_ARCS + MOST_NODES], upper[2 * MOST_ARCS + MOST_NODES];
    banyan_lp *lp;

    for (int r = 0; r < p->rows + p->net->node_count; r++) {
        lower[r] = r < p->rows ? -1e300 : 0;
        upper[r] = r < p->rows ? p->room[r] : 0;
    }
    assert_int_equal(banyan_lp_create(p->rows + p->net->node_count, lower, upper, &lp, NULL), BANYAN_SUCCESS);
    return lp;
}

/* What trees reach and what prices prove: the sum of chi in bytes a second. */
static void solve_exactly(const network *net, banyan_stages stages, double narrowest, double *reached,
                          double *proven)
{
    static program p; /* large */
    double price[2 * MOST_ARCS], best[2 * MOST_ARCS];

    p = (program){.net = net, .stages = stages};
    p.rows = net->arc_count * (stages == BANYAN_STAGES_PIPELINED ? 1 : 2);
    for (int r = 0; r < p.rows; r++) {
        p.room[r] = fmin(net->width[r % net->arc_count] / narrowest, 4 * MOST_NODES);
        best[r] = price[r] = 1 / p.room[r];
    }
    p.lp = make_program(&p);
    *reached = 0;
    *proven = HUGE_VAL;
    for (int round = 0; round<ROUNDS && * proven> * reached * (1 + 1e-9); round++) {
        for (int half = 0; half < 2; half++) { /* the program's prices, then half way to the best ones */
            double worth = 0, now;

            for (int r = 0; r < p.rows; r++)
                price[r] = half ? (price[r] + best[r]) / 2 : price[r];
            now = prove(&p, price, 1);
            for (int r = 0; r < p.rows; r++)
                worth += price[r] * p.room[r];
            for (int r = 0; r < p.rows && now < *proven; r++)
                best[r] = price[r] / worth;
            *proven = fmin(*proven, now);
        }
        assert_int_equal(banyan_lp_solve(p.lp, NULL), BANYAN_SUCCESS);
        *reached = banyan_lp_objective(p.lp);
        for (int r = 0; r < p.rows; r++)
            price[r] = fmax(0, banyan_lp_price(p.lp, r));
    }
    banyan_lp_destroy(p.lp);
    *reached *= narrowest;
    *proven *= narrowest;
}

/* All-gather (turned: reduce-scatter): as many trees from each active worker. Rows: arcs, then these
 * workers. */
typedef struct {
    const network *net;
    int turned;
    double room[MOST_ARCS]; /* of the narrowest cut */
    banyan_lp *lp;
    table trees;
} gather_program;

static void begin_gather(gather_program *p)
{
    const network *net = p->net;
    double upper[MOST_ARCS + MOST_ACTIVE] = {0}, entry[MOST_ACTIVE];
    int row[MOST_ACTIVE];

    memcpy(upper, p->room, (size_t)net->arc_count * sizeof *upper);
    assert_int_equal(banyan_lp_create(net->arc_count + net->active_count, NULL, upper, &p->lp, NULL), 0);
    for (int r = 0; r < net->active_count; r++)
        row[r] = net->arc_count + r, entry[r] = 1;
    banyan_lp_add_column(p->lp, net->active_count, net->active_count, row, entry);
}

/* What the prices prove of the whole vector's rate; the cheapest trees become columns. */
static double prove_gather(gather_program *p, const double *price)
{
    const network *net = p->net;
    int all = (1 << net->active_count) - 1;
    double cost = 0, worth = 0;

    fill_table(&p->trees, net, p->turned, price);
    for (int r = 0; r < net->active_count; r++) {
        double uses[MOST_ARCS] = {0}, entry[MOST_ARCS + 1];
        int row[MOST_ARCS + 1], count = 0;

        cost += p->trees.cost[all][net->active[r]];
        take_tree(&p->trees, all, net->active[r], uses);
        for (int i = 0; i < net->arc_count; i++)
            if (uses[i] > 0)
                row[count] = i, entry[count++] = uses[i];
        row[count] = net->arc_count + r;
        entry[count++] = -1;
        banyan_lp_add_column(p->lp, 0, count, row, entry);
    }
    for (int i = 0; i < net->arc_count; i++)
        worth += price[i] * p->room[i];
    return cost > 0 ? net->active_count * worth / cost : HUGE_VAL;
}

/* What trees reach and what prices prove, bytes per second of the whole vector. */
static void solve_gather_exactly(const network *net, int turned, double narrowest, double *reached,
                                 double *proven)
{
    static gather_program p; /* large */
    double price[MOST_ARCS], best[MOST_ARCS];

    p = (gather_program){.net = net, .turned = turned};
    for (int i = 0; i < net->arc_count; i++) {
        p.room[i] = fmin(net->width[i] / narrowest, 4 * MOST_NODES * MOST_ACTIVE);
        best[i] = price[i] = 1 / p.room[i];
    }
    begin_gather(&p);
    *reached = 0;
    *proven = HUGE_VAL;
    for (int round = 0; round<ROUNDS && * proven> * reached * (1 + 1e-9); round++) {
        for (int half = 0; half < 2; half++) { /* the program's prices, then half way to the best ones */
            double worth = 0, now;

            for (int i = 0; i < net->arc_count; i++)
                price[i] = half ? (price[i] + best[i]) / 2 : price[i];
            now = prove_gather(&p, price);
            for (int i = 0; i < net->arc_count; i++)
                worth += price[i] * p.room[i];
            for (int i = 0; i < net->arc_count && now < *proven; i++)
                best[i] = price[i] / worth;
            *proven = fmin(*proven, now);
        }
        assert_int_equal(banyan_lp_solve(p.lp, NULL), BANYAN_SUCCESS);
        *reached = banyan_lp_objective(p.lp);
        for (int i = 0; i < net->arc_count; i++)
            price[i] = fmax(0, banyan_lp_price(p.lp, i));
    }
    banyan_lp_destroy(p.lp);
    *reached *= narrowest;
    *proven *= narrowest;
}

static void check_rate(uint64_t seed, const char *what, double found, double low, double high)
{
    if (!(found >= low * (1 - 1e-6) && found <= high * (1 + 1e-6)))
        fail_msg("seed %llu: %s is %.12g, not %.12g to %.12g", (unsigned long long)seed, what, found, low,
                 high);
}

/* The certificate, by the table of cheapest trees. */
static void check_prices(uint64_t seed, const network *net, const banyan_rate *rate)
{
    static program p;
    double price[MOST_ARCS];

    p = (program){.net = net, .stages = BANYAN_STAGES_PIPELINED, .rows = net->arc_count};
    for (int i = 0; i < net->arc_count; i++) {
        price[i] = (double)rate->certificate.price[net->link[i]];
        p.room[i] = net->width[i];
    }
    check_rate(seed, "what the prices prove", prove(&p, price, 0), rate->bytes_per_s, rate->bytes_per_s);
}

static void check_stages(uint64_t seed, const network *net, double narrowest)
{
    static const char *const names[] = {"", "the sum of chi in stages", "the sum of chi overlapped"};
    banyan_graph *graph;

    assert_int_equal(
        banyan_network_graph(net->topology, net->active, net->active_count, net->relays, &graph, NULL),
        BANYAN_SUCCESS);
    for (banyan_stages stages = BANYAN_STAGES_SEQUENTIAL; stages <= BANYAN_STAGES_OVERLAP; stages++) {
        banyan_staged staged;
        double low, high;

        assert_int_equal(banyan_staged_solve(graph, stages, &staged, NULL), BANYAN_SUCCESS);
        solve_exactly(net, stages, narrowest, &low, &high);
        check_rate(seed, names[stages], banyan_staged_sum(graph, stages, &staged), low, high);
        if (!staged.proven || !staged.price)
            fail_msg("seed %llu: nothing proves %s", (unsigned long long)seed, names[stages]);
        banyan_staged_fini(&staged);
    }
    banyan_graph_destroy(graph);
}

static int has_idle_branches(const network *net, int turned)
{
    for (int v = 0; v < net->node_count; v++)
        if (!is_active(net, v) && !is_gone(net, v) && (turned ? net->adds : net->copies)[v])
            return 1;
    return 0;
}

/* What gathers were seen: cuts alone prove too much of some; of some it is not known whether they are
 * tight, and some of these are not. */
static struct {
    int all, above, unknown, loose;
} gathers;

/* Where idle nodes may branch the best trees are hard to find: there the bound holds, and is said to be
 * tight only if it is. */
static void check_gather(uint64_t seed, const network *net, int turned, const banyan_rate *rate, double cut,
                         double narrowest)
{
    const char *name = turned ? "reduce-scatter" : "all-gather";
    double low, high;

    solve_gather_exactly(net, turned, narrowest, &low, &high);
    check_rate(seed, "the reference", high, low, low);
    check_rate(seed, name, rate->bytes_per_s, low, rate->is_tight ? high : cut);
    if (!rate->is_tight && !has_idle_branches(net, turned))
        fail_msg("seed %llu: %s is not known to be tight", (unsigned long long)seed, name);
    gathers.all++;
    gathers.above += cut > high * (1 + 1e-6);
    gathers.unknown += !rate->is_tight;
    gathers.loose += rate->bytes_per_s > high * (1 + 1e-6);
}

/* 0: there is no way between some of the workers, and that is told. */
static int check_network(uint64_t seed, void (*make)(uint64_t seed, network *net))
{
    network net;
    banyan_bound bound;
    banyan_error err;
    double gather, scatter, narrowest, low, high;
    banyan_status status;

    make(seed, &net);
    find_cuts(&net, &gather, &scatter, &narrowest);
    status = banyan_bound_find(net.topology, net.active, net.active_count, net.relays, &bound, &err);
    if ((status == BANYAN_SUCCESS) != (narrowest > 0))
        fail_msg("seed %llu: %s", (unsigned long long)seed,
                 status ? err.text : "a bound of what is not connected");
    if (!status) {
        solve_exactly(&net, BANYAN_STAGES_PIPELINED, narrowest, &low, &high);
        check_rate(seed, "the reference", high, low, low);
        check_rate(seed, "all-reduce", bound.allreduce.bytes_per_s, low, high);
        check_gather(seed, &net, 0, &bound.allgather, gather, narrowest);
        check_gather(seed, &net, 1, &bound.reducescatter, scatter, narrowest);
        check_prices(seed, &net, &bound.allreduce);
        if (banyan_bound_check_certificate(net.topology, net.active, net.active_count, &bound, &err))
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        if (seed % 3 == 0 && make == make_network)
            check_stages(seed, &net, narrowest);
        banyan_bound_fini(&bound);
    }
    banyan_topology_destroy(net.topology);
    return !status;
}

TEST(bounds_of_small_networks_are_those_of_all_their_trees_and_cuts)
{
    uint64_t count = getenv("BANYAN_TEST_ALL") ? 5000 : 400;
    int connected = 0;

    for (uint64_t seed = 0; seed < count; seed++)
        connected += check_network(seed, make_network);
    print_message("%d gathers, %d below every cut, %d not known to be tight, %d not tight\n", gathers.all,
                  gathers.above, gathers.unknown, gathers.loose);
    assert_true((uint64_t)connected > count / 2);
    check_network(876,
                  make_network); /* a switch that only copies at the end of a cable from one that only adds */
}

TEST(bounds_where_most_pairs_are_cabled_and_idle_workers_help_are_exact)
{
    uint64_t count = getenv("BANYAN_TEST_ALL") ? 2000 : 200;

    for (uint64_t seed = 0; seed < count; seed++)
        check_network(seed, make_dense_network);
}

TEST(gathers_through_nodes_that_forward_are_those_of_all_their_trees)
{
    uint64_t count = getenv("BANYAN_TEST_ALL") ? 3000 : 300;

    memset(&gathers, 0, sizeof gathers);
    for (uint64_t seed = 0; seed < count; seed++)
        check_network(seed, make_forwarding_network);
    print_message("%d gathers, %d below every cut, %d not known to be tight, %d not tight\n", gathers.all,
                  gathers.above, gathers.unknown, gathers.loose);
    assert_true(gathers.above > 5);
}

/* A switch that does not copy, with links down twice as wide as those up: six times a worker's part must
 * come up for all to have all, and three workers bring it up at 1 GB/s each. Every cut alone allows twice
 * as much. */
TEST(a_switch_that_only_forwards_sends_down_no_more_than_comes_up)
{
    static const int active[] = {0, 1, 2};
    banyan_topology_builder builder;
    banyan_topology *topology;
    banyan_bound bound;
    banyan_error err;

    banyan_topology_builder_init(&builder, "up and down");
    for (int v = 0; v < 3; v++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", v);
    banyan_topology_add_switch_f(&builder, "s");
    for (int v = 0; v < 3; v++) {
        banyan_topology_add_link(&builder, v, 3, 1e9, 0);
        banyan_topology_add_link(&builder, 3, v, 2e9, 0);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, NULL), BANYAN_SUCCESS);
    if (banyan_bound_find(topology, active, 3, BANYAN_RELAYS_FORWARD, &bound, &err))
        fail_msg("%s", err.text);
    check_rate(0, "all-gather", bound.allgather.bytes_per_s, 1.5e9, 1.5e9);
    check_rate(0, "reduce-scatter", bound.reducescatter.bytes_per_s, 1.5e9, 1.5e9);
    assert_true(bound.allgather.is_tight && bound.reducescatter.is_tight);
    assert_int_equal(bound.allgather.certificate.kind, BANYAN_CERTIFICATE_CUTS);
    banyan_bound_fini(&bound);
    banyan_topology_destroy(topology);
}

static void check_larger(uint64_t seed, void (*make)(uint64_t seed, network *net))
{
    static network net;
    banyan_bound bound;
    double low, high;

    make(seed, &net);
    if (banyan_bound_search(net.topology, net.active, net.active_count, net.relays, &bound, NULL) ==
        BANYAN_SUCCESS) { /* else some worker is not joined to the others */
        solve_exactly(&net, BANYAN_STAGES_PIPELINED, bound.allreduce.bytes_per_s, &low, &high);
        check_rate(seed, "all-reduce of a larger network", bound.allreduce.bytes_per_s, low, high);
        check_prices(seed, &net, &bound.allreduce);
        if (banyan_bound_check_certificate(net.topology, net.active, net.active_count, &bound, NULL))
            fail_msg("seed %llu: the certificate does not hold", (unsigned long long)seed);
        banyan_bound_fini(&bound);
    }
    banyan_topology_destroy(net.topology);
}

static void check_all_larger(unsigned first, unsigned last, void (*make)(uint64_t seed, network *net))
{
    const char *all = getenv("BANYAN_TEST_ALL");

    if (all && sscanf(all, "%u-%u", &first, &last) < 2)
        last = first + 97;
    for (uint64_t seed = first; seed <= last; seed++)
        check_larger(seed, make);
}

TEST(bounds_of_larger_networks_are_those_of_all_their_trees)
{
    check_all_larger(0, 3, make_larger_network);
}

TEST(bounds_of_grids_of_which_half_help_are_those_of_all_their_trees)
{
    check_all_larger(2, 3, make_grid); /* cuts prove 1 % too much of the first */
    check_larger(1242, make_grid);     /* directions unlike, and cuts prove 0.1 % too much */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_of_small_networks_are_those_of_all_their_trees_and_cuts),
        cmocka_unit_test(bounds_where_most_pairs_are_cabled_and_idle_workers_help_are_exact),
        cmocka_unit_test(gathers_through_nodes_that_forward_are_those_of_all_their_trees),
        cmocka_unit_test(a_switch_that_only_forwards_sends_down_no_more_than_comes_up),
        cmocka_unit_test(bounds_of_larger_networks_are_those_of_all_their_trees),
        cmocka_unit_test(bounds_of_grids_of_which_half_help_are_those_of_all_their_trees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
