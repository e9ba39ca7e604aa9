/* SPDX-License-Identifier: Apache-2.0 */
/* The executor against the reference: every type and op, every algorithm, random schedules of any kind, odd
 * sizes, slices of one element; and what happens when a peer is missing, fails, or memory runs out.
 *
 * Of the algorithms each size has one of the slices, in turn, and there are 100 random schedules;
 * BANYAN_TEST_ALL: all slices, and 400. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/random.h"
#include "execute/average.h"
#include "execute/local.h"
#include "execute/reference.h"
#include "execute/run.h"
#include "schedule/build.h"
#include "topology/build.h"
#include "transport/memory.h"

enum { MOST_RANKS = 64 };

static const int everybody[MOST_RANKS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                          16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                          32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                          48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Buffers of one run, twice: for the executor and for the reference. */
typedef struct {
    int ranks;
    size_t bytes;
    void *run[MOST_RANKS], *reference[MOST_RANKS];
} buffers;

static void fill(buffers *b, const banyan_schedule *schedule, size_t bytes, uint64_t seed)
{
    banyan_random random = {seed};

    b->ranks = schedule->active_count;
    b->bytes = bytes;
    for (int rank = 0; rank < b->ranks; rank++) {
        b->run[rank] = malloc(bytes + 1);
        b->reference[rank] = malloc(bytes + 1);
        for (size_t i = 0; i < bytes; i++)
            ((unsigned char *)b->run[rank])[i] = (unsigned char)banyan_random_next(&random);
        memcpy(b->reference[rank], b->run[rank], bytes);
    }
}

static void drop(buffers *b)
{
    for (int rank = 0; rank < b->ranks; rank++) {
        free(b->run[rank]);
        free(b->reference[rank]);
    }
}

/* Of an average only what is a result is settled: a sum that is made on the way may be divided there. */
static int is_settled(const banyan_schedule *schedule, banyan_op op, int rank, size_t element, size_t count)
{
    size_t begin, end;

    for (int piece = 0; op == BANYAN_AVG && piece < schedule->piece_count; piece++) {
        banyan_schedule_elements(schedule, count, piece, 1, &begin, &end);
        if (element >= begin && element < end)
            return banyan_schedule_is_result(schedule, rank, piece);
    }
    return 1;
}

static int differs(const buffers *b, const banyan_schedule *schedule, banyan_op op, int rank, size_t count)
{
    size_t width = count ? b->bytes / count : 0;
    const char *run = b->run[rank], *reference = b->reference[rank];

    for (size_t i = 0; memcmp(run, reference, b->bytes) != 0 && i < count; i++)
        if (memcmp(run + i * width, reference + i * width, width) != 0 &&
            is_settled(schedule, op, rank, i, count))
            return 1;
    return 0;
}

/* Runs both and compares every byte of every rank, whatever the schedule means. */
static void check_against_reference(const banyan_schedule *schedule, size_t count, banyan_datatype type,
                                    banyan_op op, size_t slice_bytes, const char *what)
{
    buffers b;
    banyan_local_options options = {.slice_bytes = slice_bytes};
    banyan_error err = {""};

    fill(&b, schedule, count * banyan_datatype_bytes(type), 17 + count);
    if (banyan_execute_local(schedule, count, type, op, b.run, &options, NULL, &err))
        fail_msg("%s: %s", what, err.text);
    assert_int_equal(banyan_reference_run(schedule, count, type, op, b.reference, &err), BANYAN_SUCCESS);
    for (int rank = 0; rank < b.ranks; rank++)
        if (differs(&b, schedule, op, rank, count))
            fail_msg("%s: rank %d differs from the reference (%zu %s, %s, slices of %zu bytes)", what, rank,
                     count, banyan_datatype_string(type), banyan_op_string(op), slice_bytes);
    if (schedule->collective == BANYAN_COLLECTIVE_ALLREDUCE)
        for (int rank = 1; rank < b.ranks; rank++)
            if (memcmp(b.run[rank], b.run[0], b.bytes))
                fail_msg("%s: ranks 0 and %d differ (%zu %s, %s)", what, rank, count,
                         banyan_datatype_string(type), banyan_op_string(op));
    drop(&b);
}

