/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/solve.c: the solvers against plain enumeration on small random graphs. */
#include "test.h"

#include <dirent.h>
#include <math.h>

#include "core/alloc.h"
#include "core/random.h"
#include "solve/cut/strength.h"
#include "solve/cut/worst_partition.h"
#include "solve/net/flow.h"
#include "solve/net/fraction.h"
#include "solve/net/lp.h"
#include "solve/oracle/arborescence.h"
#include "solve/oracle/spanning.h"
#include "solve/oracle/steiner.h"
#include "solve/start/hub_pairs.h"
#include "solve/start/matroid_partition.h"
#include "solve/start/peel.h"

#define MOST 64

typedef struct {
    int src[MOST], dst[MOST], count;
    double capacity[MOST];
} sketch;

static void add_cable(sketch *s, int a, int b, double capacity)
{
    s->src[s->count] = s->dst[s->count + 1] = a;
    s->dst[s->count] = s->src[s->count + 1] = b;
    s->capacity[s->count] = s->capacity[s->count + 1] = capacity;
    s->count += 2;
}

static banyan_graph *finish(const sketch *s, int nodes, const unsigned char *role)
{
    banyan_graph_input input = {nodes, role, s->count, s->src, s->dst, s->capacity, NULL};
    banyan_graph *graph;

    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    return graph;
}

/* A random connected network of cables; the first active_count nodes are active, the others have the role. */
static banyan_graph *random_graph(banyan_random *random, int nodes, int extra, int active_count,
                                  unsigned char other)
{
    unsigned char role[16];
    sketch s = {.count = 0};

    for (int v = 0; v < nodes; v++)
        role[v] = v < active_count ? BANYAN_NODE_ACTIVE : other;
    for (int v = 1; v < nodes; v++)
        add_cable(&s, v, banyan_random_below(random, v), 1 + banyan_random_below(random, 6));
    for (int i = 0; i < extra; i++) {
        int a = banyan_random_below(random, nodes), b = banyan_random_below(random, nodes);

        if (a != b)
            add_cable(&s, a, b, 1 + banyan_random_below(random, 6));
    }
    return finish(&s, nodes, role);
}

TEST(bandwidths_become_whole_numbers_of_a_common_unit)
{
    const double plain[] = {12.5e9, 25e9, 50e9}, thirds[] = {1e9 / 3, 2e9 / 3, 1e9},
                 wild[] = {1, 3.14159265358979};
    int64_t whole[3];
    double unit;

    assert_true(banyan_fraction_common_unit(plain, 3, whole, &unit));
    assert_true(whole[0] == 1 && whole[1] == 2 && whole[2] == 4 && unit == 12.5e9);
    assert_true(banyan_fraction_common_unit(thirds, 3, whole, &unit));
    assert_true(whole[0] == 1 && whole[1] == 2 && whole[2] == 3);
    assert_false(banyan_fraction_common_unit(wild, 2, whole, &unit));
    assert_true(fabs((double)whole[1] * unit - wild[1]) < 1e-8);
}

static int64_t cut_of(const banyan_graph *graph, unsigned inside)
{
    int64_t sum = 0;

    for (int i = 0; i < graph->arc_count; i++)
        if ((inside >> graph->arcs[i].src & 1) && !(inside >> graph->arcs[i].dst & 1))
            sum += graph->arcs[i].capacity;
    return sum;
}

TEST(the_largest_flow_is_the_smallest_cut)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        banyan_random random = {seed};
        banyan_graph *graph = random_graph(&random, 7, 8, 7, 0);
        int64_t least = INT64_MAX, found;
        unsigned side = 0;
        banyan_flow *flow;

        assert_int_equal(banyan_graph_make_flow(graph, &flow, NULL), BANYAN_SUCCESS);
        for (int i = 0; i < graph->arc_count; i++)
            banyan_flow_set(flow, i, graph->arcs[i].capacity, 0);
        found = banyan_flow_run(flow, 0, 6, INT64_MAX / 4);
        for (unsigned inside = 1; inside < 64; inside += 2)
            least = cut_of(graph, inside) < least ? cut_of(graph, inside) : least;
        for (int v = 0; v < 7; v++)
            side |= banyan_flow_reaches(flow, v) ? 1u << v : 0;
        if (found != least || cut_of(graph, side) != least)
            fail_msg("seed %d: flow %lld, cut %lld", (int)seed, (long long)found, (long long)least);
        banyan_flow_destroy(flow);
        banyan_graph_destroy(graph);
    }
}

