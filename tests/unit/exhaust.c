/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/exhaust.c: the search for the cheapest tree, held against minimum spanning trees, or
 * arborescences, over all sets of idle nodes; and bounds that only such a search finds. */
#include "test.h"

#include <math.h>

#include "bound/bound.h"
#include "core/alloc.h"
#include "core/random.h"
#include "solve/oracle/arborescence.h"
#include "solve/oracle/branch_and_bound.h"
#include "solve/oracle/closure.h"
#include "topology/topology.h"

enum { NODES = 16, MOST = 100 };

/* A ring with chords; the first nodes are active, the last ones only forward. */
static banyan_graph *random_graph(banyan_random *random, int active, int forwarders)
{
    int src[MOST], dst[MOST], count = 0;
    unsigned char role[NODES];
    double capacity[MOST];
    banyan_graph_input input = {NODES, role, 0, src, dst, capacity, NULL};
    banyan_graph *graph;

    for (int v = 0; v < NODES; v++)
        role[v] = (unsigned char)(v < active               ? BANYAN_NODE_ACTIVE
                                  : v < NODES - forwarders ? BANYAN_NODE_ADDS | BANYAN_NODE_COPIES
                                                           : 0);
    for (int i = 0; i < 2 * NODES; i++) {
        int a = i < NODES ? i * 7 % NODES : banyan_random_below(random, NODES);
        int b = i < NODES ? (i + 1) * 7 % NODES : banyan_random_below(random, NODES);

        for (int back = 0; back < 2 && a != b; back++) {
            src[count] = back ? b : a;
            dst[count] = back ? a : b;
            capacity[count++] = 1;
        }
    }
    input.arc_count = count;
    assert_int_equal(banyan_graph_create(&input, &graph, NULL), BANYAN_SUCCESS);
    assert_true(graph->symmetric);
    return graph;
}

/* Prim's algorithm over the members; BANYAN_FAR: they are not joined. */
static int64_t span(const banyan_closure *closure, unsigned members)
{
    int64_t far[NODES], sum = 0;
    unsigned done = 0;

    for (int v = 0; v < closure->count; v++)
        far[v] = v ? BANYAN_FAR : 0;
    while (done != members) {
        int next = -1;

        for (int v = 0; v < closure->count; v++)
            if (members >> v & 1 && !(done >> v & 1) && (next < 0 || far[v] < far[next]))
                next = v;
        if (far[next] >= BANYAN_FAR)
            return BANYAN_FAR;
        sum += far[next];
        done |= 1u << next;
        for (int v = 0; v < closure->count; v++)
            far[v] = (int64_t)fmin((double)far[v], (double)closure->distance[next * closure->count + v]);
    }
    return sum;
}

static int64_t cheapest_of_all(const banyan_graph *graph, const int64_t *cost)
{
    int64_t best = BANYAN_FAR;
    banyan_closure closure;

    assert_int_equal(banyan_closure_init(&closure, graph, BANYAN_NODE_ADDS, NULL), BANYAN_SUCCESS);
    banyan_closure_measure(&closure, cost);
    for (unsigned set = 0; set < 1u << (closure.count - graph->active_count); set++) {
        int64_t sum = span(&closure, (1u << graph->active_count) - 1 + (set << graph->active_count));

        best = sum < best ? sum : best;
    }
    banyan_closure_fini(&closure);
    return best;
}

/* The latest tree joins all active nodes, costs so much, and branches only where it may. */
static void check_tree(const banyan_graph *graph, const banyan_trees *trees, const int64_t *cost, int64_t sum)
{
    int top[NODES];

    assert_int_equal(trees->tree_count, 1);
    for (int v = 0; v < NODES; v++)
        top[v] = v;
    for (size_t e = 0; e < trees->edge_count; e++) {
        assert_true(graph->role[trees->edges[e].src] & BANYAN_NODE_ADDS);
        top[banyan_graph_find_top(top, trees->edges[e].src)] =
            banyan_graph_find_top(top, trees->edges[e].dst);
    }
    for (int i = 0; i < graph->active_count; i++)
        assert_int_equal(banyan_graph_find_top(top, graph->active[i]), banyan_graph_find_top(top, 0));
    for (size_t a = 0; a < trees->arc_count; a++)
        sum -= cost[trees->arcs[a]];
    assert_int_equal(sum, 0);
}