/* Cuts a rank's vector into parts of uneven lengths, each in memory of its own with a gap before it; every
 * third part is in place. Returns the parts; memory holds them all. */
static size_t scatter(const char *input, size_t count, size_t width, uint64_t seed, banyan_part *parts,
                      char **memory)
{
    banyan_random random = {seed};
    size_t made = 0, at = 0;
    char *into = malloc(count * width + 3 * count + 8), *place = into;

    while (at < count) {
        size_t length = 1 + (size_t)banyan_random_below(&random, (int)(count / 3 + 1));

        length = length < count - at ? length : count - at;
        place += banyan_random_below(&random, 3);
        parts[made] = (banyan_part){at, place, input + at * width};
        if (made % 3 == 2) {
            memcpy(place, input + at * width, length * width);
            parts[made].from = place;
        }
        place += length * width;
        at += length;
        made++;
    }
    *memory = into;
    return made;
}

/* The same result when inputs lie apart, in pieces, and stay as they were. Every piece counts as a result
 * here. */
static void check_apart(banyan_schedule *schedule, size_t count, banyan_datatype type, banyan_op op,
                        size_t slice_bytes, const char *what)
{
    enum { MOST_PARTS = 512 };
    size_t width = banyan_datatype_bytes(type), part_counts[MOST_RANKS];
    static banyan_part parts[MOST_RANKS][MOST_PARTS];
    const banyan_part *lists[MOST_RANKS];
    char *memory[MOST_RANKS], *before;
    banyan_collective collective = schedule->collective;
    banyan_local_options options = {.slice_bytes = slice_bytes, .parts = lists, .part_counts = part_counts};
    banyan_error err = {""};
    buffers b;

    assert_true(count < MOST_PARTS);
    fill(&b, schedule, count * width, 23 + count);
    before = malloc(b.bytes + 1);
    schedule->collective = BANYAN_COLLECTIVE_ALLREDUCE;
    for (int rank = 0; rank < b.ranks; rank++) {
        lists[rank] = parts[rank];
        part_counts[rank] =
            scatter(b.run[rank], count, width, (uint64_t)rank + count, parts[rank], &memory[rank]);
    }
    memcpy(before, b.run[0], b.bytes);
    if (banyan_execute_local(schedule, count, type, op, NULL, &options, NULL, &err))
        fail_msg("%s: %s", what, err.text);
    assert_memory_equal(before, b.run[0], b.bytes);
    assert_int_equal(banyan_reference_run(schedule, count, type, op, b.reference, &err), BANYAN_SUCCESS);
    for (int rank = 0; rank < b.ranks; rank++)
        for (size_t i = 0; i < part_counts[rank]; i++) {
            const banyan_part *p = &parts[rank][i];
            size_t end = i + 1 < part_counts[rank] ? p[1].first : count;

            if (memcmp(p->into, (char *)b.reference[rank] + p->first * width, (end - p->first) * width))
                fail_msg("%s: rank %d, part %zu differs from the reference (%zu %s, slices of %zu bytes)",
                         what, rank, i, count, banyan_datatype_string(type), slice_bytes);
        }
    schedule->collective = collective;
    for (int rank = 0; rank < b.ranks; rank++)
        free(memory[rank]);
    free(before);
    drop(&b);
}

static banyan_schedule *finish(banyan_builder *builder)
{
    banyan_schedule *schedule = NULL;
    banyan_error err = {""};

    if (banyan_builder_finish(builder, &schedule, &err))
        fail_msg("%s", err.text);
    return schedule;
}

/* 0 and 1 exchange and add: the smallest schedule that needs staging. */
static banyan_schedule *make_exchange(void)
{
    banyan_builder builder;

    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, 2, everybody, 2);
    banyan_builder_cut_evenly(&builder, 1);
    banyan_builder_reduce(&builder, 0, 0, 1, 0, 1, 0);
    banyan_builder_reduce(&builder, 0, 1, 0, 0, 1, 0);
    return finish(&builder);
}