/* Least crossing / (parts - 1) over all partitions, as restricted growth strings. */
static double worst_partition(const banyan_graph *graph, int *part, int v, int parts)
{
    double worst = HUGE_VAL;

    if (v == graph->node_count) {
        int64_t crossing = 0;

        for (int i = 0; i < graph->arc_count; i++)
            if (part[graph->arcs[i].src] != part[graph->arcs[i].dst])
                crossing += graph->arcs[i].capacity;
        return parts > 1 ? (double)crossing / 2 / (parts - 1) : HUGE_VAL;
    }
    for (part[v] = 0; part[v] <= parts; part[v]++) {
        int mine = part[v];
        double found = worst_partition(graph, part, v + 1, mine == parts ? parts + 1 : parts);

        part[v] = mine;
        worst = found < worst ? found : worst;
    }
    return worst;
}

TEST(strength_is_the_worst_partition_and_peeling_packs_it)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        banyan_random random = {seed};
        banyan_graph *graph = random_graph(&random, 7, (int)(seed % 12), 7, 0);
        banyan_peel_problem problem = {.tree_limit = 500, .enough = 0.9999};
        banyan_fraction strength;
        banyan_peel peel;
        int part[7], scratch[7] = {0}, part_count;
        double wanted = worst_partition(graph, scratch, 1, 1);

        assert_int_equal(banyan_strength(graph, &strength, part, &part_count, NULL), BANYAN_SUCCESS);
        if (fabs(banyan_fraction_value(strength) - wanted) > 1e-9)
            fail_msg("seed %d: %g, not %g", (int)seed, banyan_fraction_value(strength), wanted);
        assert_int_equal(banyan_peel_solve(graph, &problem, &peel, NULL), BANYAN_SUCCESS);
        for (size_t t = 0; t < peel.trees.tree_count; t++)
            assert_int_equal(banyan_trees_edges_end(&peel.trees, t) - peel.trees.first_edge[t], 6);
        if (peel.total > wanted * (1 + 1e-9))
            fail_msg("seed %d: peeled %g of %g", (int)seed, peel.total, wanted);
        banyan_peel_fini(&peel);
        banyan_graph_destroy(graph);
    }
}

/* Least  crossing - rate (parts - 1)  over all partitions, as restricted growth strings. */
static int64_t least_spare(const banyan_graph *graph, const int64_t *capacity, int64_t rate, int *part, int v,
                           int parts)
{
    int64_t least = INT64_MAX;

    if (v == graph->node_count) {
        int64_t crossing = 0;

        for (int i = 0; i < graph->arc_count; i++)
            if (part[graph->arcs[i].src] != part[graph->arcs[i].dst])
                crossing += capacity[i];
        return crossing / 2 - rate * (parts - 1);
    }
    for (int mine = 0; mine <= parts; mine++) {
        int64_t found;

        part[v] = mine;
        found = least_spare(graph, capacity, rate, part, v + 1, mine == parts ? parts + 1 : parts);
        least = found < least ? found : least;
    }
    return least;
}

static int64_t spare_of(const banyan_graph *graph, const int64_t *capacity, int64_t rate, const int *part)
{
    int64_t spare = rate;

    for (int v = 0; v < graph->node_count; v++)
        spare -= part[v] == v ? rate : 0;
    for (int i = 0; i < graph->arc_count; i++)
        if (part[graph->arcs[i].src] != part[graph->arcs[i].dst] && graph->arcs[i].twin > i)
            spare += capacity[i];
    return spare;
}

