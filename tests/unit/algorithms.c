/* SPDX-License-Identifier: Apache-2.0 */
/* The classical algorithms: their meaning for many rank counts, their closed forms, options and errors. */
#include "algorithms/algorithms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/alloc.h"
#include "meaning.h"
#include "networks.h"
#include "topology/routes.h"
#include "topology/scale.h"
#include "verify/verify.h"

#define MOST_RANKS 17

static network load(const char *spec, int idle_every)
{
    network net = {0};
    banyan_error err;

    if (banyan_topology_load(spec, &net.topology, &err))
        fail_msg("%s: %s", spec, err.text);
    for (int i = 0; i < net.topology->worker_count; i++)
        if (!idle_every || i % idle_every)
            net.active[net.active_count++] = net.topology->workers[i];
    return net;
}

static banyan_schedule *build_on_star(const char *name, int ranks, banyan_collective collective)
{
    network net = make_star(ranks, 0);
    banyan_problem problem = make_problem(&net, collective);
    banyan_schedule *schedule = build(name, &problem);

    banyan_topology_destroy(net.topology);
    return schedule;
}

/* The sentence with which building fails. */
static const char *complaint(const char *name, const banyan_problem *problem, banyan_status expected,
                             banyan_error *err)
{
    banyan_schedule *schedule = NULL;

    err->text[0] = '\0';
    assert_int_equal(banyan_algorithm_build(banyan_algorithm_find(name), problem, &schedule, err), expected);
    assert_null(schedule);
    return err->text;
}

/* Share of the vector that a node sends in all, as pieces of one size. */
static double sent_by(const banyan_schedule *schedule, int node)
{
    double share = 0;

    for (size_t i = 0; i < schedule->transfer_count; i++)
        if (schedule->transfers[i].src == node)
            share += banyan_schedule_share(schedule, schedule->transfers[i].first_piece,
                                           schedule->transfers[i].piece_count);
    return share;
}

static double most_sent(const banyan_schedule *schedule)
{
    double most = 0;

    for (int rank = 0; rank < schedule->active_count; rank++)
        if (sent_by(schedule, schedule->active[rank]) > most)
            most = sent_by(schedule, schedule->active[rank]);
    return most;
}

static void check_equal(double found, double wanted)
{
    if (found < wanted - 1e-9 || found > wanted + 1e-9)
        fail_msg("%.12g is not %.12g", found, wanted);
}

static int log2_up(int n)
{
    int bits = 0;

    while (1 << bits < n)
        bits++;
    return bits;
}

static int log2_down(int n)
{
    return log2_up(n + 1) - 1;
}

static void check_verdict(const banyan_schedule *schedule, const banyan_topology *topology)
{
    banyan_verdict verdict;

    assert_int_equal(banyan_verify(schedule, topology, &verdict, NULL), BANYAN_SUCCESS);
    if (verdict.problem_count)
        fail_msg("%s of %s on %s: %s", schedule->algorithm, banyan_collective_name(schedule->collective),
                 topology->name, verdict.problems[0]);
}

static void for_each_root(const banyan_algorithm *algorithm, banyan_problem problem)
{
    int has_root = banyan_collective_has_root(problem.collective);

    for (problem.root = 0; problem.root < (has_root ? problem.active_count : 1); problem.root++) {
        banyan_schedule *schedule;

        if (!(algorithm->collectives & (1u << problem.collective)) ||
            banyan_algorithm_applies(algorithm, &problem, NULL))
            continue;
        schedule = build(algorithm->name, &problem);
        assert_int_equal(schedule->collective, problem.collective);
        assert_int_equal(schedule->root, has_root ? problem.root : 0);
        assert_true(meaning_is_right(schedule));
        check_verdict(schedule, problem.topology);
        banyan_schedule_destroy(schedule);
    }
}

static const char *const samples[] = {
    "ring:5",
    "line:4",
    "full:5",
    "switch:7",
    "torus:3x3",
    "torus:4x4",
    "torus:2x3x2",
    "mesh:3x3",
    "mesh:2x4",
    "fattree:3x3",
    "bigraph:2x4",
    "dgx1",
    "hosts:2+3",
    "hosts:3+3+4",
    "racks:2x2x2",
    "pcie:2x4:10",
    "torus:3x4,down=g0-g1",
};