/* Both pieces are exchanged in one round, in opposite orders. */
static banyan_schedule *make_crossed_exchange(void)
{
    banyan_builder builder;

    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, 2, everybody, 2);
    banyan_builder_cut_evenly(&builder, 2);
    banyan_builder_reduce(&builder, 0, 0, 1, 1, 1, 0);
    banyan_builder_reduce(&builder, 0, 0, 1, 0, 1, 0);
    banyan_builder_reduce(&builder, 0, 1, 0, 0, 1, 0);
    banyan_builder_reduce(&builder, 0, 1, 0, 1, 1, 0);
    return finish(&builder);
}

/* A chain 0 -> 1 -> 2 -> 3 and back, with uneven pieces: slices stream through it. */
static banyan_schedule *make_chain(void)
{
    static const int64_t cut[] = {0, 1, 10, 12};
    banyan_builder builder;

    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, 4, everybody, 4);
    banyan_builder_cut(&builder, 12, cut, 3);
    for (int i = 0; i < 3; i++)
        banyan_builder_reduce(&builder, i, i, i + 1, 0, 3, 0);
    for (int i = 3; i > 0; i--)
        banyan_builder_copy(&builder, 6 - i, i, i - 1, 0, 3, 0);
    return finish(&builder);
}

/* Ranks 0, 1 and 3 meet at node 2, which is not active. */
static banyan_schedule *make_relay(void)
{
    static const int active[] = {0, 1, 3};
    banyan_builder builder;

    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, 4, active, 3);
    banyan_builder_cut_evenly(&builder, 2);
    banyan_builder_copy(&builder, 0, 0, 2, 0, 2, 0);
    banyan_builder_reduce(&builder, 1, 1, 2, 0, 2, 0);
    banyan_builder_reduce(&builder, 1, 3, 2, 0, 2, 0);
    for (int i = 0; i < 3; i++)
        banyan_builder_copy(&builder, 2, 2, active[i], 0, 2, 0);
    return finish(&builder);
}

static const size_t slices[] = {1, 24, 0};
static const size_t counts[] = {0, 1, 2, 5, 37, 1000};

/* Where turn is not negative and not all are asked for, each count has one of the slices. */
static void check_sizes(const banyan_schedule *schedule, int turn, const char *what)
{
    int is_one = turn >= 0 && !getenv("BANYAN_TEST_ALL");

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t fitting = counts[i] <= 37 ? 0 : 1; /* one element a slice takes long for many */

        for (size_t j = fitting; j < sizeof slices / sizeof *slices; j++)
            if (!is_one || (i + (size_t)turn) % (sizeof slices / sizeof *slices - fitting) == j - fitting)
                check_against_reference(schedule, counts[i], BANYAN_FLOAT32, BANYAN_SUM, slices[j], what);
    }
}

static void every_type_and_op_matches_the_reference(void **state)
{
    banyan_schedule *(*const makers[])(void) = {make_exchange, make_crossed_exchange, make_chain, make_relay};
    static const char *const names[] = {"exchange", "crossed exchange", "chain", "relay"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        banyan_schedule *schedule = makers[i]();

        for (int type = 0; type <= BANYAN_BFLOAT16; type++)
            for (int op = 0; op <= BANYAN_AVG; op++) {
                check_against_reference(schedule, 37, (banyan_datatype)type, (banyan_op)op, 1, names[i]);
                check_against_reference(schedule, 1000, (banyan_datatype)type, (banyan_op)op, 64, names[i]);
            }
        check_sizes(schedule, -1, names[i]);
        banyan_schedule_destroy(schedule);
    }
}