TEST(loads_find_the_worst_of_all_partitions)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        banyan_random random = {seed};
        banyan_graph *graph = random_graph(&random, 7, (int)(seed % 12), 7, 0);
        int64_t capacity[MOST];
        banyan_worst_partition *loads;

        assert_int_equal(banyan_worst_partition_create(graph, &loads, NULL), BANYAN_SUCCESS);
        for (int i = 0; i < graph->arc_count; i++)
            if (banyan_graph_cable(graph, i) == i)
                capacity[i] = capacity[graph->arcs[i].twin] = banyan_random_below(&random, 9);
        for (int64_t rate = 1; rate < 12; rate++) {
            int part[7], scratch[7] = {0};
            int64_t found = banyan_worst_partition_spare(loads, capacity, rate, part),
                    wanted = least_spare(graph, capacity, rate, scratch, 1, 1);

            if (found != wanted || spare_of(graph, capacity, rate, part) != wanted)
                fail_msg("seed %d, rate %d: %lld, not %lld", (int)seed, (int)rate, (long long)found,
                         (long long)wanted);
        }
        banyan_worst_partition_destroy(loads);
        banyan_graph_destroy(graph);
    }
}

/* Every parent function that is a tree. */
static int64_t cheapest_arborescence(const int64_t *cost, int n, int root, int *parent, int v)
{
    int64_t best = INT64_MAX;

    if (v == n) {
        int64_t sum = 0;

        for (int i = 0; i < n; i++) {
            int steps = 0;

            for (int u = i; u != root && steps <= n; u = parent[u])
                steps++;
            if (steps > n)
                return INT64_MAX;
            sum += i == root ? 0 : cost[parent[i] * n + i];
        }
        return sum;
    }
    for (int u = 0; u < n; u++) {
        int64_t found;

        if (v != root && u == v)
            continue;
        parent[v] = u;
        found = cheapest_arborescence(cost, n, root, parent, v + 1);
        best = found < best ? found : best;
        if (v == root)
            break;
    }
    return best;
}

/* The smallest capacity around a set that holds these active nodes and no others. */
static int64_t smallest_border(const banyan_graph *graph, int active, unsigned inside)
{
    int64_t least = INT64_MAX;

    for (unsigned more = 0; more < 1u << (graph->node_count - active); more++) {
        unsigned set = inside | more << active;
        int64_t sum = 0;

        for (int i = 0; i < graph->arc_count; i++)
            if ((set >> graph->arcs[i].src & 1) && !(set >> graph->arcs[i].dst & 1))
                sum += graph->arcs[i].capacity;
        least = sum < least ? sum : least;
    }
    return least;
}

/* Least sum of borders / (parts - 1) over all partitions of the active nodes, as restricted growth
 * strings. */
static double least_borders(const banyan_graph *graph, int active, unsigned *part, int v, int parts)
{
    double least = HUGE_VAL, sum = 0;

    if (v == active) {
        for (int k = 0; k < parts; k++)
            sum += (double)smallest_border(graph, active, part[k]);
        return parts < 2 ? HUGE_VAL : sum / (parts - 1);
    }
    for (int k = 0; k <= parts; k++) {
        part[k] |= 1u << v;
        least = fmin(least, least_borders(graph, active, part, v + 1, parts + (k == parts)));
        part[k] &= ~(1u << v);
    }
    return least;
}

/* Switches only forward: half of the smallest cuts around all parts counts, and prices prove it. */
TEST(strength_with_switches_is_that_of_the_smallest_cuts_around_parts)
{
    enum { NODES = 8, ACTIVE = 5 };

    for (int seed = 1; seed <= 80; seed++) {
        banyan_random random = {(uint64_t)seed};
        banyan_graph *graph = random_graph(&random, NODES, seed % 9, ACTIVE, 0);
        unsigned parts[ACTIVE + 1] = {0};
        double wanted = least_borders(graph, ACTIVE, parts, 0, 0) / 2;
        int64_t price[64];
        banyan_fraction strength;
        banyan_spanning *spanning;
        banyan_wide cost;

        assert_int_equal(banyan_strength_prices(graph, &strength, price, &cost, NULL), BANYAN_SUCCESS);
        if (fabs(banyan_fraction_value(strength) - wanted) > 1e-9 * wanted)
            fail_msg("seed %d: %g, not %g", seed, banyan_fraction_value(strength), wanted);
        assert_int_equal(banyan_spanning_create(graph, &spanning, NULL), BANYAN_SUCCESS);
        if (banyan_spanning_tree(spanning, NULL, price, NULL) != (int64_t)cost)
            fail_msg("seed %d: trees do not cost what is said", seed);
        if (fabs((double)banyan_graph_worth(graph, price) / (double)cost / 2 - wanted) > 1e-9 * wanted)
            fail_msg("seed %d: prices prove another rate", seed);
        banyan_spanning_destroy(spanning);
        banyan_graph_destroy(graph);
    }
}