static void every_algorithm_is_proven_on_every_sample_with_all_and_some_workers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (int idle_every = 0; idle_every <= 3; idle_every += 3) {
            network net = load(samples[i], idle_every);

            for (int a = 0; a < banyan_algorithm_count(); a++)
                for (int c = 0; c < BANYAN_COLLECTIVE_COUNT; c++)
                    for_each_root(banyan_algorithm_at(a), make_problem(&net, (banyan_collective)c));
            banyan_topology_destroy(net.topology);
        }
}

static void every_algorithm_does_what_each_of_its_collectives_says(void **state)
{
    (void)state;
    for (int workers = 1; workers <= MOST_RANKS; workers++)
        for (int idle_every = 0; idle_every <= 3; idle_every += 3) {
            network net = make_star(workers + 1, idle_every);

            for (int a = 0; a < banyan_algorithm_count(); a++)
                for (int c = 0; c < BANYAN_COLLECTIVE_COUNT; c++)
                    for_each_root(banyan_algorithm_at(a), make_problem(&net, (banyan_collective)c));
            banyan_topology_destroy(net.topology);
        }
}

static void every_algorithm_gives_a_lone_worker_an_empty_schedule(void **state)
{
    (void)state;
    for (int a = 0; a < banyan_algorithm_count(); a++) {
        banyan_schedule *schedule =
            build_on_star(banyan_algorithm_at(a)->name, 1, BANYAN_COLLECTIVE_ALLREDUCE);

        assert_int_equal(schedule->transfer_count, 0);
        assert_int_equal(schedule->piece_count, 1);
        banyan_schedule_destroy(schedule);
    }
}

static void every_algorithm_says_what_it_is(void **state)
{
    (void)state;
    assert_null(banyan_algorithm_at(-1));
    assert_null(banyan_algorithm_at(banyan_algorithm_count()));
    assert_null(banyan_algorithm_find("rung"));
    for (int a = 0; a < banyan_algorithm_count(); a++) {
        const banyan_algorithm *algorithm = banyan_algorithm_at(a);

        assert_ptr_equal(banyan_algorithm_find(algorithm->name), algorithm);
        assert_true(strlen(algorithm->summary) > 20);
        assert_null(strchr(algorithm->summary, '\n'));
        assert_non_null(algorithm->cost);
        assert_true(algorithm->collectives & BANYAN_CAN(ALLREDUCE));
    }
}

static void schedules_are_labelled_with_algorithm_and_topology(void **state)
{
    banyan_schedule *schedule = build_on_star("direct", 3, BANYAN_COLLECTIVE_ALLREDUCE);

    (void)state;
    assert_string_equal(schedule->algorithm, "direct");
    assert_string_equal(schedule->topology, "star");
    banyan_schedule_destroy(schedule);
}

/* name, rounds, transfers and the most that one rank sends (in vectors), as functions of p. */
typedef struct {
    const char *name;
    int rounds, transfers;
    double volume;
} closed_form;

static void check_closed_form(int p, closed_form form)
{
    banyan_schedule *schedule = build_on_star(form.name, p, BANYAN_COLLECTIVE_ALLREDUCE);

    if (schedule->round_count != form.rounds || (int)schedule->transfer_count != form.transfers)
        fail_msg("%s of %d: %d rounds and %zu transfers, not %d and %d", form.name, p, schedule->round_count,
                 schedule->transfer_count, form.rounds, form.transfers);
    check_equal(most_sent(schedule), form.volume);
    banyan_schedule_destroy(schedule);
}