/* The last of three transfers to rank 1 completes both pieces, or each completes one of its own. */
static banyan_schedule *make_meeting(int is_uneven)
{
    banyan_builder builder;

    banyan_builder_init(&builder, BANYAN_COLLECTIVE_ALLREDUCE, 0, 3, everybody, 3);
    banyan_builder_cut_evenly(&builder, 2);
    banyan_builder_reduce(&builder, 0, 0, 1, 0, is_uneven ? 1 : 2, 0);
    banyan_builder_reduce(&builder, 1, 2, 1, 0, 2, 0);
    if (is_uneven)
        banyan_builder_reduce(&builder, 2, 0, 1, 1, 1, 0);
    banyan_builder_copy(&builder, 3, 1, 0, 0, 2, 0);
    banyan_builder_copy(&builder, 3, 1, 2, 0, 2, 0);
    return finish(&builder);
}

static int count_completing(const banyan_schedule *schedule, int *at_end)
{
    banyan_dependencies *dependencies = NULL;
    int count = 0;

    *at_end = 0;
    assert_int_equal(banyan_dependencies_derive(schedule, &dependencies, NULL), BANYAN_SUCCESS);
    for (int node = 0; node < schedule->node_count; node++) {
        banyan_program *program = NULL;

        assert_int_equal(banyan_program_compile(schedule, dependencies, node, &program, NULL),
                         BANYAN_SUCCESS);
        for (int i = 0; i < program->operation_count; i++)
            count += program->operations[i].completes;
        *at_end += program->divides_at_end;
        banyan_program_destroy(program);
    }
    banyan_dependencies_destroy(dependencies);
    return count;
}

static void an_average_is_made_where_a_sum_becomes_whole(void **state)
{
    struct {
        banyan_schedule *schedule;
        int completing, at_end; /* operations and nodes, of all */
    } cases[] = {{make_exchange(), 2, 0},         {make_chain(), 1, 0},    {make_relay(), 1, 0},
                 {make_crossed_exchange(), 4, 0}, {make_meeting(0), 1, 0}, {make_meeting(1), 2, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int at_end, completing = count_completing(cases[i].schedule, &at_end);

        if (completing != cases[i].completing || at_end != cases[i].at_end)
            fail_msg("schedule %zu: %d operations complete sums, %d nodes divide at the end", i, completing,
                     at_end);
        check_against_reference(cases[i].schedule, 1000, BANYAN_FLOAT32, BANYAN_AVG, 64, "average");
        banyan_schedule_destroy(cases[i].schedule);
    }
}

static void large_buffers_match_the_reference(void **state)
{
    banyan_schedule *exchange = make_exchange(), *chain = make_chain();

    (void)state;
    check_against_reference(exchange, 1000003, BANYAN_FLOAT32, BANYAN_SUM, 0, "exchange");
    check_against_reference(chain, 1000003, BANYAN_FLOAT16, BANYAN_AVG, 0, "chain");
    banyan_schedule_destroy(exchange);
    banyan_schedule_destroy(chain);
}

/* Any transfers at all: what they compute is nonsense, but executor and reference must agree on it. */
static banyan_schedule *make_random(uint64_t seed)
{
    banyan_random random = {seed};
    int nodes = 2 + banyan_random_below(&random, 5), pieces = 1 + banyan_random_below(&random, 5);
    int active = 1 + banyan_random_below(&random, nodes), rounds = 1 + banyan_random_below(&random, 6);
    int transfers = banyan_random_below(&random, 40), flows = 1 + banyan_random_below(&random, 3);
    banyan_builder builder;

    banyan_builder_init(&builder, BANYAN_COLLECTIVE_REDUCE, 0, nodes, everybody, active);
    banyan_builder_cut_evenly(&builder, pieces);
    for (int i = 0; i < transfers; i++) {
        int first = banyan_random_below(&random, pieces), src = banyan_random_below(&random, nodes);

        banyan_builder_add(
            &builder, (banyan_transfer){.round = banyan_random_below(&random, rounds),
                                        .src = src,
                                        .dst = (src + 1 + banyan_random_below(&random, nodes - 1)) % nodes,
                                        .first_piece = first,
                                        .piece_count = 1 + banyan_random_below(&random, pieces - first),
                                        .action = (banyan_action)banyan_random_below(&random, 2),
                                        .flow = banyan_random_below(&random, flows),
                                        .route = -1});
    }
    return finish(&builder);
}

static void random_schedules_match_the_reference_and_never_stand_still(void **state)
{
    uint64_t seeds = getenv("BANYAN_TEST_ALL") ? 400 : 100;

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        banyan_schedule *schedule = make_random(seed);
        char what[40];

        snprintf(what, sizeof what, "random schedule, seed %d", (int)seed);
        check_against_reference(schedule, 11, BANYAN_INT32, BANYAN_SUM, 1, what);
        check_against_reference(schedule, 100, BANYAN_FLOAT32, BANYAN_SUM, 12, what);
        check_apart(schedule, 100, BANYAN_INT32, BANYAN_SUM, 12, what);
        check_apart(schedule, 7, BANYAN_INT64, BANYAN_MAX, 0, what);
        banyan_schedule_destroy(schedule);
    }
}