TEST(the_cheapest_tree_is_that_of_all_sets_of_idle_nodes)
{
    for (int seed = 1; seed <= 120; seed++) {
        banyan_random random = {(uint64_t)seed};
        int widest = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 20 : 1000000;
        banyan_graph *graph = random_graph(&random, 4 + seed % 4, seed % 2 ? 0 : 2);
        int64_t cost[MOST], least;
        banyan_branch_and_bound *exhaust;
        banyan_trees trees;

        for (int i = 0; i < graph->arc_count; i++)
            if (banyan_graph_cable(graph, i) == i)
                cost[i] = cost[graph->arcs[i].twin] = banyan_random_below(&random, widest);
        banyan_trees_init(&trees);
        least = cheapest_of_all(graph, cost);
        assert_int_equal(banyan_branch_and_bound_create(graph, 10000000, &exhaust, NULL), BANYAN_SUCCESS);
        assert_int_equal(banyan_branch_and_bound_search(exhaust, cost, INT64_MAX, &trees), least);
        check_tree(graph, &trees, cost, least);
        banyan_trees_fini(&trees);
        banyan_trees_init(&trees);
        assert_int_equal(banyan_branch_and_bound_search(exhaust, cost, least, &trees), least);
        assert_int_equal(trees.tree_count, 0);
        banyan_branch_and_bound_destroy(exhaust);
        assert_int_equal(banyan_branch_and_bound_create(graph, 200, &exhaust, NULL), BANYAN_SUCCESS);
        assert_true(banyan_branch_and_bound_search(exhaust, cost, least + 1, NULL) <= least);
        banyan_branch_and_bound_destroy(exhaust);
        banyan_trees_fini(&trees);
        banyan_graph_destroy(graph);
    }
}