static void all_reduces_have_the_rounds_transfers_and_volume_of_the_closed_forms(void **state)
{
    (void)state;
    for (int p = 2; p <= MOST_RANKS; p++) {
        int q = 1 << log2_down(p), extra = p - q, bits = log2_down(p), folds = extra ? 2 : 0;
        double share = (double)(p - 1) / p;

        check_closed_form(p, (closed_form){"ring", 2 * (p - 1), 2 * p * (p - 1), 2 * share});
        check_closed_form(p, (closed_form){"bidirectional-ring", 2 * (p - 1), 4 * p * (p - 1), 2 * share});
        check_closed_form(p, (closed_form){"recursive-doubling", bits + folds, q * bits + 2 * extra,
                                           bits + (extra ? 1 : 0)});
        check_closed_form(p, (closed_form){"halving-doubling", 2 * bits + folds, 2 * q * bits + 2 * extra,
                                           2.0 * (q - 1) / q + (extra ? 1 : 0)});
        check_closed_form(p, (closed_form){"binomial", 2 * log2_up(p), 2 * (p - 1), log2_up(p)});
        check_closed_form(p, (closed_form){"parameter-server", 2, 2 * (p - 1), p - 1});
        check_closed_form(p, (closed_form){"parameter-servers", 2, 2 * p * (p - 1), 2 * share});
        check_closed_form(p, (closed_form){"direct", 2 * (p - 1), 2 * p * (p - 1), 2 * share});
    }
}

static void circulant_takes_the_fewest_rounds_and_the_least_volume_for_any_number_of_ranks(void **state)
{
    (void)state;
    for (int p = 2; p <= 40; p++)
        for (int c = BANYAN_COLLECTIVE_ALLREDUCE; c <= BANYAN_COLLECTIVE_ALLGATHER; c++) {
            banyan_schedule *schedule = build_on_star("circulant", p, (banyan_collective)c);
            int phases = c == BANYAN_COLLECTIVE_ALLREDUCE ? 2 : 1;

            assert_int_equal(schedule->round_count, phases * log2_up(p));
            check_equal(most_sent(schedule), phases * (double)(p - 1) / p);
            assert_true(meaning_is_right(schedule));
            banyan_schedule_destroy(schedule);
        }
}

static void double_trees_are_shallow_and_no_rank_is_inner_in_both(void **state)
{
    (void)state;
    for (int p = 2; p <= 63; p++) {
        banyan_schedule *schedule = build_on_star("double-tree", p, BANYAN_COLLECTIVE_ALLREDUCE);
        int ranks = schedule->active_count, inner[2][80] = {{0}};

        assert_int_equal(schedule->transfer_count, 4 * (ranks - 1));
        assert_int_equal(schedule->round_count, 2 * log2_down(ranks));
        for (size_t i = 0; i < schedule->transfer_count; i++)
            if (schedule->transfers[i].action == BANYAN_ACTION_REDUCE)
                inner[schedule->transfers[i].flow][schedule->transfers[i].dst]++;
        for (int rank = 0; rank < ranks; rank++) {
            int node = schedule->active[rank];

            assert_true(inner[0][node] <= 2 && inner[1][node] <= 2);
            assert_false(inner[0][node] && inner[1][node]);
        }
        assert_true(most_sent(schedule) <= 2.0);
        banyan_schedule_destroy(schedule);
    }
}

static void reduce_scatter_and_all_gather_send_the_least_there_is(void **state)
{
    const char *const names[] = {"ring", "bidirectional-ring", "parameter-servers", "direct"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int p = 2; p <= MOST_RANKS; p++)
            for (int c = BANYAN_COLLECTIVE_REDUCE_SCATTER; c <= BANYAN_COLLECTIVE_ALLGATHER; c++) {
                banyan_schedule *schedule = build_on_star(names[i], p, (banyan_collective)c);

                check_equal(most_sent(schedule), (double)(p - 1) / p);
                for (int piece = 0; piece < schedule->piece_count; piece++)
                    assert_int_equal(schedule->owner[piece], piece * p / schedule->piece_count);
                banyan_schedule_destroy(schedule);
            }
}

/* The ranks in the order of the ring, from where rank 0 sends in round 0. */
static void ring_order(const banyan_schedule *schedule, int *order)
{
    int rank_of[128] = {0}, next[128];

    for (int rank = 0; rank < schedule->active_count; rank++)
        rank_of[schedule->active[rank]] = rank;
    for (size_t i = 0; i < schedule->transfer_count && schedule->transfers[i].round == 0; i++)
        next[rank_of[schedule->transfers[i].src]] = rank_of[schedule->transfers[i].dst];
    order[0] = 0;
    for (int i = 1; i < schedule->active_count; i++)
        order[i] = next[order[i - 1]];
}