static banyan_topology *make_full(int workers)
{
    banyan_topology_builder builder;
    banyan_topology *topology = NULL;

    banyan_topology_builder_init(&builder, "full");
    for (int i = 0; i < workers; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < workers; i++)
        for (int j = i + 1; j < workers; j++)
            banyan_topology_add_cable(&builder, i, j, 1e9, 1e-6);
    assert_int_equal(banyan_topology_builder_finish(&builder, &topology, NULL), BANYAN_SUCCESS);
    return topology;
}

static void check_algorithm(const banyan_algorithm *algorithm, const banyan_topology *topology, int ranks)
{
    for (int collective = 0; collective < BANYAN_COLLECTIVE_COUNT; collective++) {
        banyan_problem problem = {.topology = topology,
                                  .active = everybody,
                                  .active_count = ranks,
                                  .collective = (banyan_collective)collective,
                                  .root = ranks - 1};
        banyan_schedule *schedule = NULL;
        char what[100];

        if (collective != BANYAN_COLLECTIVE_BROADCAST && collective != BANYAN_COLLECTIVE_REDUCE)
            problem.root = 0;
        if (banyan_algorithm_applies(algorithm, &problem, NULL))
            continue;
        assert_int_equal(banyan_algorithm_build(algorithm, &problem, &schedule, NULL), BANYAN_SUCCESS);
        snprintf(what, sizeof what, "%s %s on %d ranks", algorithm->name,
                 banyan_collective_name((banyan_collective)collective), ranks);
        check_sizes(schedule, collective + ranks, what);
        check_against_reference(schedule, 501, BANYAN_BFLOAT16, BANYAN_AVG, 100, what);
        check_against_reference(schedule, 77, BANYAN_INT64, BANYAN_PROD, 8, what);
        /* averages only of what is whole: elsewhere both may leave what they like */
        check_apart(schedule, 501, BANYAN_FLOAT32,
                    collective == BANYAN_COLLECTIVE_ALLREDUCE ? BANYAN_AVG : BANYAN_SUM, 64, what);
        check_apart(schedule, 3, BANYAN_BFLOAT16, BANYAN_SUM, 0, what);
        banyan_schedule_destroy(schedule);
    }
}

static void every_algorithm_matches_the_reference(void **state)
{
    static const int sizes[] = {1, 2, 3, 5, 8};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        banyan_topology *topology = make_full(sizes[s]);

        for (int i = 0; i < banyan_algorithm_count(); i++)
            check_algorithm(banyan_algorithm_at(i), topology, sizes[s]);
        banyan_topology_destroy(topology);
    }
}

static void unaligned_buffers_work(void **state)
{
    banyan_schedule *schedule = make_exchange();
    unsigned char *a = malloc(4 * 100 + 1), *b = malloc(4 * 100 + 3);
    void *both[] = {a + 1, b + 3};

    (void)state;
    for (int i = 0; i < 100; i++) {
        float x = (float)i, y = 1000.0f;

        memcpy(a + 1 + 4 * i, &x, 4);
        memcpy(b + 3 + 4 * i, &y, 4);
    }
    assert_int_equal(banyan_execute_local(schedule, 100, BANYAN_FLOAT32, BANYAN_SUM, both, NULL, NULL, NULL),
                     BANYAN_SUCCESS);
    for (int i = 0; i < 100; i++) {
        float x, y;

        memcpy(&x, a + 1 + 4 * i, 4);
        memcpy(&y, b + 3 + 4 * i, 4);
        assert_true(x == 1000.0f + (float)i && x == y);
    }
    free(a);
    free(b);
    banyan_schedule_destroy(schedule);
}