static int64_t cheapest_of_root(const banyan_graph *graph, const int64_t *cost, int root, int towards)
{
    unsigned ability = towards ? BANYAN_NODE_ADDS : BANYAN_NODE_COPIES, idle = 0;
    int64_t best = BANYAN_FAR;
    banyan_closure closure;
    banyan_arborescence *work;

    assert_int_equal(banyan_closure_init(&closure, graph, ability, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_arborescence_create(closure.count, &work, NULL), BANYAN_SUCCESS);
    banyan_closure_measure(&closure, cost);
    for (int i = graph->active_count; i < closure.count; i++)
        idle |= closure.node[i] == root ? 0 : 1u << i;
    for (unsigned set = idle;; set = (set - 1) & idle) {
        unsigned char member[NODES];
        int parent[NODES];
        int64_t sum;

        for (int i = 0; i < closure.count; i++)
            member[i] = i < graph->active_count || (set >> i & 1);
        sum = banyan_arborescence_find(work, closure.distance, towards, member, closure.index[root], parent);
        best = sum >= 0 && sum < best ? sum : best;
        if (!set)
            break;
    }
    banyan_arborescence_destroy(work);
    banyan_closure_fini(&closure);
    return best;
}

/* From the root, or to it, every active node is reached, over edges that branch only where they may. */
static void check_rooted_tree(const banyan_graph *graph, const banyan_trees *trees, const int64_t *cost,
                              int root, int towards, int64_t sum)
{
    unsigned ability = towards ? BANYAN_NODE_ADDS : BANYAN_NODE_COPIES, reached = 1u << root;

    assert_int_equal(trees->tree_count, 1);
    for (size_t turn = 0; turn < trees->edge_count; turn++)
        for (size_t e = 0; e < trees->edge_count; e++) {
            int from = towards ? trees->edges[e].dst : trees->edges[e].src;

            assert_true(graph->role[from] & ability);
            if (reached >> from & 1)
                reached |= 1u << (towards ? trees->edges[e].src : trees->edges[e].dst);
        }
    for (int i = 0; i < graph->active_count; i++)
        assert_true(reached >> graph->active[i] & 1);
    for (size_t a = 0; a < trees->arc_count; a++)
        sum -= cost[trees->arcs[a]];
    assert_int_equal(sum, 0);
}

TEST(the_cheapest_tree_of_a_root_is_that_of_all_sets_of_idle_nodes)
{
    for (int seed = 1; seed <= 120; seed++) {
        banyan_random random = {(uint64_t)seed};
        int widest = seed % 3 == 0 ? 3 : seed % 3 == 1 ? 20 : 1000000, towards = seed / 3 % 2;
        int active = 4 + seed % 4, root = banyan_random_below(&random, active + 2);
        banyan_graph *graph = random_graph(&random, active, seed % 2 ? 0 : 2);
        int64_t cost[MOST], least;
        banyan_branch_and_bound *exhaust;
        banyan_trees trees;

        for (int i = 0; i < graph->arc_count; i++)
            cost[i] = banyan_random_below(&random, widest);
        for (int v = active + 2; seed % 5 == 0 && v < NODES; v += 2) /* some only add, or only copy */
            graph->role[v] = (unsigned char)(v & 2 ? BANYAN_NODE_ADDS : BANYAN_NODE_COPIES);
        banyan_trees_init(&trees);
        least = cheapest_of_root(graph, cost, root, towards);
        assert_int_equal(banyan_branch_and_bound_create_rooted(graph, towards, 10000000, &exhaust, NULL),
                         BANYAN_SUCCESS);
        assert_int_equal(banyan_branch_and_bound_search_rooted(exhaust, root, cost, INT64_MAX, &trees),
                         least);
        check_rooted_tree(graph, &trees, cost, root, towards, least);
        banyan_trees_fini(&trees);
        banyan_trees_init(&trees);
        assert_int_equal(banyan_branch_and_bound_search_rooted(exhaust, root, cost, least, &trees), least);
        assert_int_equal(trees.tree_count, 0);
        banyan_branch_and_bound_destroy(exhaust);
        banyan_trees_fini(&trees);
        banyan_graph_destroy(graph);
    }
}

/* Cuts allow 0.2 % more than trees can do; a search finds that, and a patient one nothing else. */
TEST(a_search_lowers_a_bound_to_what_trees_reach)
{
    banyan_topology *topology;
    int *active, count;
    banyan_bound quick, patient;

    assert_int_equal(banyan_topology_load("torus:6x7", &topology, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_topology_parse_active(topology, "0,3,4,6-8,10,12-16,18-24,26,28-32,34-38,41",
                                                  &active, &count, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_bound_find(topology, active, count, BANYAN_RELAYS_ADD, &quick, NULL),
                     BANYAN_SUCCESS);
    assert_int_equal(banyan_bound_search(topology, active, count, BANYAN_RELAYS_ADD, &patient, NULL),
                     BANYAN_SUCCESS);
    assert_true(quick.reached_bytes_per_s > quick.allreduce.bytes_per_s * (1 - 1e-7));
    assert_true(fabs(patient.allreduce.bytes_per_s / quick.allreduce.bytes_per_s - 1) < 1e-7);
    assert_true(patient.reached_bytes_per_s > patient.allreduce.bytes_per_s * (1 - 1e-7));
    assert_int_equal(banyan_bound_check_certificate(topology, active, count, &patient, NULL), BANYAN_SUCCESS);
    banyan_bound_fini(&quick);
    banyan_bound_fini(&patient);
    banyan_free(active);
    banyan_topology_destroy(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cheapest_tree_is_that_of_all_sets_of_idle_nodes),
        cmocka_unit_test(the_cheapest_tree_of_a_root_is_that_of_all_sets_of_idle_nodes),
        cmocka_unit_test(a_search_lowers_a_bound_to_what_trees_reach),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