/* Whole capacities pack as many spanning trees as the strength, rounded down, and not one more. */
TEST(disjoint_trees_are_as_many_as_the_strength_allows)
{
    for (int seed = 1; seed <= 60; seed++) {
        banyan_random random = {(uint64_t)seed * 31};
        int nodes = 3 + banyan_random_below(&random, 7), part[16], part_count, found;
        banyan_graph *graph = random_graph(&random, nodes, 2 * nodes, nodes, 0);
        int64_t room[64], used[64] = {0};
        banyan_fraction strength;
        banyan_trees trees;
        int whole;

        assert_int_equal(banyan_strength(graph, &strength, part, &part_count, NULL), BANYAN_SUCCESS);
        whole = (int)(strength.num / strength.den);
        for (int i = 0; i < graph->arc_count; i++)
            room[i] = graph->arcs[i].capacity;
        banyan_trees_init(&trees);
        assert_int_equal(banyan_matroid_partition_trees(graph, room, whole + 1, &trees, &found, NULL),
                         BANYAN_SUCCESS);
        if (found || trees.tree_count)
            fail_msg("seed %d: more trees than there can be", seed);
        assert_int_equal(banyan_matroid_partition_trees(graph, room, whole, &trees, &found, NULL),
                         BANYAN_SUCCESS);
        if (!found || trees.tree_count != (size_t)whole ||
            trees.edge_count != (size_t)whole * (size_t)(nodes - 1))
            fail_msg("seed %d: %zu trees with %zu edges, not %d", seed, trees.tree_count, trees.edge_count,
                     whole);
        for (size_t a = 0; a < trees.arc_count; a++)
            if (++used[banyan_graph_cable(graph, trees.arcs[a])] > room[trees.arcs[a]])
                fail_msg("seed %d: arc %d is overfull", seed, trees.arcs[a]);
        banyan_trees_fini(&trees);
        banyan_graph_destroy(graph);
    }
}

TEST(arborescences_are_the_cheapest)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        banyan_random random = {seed};
        int64_t cost[36], transposed[36];
        int parent[6], scratch[6], n = 6, root = (int)(seed % 6);
        banyan_arborescence *work;

        for (int i = 0; i < 36; i++) {
            cost[i] = banyan_random_below(&random, 10);
            transposed[i % 6 * 6 + i / 6] = cost[i];
        }
        assert_int_equal(banyan_arborescence_create(n, &work, NULL), BANYAN_SUCCESS);
        if (banyan_arborescence_find(work, cost, 0, NULL, root, parent) !=
                cheapest_arborescence(cost, n, root, scratch, 0) ||
            banyan_arborescence_find(work, transposed, 1, NULL, root, parent) !=
                cheapest_arborescence(cost, n, root, scratch, 0))
            fail_msg("seed %d", (int)seed);
        banyan_arborescence_destroy(work);
    }
}