static void the_timeline_orders_dependent_transfers(void **state)
{
    banyan_schedule *schedule = make_chain();
    banyan_timeline *timeline = NULL;
    buffers b;

    (void)state;
    fill(&b, schedule, 4096, 3);
    assert_int_equal(
        banyan_execute_local(schedule, 1024, BANYAN_INT32, BANYAN_SUM, b.run, NULL, &timeline, NULL),
        BANYAN_SUCCESS);
    assert_int_equal(timeline->count, 6);
    for (size_t i = 0; i < timeline->count; i++) {
        assert_true(timeline->begin_s[i] >= 0 && timeline->begin_s[i] <= timeline->end_s[i]);
        assert_true(timeline->end_s[i] <= timeline->total_s);
        assert_true(i == 0 || timeline->begin_s[i] >= timeline->begin_s[i - 1]);
    }
    banyan_timeline_destroy(timeline);
    drop(&b);
    banyan_schedule_destroy(schedule);
}

static void bad_arguments_are_named(void **state)
{
    banyan_schedule *schedule = make_exchange();
    banyan_error err = {""};
    void *none[2] = {NULL, NULL};

    (void)state;
    assert_int_equal(
        banyan_execute_local(schedule, 1, (banyan_datatype)10, BANYAN_SUM, none, NULL, NULL, &err),
        BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "datatype 10 and op 0 are not both known");
    assert_int_equal(
        banyan_execute_local(schedule, SIZE_MAX / 4, BANYAN_FLOAT64, BANYAN_SUM, none, NULL, NULL, &err),
        BANYAN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "do not fit in memory"));
    assert_int_equal(banyan_execute_local(schedule, 0, BANYAN_FLOAT64, BANYAN_SUM, none, NULL, NULL, &err),
                     BANYAN_SUCCESS);
    banyan_schedule_destroy(schedule);
}

/* Nodes driven one by one, so that some can be missing. */
typedef struct {
    banyan_schedule *schedule;
    banyan_memory_hub *hub;
    banyan_program *programs[4];
    banyan_endpoint *ends[4];
    banyan_runner *runners[4];
    float data[4][64];
} stage;