static void check_order(const network *net, const char *option, const int *wanted)
{
    banyan_parameter parameter = {"order", option};
    banyan_problem problem = make_problem(net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule;
    int order[MOST_WORKERS];

    problem.parameters = &parameter;
    problem.parameter_count = option != NULL;
    schedule = build("ring", &problem);
    ring_order(schedule, order);
    for (int i = 0; i < net->active_count; i++)
        assert_int_equal(order[i], wanted[i]);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
}

static void the_order_option_sets_the_ring(void **state)
{
    network net = make_star(6, 0);

    (void)state;
    check_order(&net, "0,2,4,5,3,1", (int[]){0, 2, 4, 5, 3, 1});
    check_order(&net, "0-2,5-3", (int[]){0, 1, 2, 5, 4, 3});
    check_order(&net, "4,3,0,1,2,5", (int[]){0, 1, 2, 5, 4, 3});
    check_order(&net, NULL, (int[]){0, 1, 2, 3, 4, 5});
    banyan_topology_destroy(net.topology);
}

static void the_default_order_goes_host_by_host(void **state)
{
    banyan_topology_builder builder;
    network net = {0};

    (void)state;
    banyan_topology_builder_init(&builder, "interleaved");
    banyan_topology_add_host(&builder, "h0");
    banyan_topology_add_host(&builder, "h1");
    for (int i = 0; i < 5; i++)
        net.active[net.active_count++] = banyan_topology_add_worker_f(&builder, i % 2, "g%d", i);
    banyan_topology_add_switch(&builder, "s");
    for (int i = 0; i < 5; i++)
        banyan_topology_add_cable(&builder, i, 5, 1e9, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    check_order(&net, NULL, (int[]){0, 2, 4, 1, 3});
    banyan_topology_destroy(net.topology);
}

/* How many steps of the ring meet on its fullest link. */
static int most_steps(const char *spec)
{
    network net = load(spec, 0);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = build("ring", &problem);
    int *steps = calloc((size_t)net.topology->link_count, sizeof *steps), most = 0;
    banyan_routes *routes;

    assert_int_equal(banyan_routes_create(net.topology, &routes, NULL), BANYAN_SUCCESS);
    for (size_t i = 0; i < schedule->transfer_count && schedule->transfers[i].round == 0; i++) {
        const int *links;
        int count;

        assert_int_equal(banyan_routes_find(routes, schedule->transfers[i].src, schedule->transfers[i].dst,
                                            &links, &count, NULL),
                         BANYAN_SUCCESS);
        for (int j = 0; j < count; j++)
            most = ++steps[links[j]] > most ? steps[links[j]] : most;
    }
    free(steps);
    banyan_routes_destroy(routes);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
    return most;
}

/* Host by host and switch by switch, two steps would meet on a cable of the BiGraph with 64 workers. */
static void the_default_order_keeps_steps_apart_on_cables_between_switches(void **state)
{
    (void)state;
    assert_int_equal(most_steps("bigraph:4x8"), 1);
    assert_int_equal(most_steps("bigraph:4x16"), 1);
    assert_int_equal(most_steps("bigraph:2x32"), 1);
    assert_int_equal(most_steps("fattree:8x8:4"), 1);
}

/* The slowest direct link of the ring, or 0 where a step has none. */
static double slowest_step(const char *spec)
{
    network net = load(spec, 0);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = build("ring", &problem);
    double slowest = 1e30;

    for (size_t i = 0; i < schedule->transfer_count && schedule->transfers[i].round == 0; i++) {
        int link =
            banyan_topology_find_link(net.topology, schedule->transfers[i].src, schedule->transfers[i].dst);
        double speed = link < 0 ? 0 : net.topology->links[link].bytes_per_s;

        slowest = speed < slowest ? speed : slowest;
    }
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
    return slowest;
}

static void the_default_order_goes_along_fast_direct_links(void **state)
{
    (void)state;
    check_equal(slowest_step("dgx1") / 50e9, 1); /* the ring of double NVLinks */
    check_equal(slowest_step("torus:4x4,down=g0-g1") > 0, 1);
}

/* Steps of the ring that are no link of the grid. */
static int detours(const network *net)
{
    banyan_problem problem = make_problem(net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_schedule *schedule = build("ring", &problem);
    int count = 0;

    for (size_t i = 0; i < schedule->transfer_count && schedule->transfers[i].round == 0; i++)
        count += banyan_topology_find_link(net->topology, schedule->transfers[i].src,
                                           schedule->transfers[i].dst) < 0;
    banyan_schedule_destroy(schedule);
    return count;
}

static void check_grid(banyan_grid grid, int wanted)
{
    network net = make_grid(grid);

    if (detours(&net) != wanted)
        fail_msg("grid %dx%dx%d wraps %d%d%d: %d detours, not %d", grid.extent[0], grid.extent[1],
                 grid.extent[2], grid.wraps[0], grid.wraps[1], grid.wraps[2], detours(&net), wanted);
    banyan_topology_destroy(net.topology);
}

static void on_grids_the_default_order_is_a_hamiltonian_cycle_where_there_is_one(void **state)
{
    (void)state;
    for (int a = 1; a <= 5; a++)
        for (int b = 1; b <= 5; b++)
            for (int wraps = 0; wraps < 4; wraps++) {
                int wa = wraps & 1, wb = wraps >> 1;
                int is_line = a == 1 || b == 1, is_even = a % 2 == 0 || b % 2 == 0;
                int closes =
                    is_line ? (a == 1 ? wb : wa) || a * b <= 2 : is_even || (wa && a > 2) || (wb && b > 2);

                if (a * b > 1)
                    check_grid((banyan_grid){2, {a, b}, {wa, wb}}, closes ? 0 : 1);
            }
    check_grid((banyan_grid){3, {3, 3, 2}, {0, 0, 0}}, 0);
    check_grid((banyan_grid){3, {4, 4, 4}, {1, 1, 1}}, 0);
    check_grid((banyan_grid){3, {3, 3, 3}, {1, 1, 1}}, 0);
    check_grid((banyan_grid){3, {3, 3, 3}, {0, 0, 0}}, 1);
    check_grid((banyan_grid){3, {3, 5, 3}, {0, 0, 1}}, 0);
}

static void wrong_orders_are_refused_with_a_sentence(void **state)
{
    static const char *const cases[][2] = {
        {"0,1", "option 'order' leaves out rank 2"},
        {"0,1,1,2", "option 'order' names rank 1 twice"},
        {"0,3,1", "option 'order' names rank 3, but ranks are 0 to 2"},
        {"0,99999999999999999999,1", "option 'order' names rank "},
        {"", "option 'order' must be ranks such as 0,2,1 or 0-3, but goes on with ''"},
        {"0,1,2x", "option 'order' must be ranks such as 0,2,1 or 0-3, but goes on with 'x'"},
        {"0,-1", "option 'order' must be ranks such as 0,2,1 or 0-3, but goes on with '-1'"},
    };
    network net = make_star(3, 0);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_parameter parameter = {"order", cases[i][0]};

        problem.parameters = &parameter;
        problem.parameter_count = 1;
        complaint("ring", &problem, BANYAN_INVALID_ARGUMENT, &err);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("'%s' says '%s'", cases[i][0], err.text);
    }
    banyan_topology_destroy(net.topology);
}

static void unknown_options_are_refused_with_a_hint(void **state)
{
    network net = make_star(3, 0);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_parameter parameter = {"ordre", "0,1,2"};
    banyan_error err;

    (void)state;
    problem.parameters = &parameter;
    problem.parameter_count = 1;
    assert_string_equal(complaint("ring", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "ring has no option 'ordre'; did you mean 'order'?");
    assert_string_equal(complaint("direct", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "direct has no option 'ordre': it takes none");
    parameter = (banyan_parameter){"colour", "red"};
    assert_string_equal(complaint("ring", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "ring has no option 'colour' (it has: order)");
    parameter = (banyan_parameter){"root-rank", "3"};
    assert_string_equal(complaint("binomial", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "option 'root-rank' must be a whole number from 0 to 2, not '3'");
    parameter.value = "1 ";
    complaint("parameter-server", &problem, BANYAN_INVALID_ARGUMENT, &err);
    banyan_topology_destroy(net.topology);
}

static void problems_that_make_no_sense_are_refused_with_a_sentence(void **state)
{
    network net = make_star(3, 0);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_BROADCAST);
    banyan_error err;

    (void)state;
    assert_string_equal(complaint("parameter-servers", &problem, BANYAN_UNSUPPORTED, &err),
                        "parameter-servers cannot do broadcast");
    problem.root = 3;
    assert_string_equal(complaint("ring", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "root is rank 3, but ranks are 0 to 2");
    problem.root = 0;
    net.active[0] = 0;
    assert_string_equal(complaint("ring", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "rank 0 is s, which is a switch and holds no data");
    net.active[0] = 2;
    assert_string_equal(complaint("ring", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "active workers must ascend, but rank 1 is node 2 after node 2");
    net.active[2] = 9;
    net.active[0] = 1;
    assert_string_equal(complaint("ring", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "rank 2 is node 9, but star has nodes 0 to 3");
    problem.active_count = 0;
    assert_string_equal(complaint("ring", &problem, BANYAN_INVALID_ARGUMENT, &err),
                        "there must be at least one active worker");
    banyan_topology_destroy(net.topology);
}

static void workers_that_cannot_reach_one_another_are_refused(void **state)
{
    banyan_topology_builder builder;
    network net = {NULL, {0, 1}, 2};
    banyan_problem problem;
    banyan_error err;

    (void)state;
    banyan_topology_builder_init(&builder, "apart");
    banyan_topology_add_worker(&builder, "a", -1);
    banyan_topology_add_worker(&builder, "b", -1);
    banyan_topology_add_link(&builder, 0, 1, 1e9, 0);
    assert_int_equal(banyan_topology_builder_finish(&builder, &net.topology, NULL), BANYAN_SUCCESS);
    problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    for (int a = 0; a < banyan_algorithm_count(); a++)
        assert_true(banyan_algorithm_build(banyan_algorithm_at(a), &problem, &(banyan_schedule *){NULL},
                                           &err) != BANYAN_SUCCESS);
    banyan_topology_destroy(net.topology);
}

/* As many workers as nobody would wait for, on a star; made in a moment, unlike their schedules. */
static void schedules_that_would_be_too_long_are_refused_before_they_are_built(void **state)
{
    static const char *const names[] = {
        "ring",         "bidirectional-ring", "direct",     "parameter-servers",
        "hierarchical", "blueconnect",        "flexreduce", "multitree"};
    banyan_parameter shape = {"shape", "4099"};
    banyan_problem problem = {.collective = BANYAN_COLLECTIVE_ALLREDUCE};
    banyan_topology *topology;
    banyan_error err;
    char most[64];
    int *active;

    (void)state;
    snprintf(most, sizeof most, ", and %d is the most", BANYAN_SCALE_MAX_MOVES);
    assert_int_equal(banyan_topology_load("switch:4099", &topology, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_topology_parse_active(topology, NULL, &active, &problem.active_count, NULL), 0);
    problem.topology = topology;
    problem.active = active;
    problem.parameters = &shape;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        problem.parameter_count = !strcmp(names[i], "hierarchical");
        complaint(names[i], &problem, BANYAN_UNSUPPORTED, &err);
        if (!strstr(err.text, most) && !strstr(err.text, "2048 ranks at most"))
            fail_msg("%s says '%s'", names[i], err.text);
    }
    banyan_free(active);
    banyan_topology_destroy(topology);
}

static void roots_and_servers_can_be_chosen(void **state)
{
    network net = make_star(6, 0);
    banyan_problem problem = make_problem(&net, BANYAN_COLLECTIVE_ALLREDUCE);
    banyan_parameter parameter = {"root-rank", "4"};
    banyan_schedule *schedule;

    (void)state;
    problem.parameters = &parameter;
    problem.parameter_count = 1;
    schedule = build("parameter-server", &problem);
    for (size_t i = 0; i < schedule->transfer_count; i++)
        assert_true(schedule->transfers[i].src == net.active[4] ||
                    schedule->transfers[i].dst == net.active[4]);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    schedule = build("binomial", &problem);
    assert_int_equal(schedule->transfers[schedule->transfer_count - 1].round, 5);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    parameter = (banyan_parameter){"servers", "2"};
    schedule = build("parameter-servers", &problem);
    assert_int_equal(schedule->piece_count, 2);
    assert_int_equal(schedule->transfer_count, 2 * 2 * 5);
    assert_true(meaning_is_right(schedule));
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(net.topology);
}

/* Builds with the first, second, ... allocation failing, until none does. */
static void walk_failures(const banyan_algorithm *algorithm, const banyan_problem *problem)
{
    banyan_schedule *schedule = NULL;
    banyan_error err;

    for (long calls = 0; !schedule; calls++) {
        banyan_status status;

        assert_true(calls < 100000);
        banyan_alloc_fail_after(calls);
        status = banyan_algorithm_build(algorithm, problem, &schedule, &err);
        banyan_alloc_fail_after(-1);
        if (status != BANYAN_SUCCESS && (status != BANYAN_SYSTEM_ERROR || schedule))
            fail_msg("%s, allocation %ld: %s", algorithm->name, calls, err.text);
    }
    banyan_schedule_destroy(schedule);
}

static void every_algorithm_survives_the_failure_of_each_allocation(void **state)
{
    static const char *const specs[] = {"switch:5", "torus:4x4", "bigraph:2x4", "hosts:2+3", "torus:2x3"};
    int walked[64] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        network net = load(specs[i], 0);

        for (int a = 0; a < banyan_algorithm_count(); a++)
            for (int c = 0; c < BANYAN_COLLECTIVE_COUNT; c++) {
                banyan_problem problem = make_problem(&net, (banyan_collective)c);

                if (banyan_algorithm_applies(banyan_algorithm_at(a), &problem, NULL))
                    continue;
                walk_failures(banyan_algorithm_at(a), &problem);
                walked[a] = 1;
            }
        banyan_topology_destroy(net.topology);
    }
    for (int a = 0; a < banyan_algorithm_count(); a++)
        assert_true(walked[a]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_does_what_each_of_its_collectives_says),
        cmocka_unit_test(every_algorithm_is_proven_on_every_sample_with_all_and_some_workers),
        cmocka_unit_test(every_algorithm_gives_a_lone_worker_an_empty_schedule),
        cmocka_unit_test(every_algorithm_says_what_it_is),
        cmocka_unit_test(schedules_are_labelled_with_algorithm_and_topology),
        cmocka_unit_test(all_reduces_have_the_rounds_transfers_and_volume_of_the_closed_forms),
        cmocka_unit_test(circulant_takes_the_fewest_rounds_and_the_least_volume_for_any_number_of_ranks),
        cmocka_unit_test(double_trees_are_shallow_and_no_rank_is_inner_in_both),
        cmocka_unit_test(reduce_scatter_and_all_gather_send_the_least_there_is),
        cmocka_unit_test(the_order_option_sets_the_ring),
        cmocka_unit_test(the_default_order_goes_host_by_host),
        cmocka_unit_test(the_default_order_goes_along_fast_direct_links),
        cmocka_unit_test(the_default_order_keeps_steps_apart_on_cables_between_switches),
        cmocka_unit_test(on_grids_the_default_order_is_a_hamiltonian_cycle_where_there_is_one),
        cmocka_unit_test(wrong_orders_are_refused_with_a_sentence),
        cmocka_unit_test(unknown_options_are_refused_with_a_hint),
        cmocka_unit_test(problems_that_make_no_sense_are_refused_with_a_sentence),
        cmocka_unit_test(workers_that_cannot_reach_one_another_are_refused),
        cmocka_unit_test(schedules_that_would_be_too_long_are_refused_before_they_are_built),
        cmocka_unit_test(roots_and_servers_can_be_chosen),
        cmocka_unit_test(every_algorithm_survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