/* The table for few terminals, trying every set of helpers, and plain trees on every set must agree. */
TEST(steiner_trees_are_the_cheapest)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        banyan_random random = {seed};
        banyan_graph *graph = random_graph(&random, 9, 12, 4, BANYAN_NODE_ADDS | BANYAN_NODE_COPIES);
        int64_t price[MOST], best = INT64_MAX, found;
        unsigned char member[9];
        banyan_closure closure;
        banyan_steiner *steiner;
        banyan_spanning *spanning;

        for (int i = 0; i < graph->arc_count; i++)
            price[i] = banyan_graph_cable(graph, i) == i ? banyan_random_below(&random, 20)
                                                         : price[graph->arcs[i].twin];
        assert_int_equal(banyan_spanning_create(graph, &spanning, NULL), BANYAN_SUCCESS);
        for (unsigned set = 0; set < 32; set++) {
            int64_t cost;

            for (int v = 0; v < 9; v++)
                member[v] = v < 4 || (set >> (v - 4) & 1);
            cost = banyan_spanning_tree(spanning, member, price, NULL);
            best = cost >= 0 && cost < best ? cost : best;
        }
        assert_int_equal(banyan_closure_init(&closure, graph, BANYAN_NODE_ADDS, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_steiner_create(&closure, &steiner, NULL), BANYAN_SUCCESS);
        assert_true(banyan_steiner_is_exact(steiner));
        banyan_closure_measure(&closure, price);
        banyan_steiner_prepare(steiner, 0);
        found = banyan_steiner_tree(steiner, 0, NULL);
        if (found != best)
            fail_msg("seed %d: %lld, not %lld", (int)seed, (long long)found, (long long)best);
        banyan_steiner_destroy(steiner);
        banyan_closure_fini(&closure);
        banyan_spanning_destroy(spanning);
        banyan_graph_destroy(graph);
    }
}

TEST(a_program_that_grew_is_solved_from_where_it_was)
{
    const double lower[] = {-1e300, -1e300}, upper[] = {4, 6}, one[] = {1, 1}, two[] = {1, 2};
    const int rows[] = {0, 1};
    banyan_lp *lp;

    assert_int_equal(banyan_lp_create(2, lower, upper, &lp, NULL), BANYAN_SUCCESS);
    banyan_lp_add_column(lp, 1, 2, rows, two);
    assert_int_equal(banyan_lp_solve(lp, NULL), BANYAN_SUCCESS);
    assert_true(fabs(banyan_lp_objective(lp) - 3) < 1e-9);
    banyan_lp_add_column(lp, 1, 2, rows, one);
    assert_int_equal(banyan_lp_solve(lp, NULL), BANYAN_SUCCESS);
    assert_true(fabs(banyan_lp_objective(lp) - 4) < 1e-9);
    assert_true(fabs(banyan_lp_price(lp, 0) - 1) < 1e-9);
    assert_true(fabs(banyan_lp_values(lp)[0] + banyan_lp_values(lp)[1] - 4) < 1e-9);
    banyan_lp_destroy(lp);
}

/* Widths by chance, so that each has one best answer. */
static banyan_lp *make_wide_program(uint64_t noise)
{
    enum { ROWS = 20 };
    double upper[ROWS], value[ROWS];
    int row[ROWS];
    banyan_lp *lp;

    for (int i = 0; i < ROWS; i++) {
        noise = noise * 6364136223846793005u + 1442695040888963407u;
        upper[i] = 1 + (double)(noise >> 40) / 16777216.0;
        row[i] = i;
    }
    assert_int_equal(banyan_lp_create(ROWS, NULL, upper, &lp, NULL), BANYAN_SUCCESS);
    for (int column = 0; column < 2 * ROWS; column++) {
        for (int i = 0; i < ROWS; i++)
            value[i] = (i * column + column) % 7 < 3;
        banyan_lp_add_column(lp, 1, ROWS, row, value);
    }
    return lp;
}