static void set_up(stage *s, banyan_schedule *schedule, size_t slice_bytes)
{
    banyan_dependencies *dependencies = NULL;

    *s = (stage){.schedule = schedule};
    assert_int_equal(banyan_dependencies_derive(schedule, &dependencies, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_memory_hub_create(schedule->node_count, &s->hub, NULL), BANYAN_SUCCESS);
    for (int i = 0; i < schedule->node_count; i++) {
        banyan_opening opening = {i, schedule->node_count, s->hub};

        assert_int_equal(banyan_program_compile(schedule, dependencies, i, &s->programs[i], NULL),
                         BANYAN_SUCCESS);
        assert_int_equal(banyan_transport_memory.open(&opening, &s->ends[i], NULL), BANYAN_SUCCESS);
        assert_int_equal(
            banyan_runner_create(s->programs[i], s->ends[i], slice_bytes, 1000, &s->runners[i], NULL),
            BANYAN_SUCCESS);
        for (int j = 0; j < 64; j++)
            s->data[i][j] = (float)(i + 1);
    }
    banyan_dependencies_destroy(dependencies);
}

static void tear_down(stage *s)
{
    for (int i = 0; i < s->schedule->node_count; i++) {
        banyan_runner_destroy(s->runners[i]);
        banyan_transport_memory.close(s->ends[i]);
        banyan_program_destroy(s->programs[i]);
    }
    banyan_memory_hub_destroy(s->hub);
    banyan_schedule_destroy(s->schedule);
}

static banyan_status run_node(stage *s, int node, int timeout_ms, banyan_error *err)
{
    banyan_run_request request = {.buffer = s->data[node],
                                  .count = 64,
                                  .type = BANYAN_FLOAT32,
                                  .op = BANYAN_SUM,
                                  .timeout_ms = timeout_ms};

    return banyan_runner_run(s->runners[node], &request, err);
}

static void a_missing_peer_is_a_time_out_that_names_both(void **state)
{
    stage s;
    banyan_error err = {""};

    (void)state;
    set_up(&s, make_chain(), 0);
    assert_int_equal(run_node(&s, 1, 30, &err), BANYAN_TIMEOUT);
    assert_string_equal(err.text, "rank 1 waited 30 ms for rank 0 to send transfer 0 (round 0, flow 0)");
    /* the others learn of it at once */
    assert_int_equal(run_node(&s, 0, 10000, &err), BANYAN_TIMEOUT);
    assert_string_equal(err.text, "rank 1 waited 30 ms for rank 0 to send transfer 0 (round 0, flow 0)");
    tear_down(&s);
}

static void a_peer_that_does_not_take_is_named_too(void **state)
{
    static const int active[] = {0, 2};
    banyan_builder builder;
    stage s;
    banyan_error err = {""};

    (void)state;
    banyan_builder_init(&builder, BANYAN_COLLECTIVE_BROADCAST, 0, 3, active, 2);
    banyan_builder_cut_evenly(&builder, 1);
    banyan_builder_copy(&builder, 0, 0, 1, 0, 1, 0);
    banyan_builder_copy(&builder, 1, 1, 2, 0, 1, 0);
    set_up(&s, finish(&builder), 0);
    assert_int_equal(run_node(&s, 0, 30, &err), BANYAN_TIMEOUT);
    assert_string_equal(err.text,
                        "rank 0 waited 30 ms for relay node 1 to take transfer 0 (round 0, flow 0)");
    assert_int_equal(run_node(&s, 1, 10000, &err), BANYAN_TIMEOUT);
    tear_down(&s);
}

typedef struct {
    stage *stage;
    int node;
    banyan_status status;
    banyan_error err;
} runner_thread;

static void *run_in_thread(void *argument)
{
    runner_thread *t = argument;

    t->status = run_node(t->stage, t->node, 20000, &t->err);
    return NULL;
}

static void an_abort_wakes_a_sleeping_rank(void **state)
{
    stage s;
    pthread_t thread;
    runner_thread t;

    (void)state;
    set_up(&s, make_chain(), 0);
    t = (runner_thread){.stage = &s, .node = 2};
    pthread_create(&thread, NULL, run_in_thread, &t);
    banyan_transport_memory.wait(s.ends[0], banyan_clock_ns() + 20000000, NULL);
    banyan_transport_memory.abort(s.ends[0], BANYAN_REMOTE_ERROR, "rank 0 was stopped by its user");
    pthread_join(thread, NULL);
    assert_int_equal(t.status, BANYAN_REMOTE_ERROR);
    assert_string_equal(t.err.text, "rank 0 was stopped by its user");
    tear_down(&s);
}

static void a_runner_runs_again_and_again(void **state)
{
    stage s;

    (void)state;
    set_up(&s, make_exchange(), 4);
    for (int round = 0; round < 50; round++) {
        pthread_t thread;
        runner_thread t = {.stage = &s, .node = 1};

        for (int j = 0; j < 64; j++)
            s.data[0][j] = s.data[1][j] = (float)round;
        pthread_create(&thread, NULL, run_in_thread, &t);
        assert_int_equal(run_node(&s, 0, 20000, NULL), BANYAN_SUCCESS);
        pthread_join(thread, NULL);
        assert_int_equal(t.status, BANYAN_SUCCESS);
        for (int j = 0; j < 64; j++)
            assert_true(s.data[0][j] == 2 * (float)round && s.data[1][j] == s.data[0][j]);
    }
    tear_down(&s);
}

/* A transport that takes and shows a few bytes at a time, never a whole element. */
static size_t offer_crumbs(banyan_endpoint *end, int peer, int stream, const void *memory, size_t bytes)
{
    return banyan_transport_memory.offer(end, peer, stream, memory, bytes < 5 ? bytes : 5);
}

static size_t peek_crumbs(banyan_endpoint *end, int peer, int stream, const void **memory)
{
    size_t bytes = banyan_transport_memory.peek(end, peer, stream, memory);

    return bytes < 3 ? bytes : 3;
}

static void bytes_may_arrive_split_inside_elements(void **state)
{
    banyan_transport crumbs = banyan_transport_memory;

    (void)state;
    crumbs.offer = offer_crumbs;
    crumbs.peek = peek_crumbs;
    for (size_t slice_bytes = 1; slice_bytes <= 64; slice_bytes *= 4) {
        stage s;
        pthread_t thread;
        runner_thread t = {.stage = &s, .node = 1};

        set_up(&s, make_crossed_exchange(), slice_bytes);
        for (int i = 0; i < 2; i++) {
            banyan_runner_destroy(s.runners[i]);
            s.ends[i]->transport = &crumbs;
            assert_int_equal(
                banyan_runner_create(s.programs[i], s.ends[i], slice_bytes, 1000, &s.runners[i], NULL),
                BANYAN_SUCCESS);
        }
        pthread_create(&thread, NULL, run_in_thread, &t);
        assert_int_equal(run_node(&s, 0, 20000, NULL), BANYAN_SUCCESS);
        pthread_join(thread, NULL);
        assert_int_equal(t.status, BANYAN_SUCCESS);
        for (int j = 0; j < 64; j++)
            assert_true(s.data[0][j] == 3 && s.data[1][j] == 3);
        tear_down(&s);
    }
}

static void survives_the_failure_of_each_allocation(void **state)
{
    banyan_schedule *schedule = make_relay();
    banyan_local_options options = {.slice_bytes = 8};
    int done = 0;

    (void)state;
    for (long calls = 0; !done; calls++) {
        banyan_timeline *timeline = NULL;
        banyan_error err = {""};
        banyan_status status;
        buffers b;

        fill(&b, schedule, 400, 1);
        banyan_alloc_fail_after(calls);
        status =
            banyan_execute_local(schedule, 100, BANYAN_FLOAT32, BANYAN_SUM, b.run, &options, &timeline, &err);
        banyan_alloc_fail_after(-1);
        done = !status;
        assert_true(done == (timeline != NULL));
        if (!done)
            assert_int_equal(status, BANYAN_SYSTEM_ERROR);
        banyan_timeline_destroy(timeline);
        drop(&b);
    }
    banyan_schedule_destroy(schedule);
}

static void the_reference_survives_the_failure_of_each_allocation(void **state)
{
    banyan_schedule *schedule = make_relay();
    int done = 0;

    (void)state;
    for (long calls = 0; !done; calls++) {
        buffers b;

        fill(&b, schedule, 400, 1);
        banyan_alloc_fail_after(calls);
        done = !banyan_reference_run(schedule, 100, BANYAN_FLOAT32, BANYAN_SUM, b.reference, NULL);
        banyan_alloc_fail_after(-1);
        drop(&b);
    }
    banyan_schedule_destroy(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_op_matches_the_reference),
        cmocka_unit_test(an_average_is_made_where_a_sum_becomes_whole),
        cmocka_unit_test(large_buffers_match_the_reference),
        cmocka_unit_test(random_schedules_match_the_reference_and_never_stand_still),
        cmocka_unit_test(every_algorithm_matches_the_reference),
        cmocka_unit_test(unaligned_buffers_work),
        cmocka_unit_test(the_timeline_orders_dependent_transfers),
        cmocka_unit_test(bad_arguments_are_named),
        cmocka_unit_test(a_missing_peer_is_a_time_out_that_names_both),
        cmocka_unit_test(a_peer_that_does_not_take_is_named_too),
        cmocka_unit_test(an_abort_wakes_a_sleeping_rank),
        cmocka_unit_test(a_runner_runs_again_and_again),
        cmocka_unit_test(bytes_may_arrive_split_inside_elements),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
        cmocka_unit_test(the_reference_survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