TEST(a_program_may_begin_with_the_basis_of_another)
{
    banyan_lp *first = make_wide_program(1), *alone = make_wide_program(2), *like = make_wide_program(2);

    assert_int_equal(banyan_lp_solve(first, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_lp_solve(alone, NULL), BANYAN_SUCCESS);
    banyan_lp_begin_like(like, first);
    assert_int_equal(banyan_lp_solve(like, NULL), BANYAN_SUCCESS);
    assert_true(fabs(banyan_lp_objective(like) - banyan_lp_objective(alone)) < 1e-9);
    banyan_lp_destroy(first);
    banyan_lp_destroy(alone);
    banyan_lp_destroy(like);
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    for (struct dirent *entry = tasks ? readdir(tasks) : NULL; entry; entry = readdir(tasks))
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

/* A basis so dense and large that LAPACK would share it out, if it could. */
TEST(a_program_is_solved_by_the_calling_thread_alone)
{
    enum { ROWS = 240 };
    double lower[ROWS], upper[ROWS], value[ROWS];
    int row[ROWS], before = count_threads();
    uint64_t noise = 1;
    banyan_lp *lp;

    for (int i = 0; i < ROWS; i++) {
        lower[i] = -1e300;
        upper[i] = 1;
    }
    assert_int_equal(banyan_lp_create(ROWS, lower, upper, &lp, NULL), BANYAN_SUCCESS);
    for (int column = 0; column < 2 * ROWS; column++) {
        int count = 0;

        for (int i = 0; i < ROWS; i++) {
            noise = noise * 6364136223846793005u + 1442695040888963407u;
            if (noise >> 63 || i == column % ROWS) {
                row[count] = i;
                value[count++] = 1 + (double)(noise >> 40) / 16777216.0;
            }
        }
        banyan_lp_add_column(lp, 1, count, row, value);
    }
    assert_int_equal(banyan_lp_solve(lp, NULL), BANYAN_SUCCESS);
    assert_int_equal(count_threads(), before);
    banyan_lp_destroy(lp);
}

/* Packs random sets, of three of the rows each. */
TEST(a_program_that_ends_early_keeps_to_its_rows_and_goes_on)
{
    enum { ROWS = 40, COLUMNS = 300 };
    static const double ones[3] = {1, 1, 1};
    banyan_random random = {.state = 5};
    double upper[ROWS], used[ROWS] = {0}, first, last;
    int sets[COLUMNS][3];
    banyan_lp *lp;

    for (int r = 0; r < ROWS; r++)
        upper[r] = 1 + banyan_random_unit(&random);
    assert_int_equal(banyan_lp_create(ROWS, NULL, upper, &lp, NULL), BANYAN_SUCCESS);
    for (int c = 0; c < COLUMNS; c++) {
        for (int i = 0; i < 3; i++)
            sets[c][i] = (i ? sets[c][i - 1] + 1 : 0) +
                         banyan_random_below(&random, ROWS - 2 + i - (i ? sets[c][i - 1] + 1 : 0));
        banyan_lp_add_column(lp, 1 + banyan_random_unit(&random), 3, sets[c], ones);
    }
    banyan_lp_limit(lp, (int64_t)5 * 3 * COLUMNS); /* five steps */
    assert_int_equal(banyan_lp_solve(lp, NULL), BANYAN_SUCCESS);
    first = banyan_lp_objective(lp);
    for (int c = 0; c < COLUMNS; c++)
        for (int i = 0; i < 3; i++)
            used[sets[c][i]] += banyan_lp_values(lp)[c];
    for (int r = 0; r < ROWS; r++)
        assert_true(used[r] <= upper[r] + 1e-7);
    banyan_lp_limit(lp, 0);
    assert_int_equal(banyan_lp_solve(lp, NULL), BANYAN_SUCCESS);
    last = banyan_lp_objective(lp);
    assert_true(first > 0 && first < last);
    banyan_lp_destroy(lp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bandwidths_become_whole_numbers_of_a_common_unit),
        cmocka_unit_test(the_largest_flow_is_the_smallest_cut),
        cmocka_unit_test(strength_is_the_worst_partition_and_peeling_packs_it),
        cmocka_unit_test(loads_find_the_worst_of_all_partitions),
        cmocka_unit_test(strength_with_switches_is_that_of_the_smallest_cuts_around_parts),
        cmocka_unit_test(disjoint_trees_are_as_many_as_the_strength_allows),
        cmocka_unit_test(arborescences_are_the_cheapest),
        cmocka_unit_test(steiner_trees_are_the_cheapest),
        cmocka_unit_test(a_program_that_grew_is_solved_from_where_it_was),
        cmocka_unit_test(a_program_may_begin_with_the_basis_of_another),
        cmocka_unit_test(a_program_is_solved_by_the_calling_thread_alone),
        cmocka_unit_test(a_program_that_ends_early_keeps_to_its_rows_and_goes_on),
    };

    return cmocka_run_group_tests_name("solve", tests, NULL, NULL);
}
