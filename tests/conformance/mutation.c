/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conformance/mutation.c: schedules with one transfer dropped, doubled, swapped or re-aimed. Whether a
 * mutant is still right is decided independently of the proof, by running its meaning on numbers: rank r
 * contributes the r-th power of a large base, so that a sum tells how often each rank is in it. Every mutant
 * that changes the result must be refused; a mutant that the proof refuses for its result alone must really
 * be wrong. */
#include "unit/test.h"

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "core/random.h"
#include "schedule/build.h"
#include "verify/verify.h"

/* BANYAN_MUTANTS in the environment of a long run; the default fits a short one. */
static long mutant_count(void)
{
    const char *text = getenv("BANYAN_MUTANTS");

    return text ? atol(text) : 10000;
}

enum { MOST_RANKS = 8 };

/* Contributions of up to eight ranks, sixteen of each: four bits a rank, and 'nothing' as a value of its
 * own. */
typedef struct {
    uint64_t sum;
    int is_there;
} number;

static const char *const specs[] = {"ring:5",    "mesh:2x2", "hosts:2+3", "switch:7",
                                    "torus:2x4", "full:3",   "line:8"};

/* 1: every rank ends with what the collective promises and nothing was read or added to that is not there. */
static int is_right(const banyan_schedule *s)
{
    size_t cells = (size_t)s->node_count * (size_t)s->piece_count;
    number *now = calloc(cells, sizeof *now), *next = calloc(cells, sizeof *next);
    int right = 1;

    for (int r = 0; r < s->active_count; r++)
        for (int p = 0; p < s->piece_count; p++) {
            number *cell = &now[(size_t)s->active[r] * (size_t)s->piece_count + (size_t)p];
            int source = banyan_schedule_source(s, p), has = source < 0 || source == r;

            *cell = (number){has ? (uint64_t)1 << (4 * r) : 0, has};
        }
    for (size_t begin = 0, end; begin < s->transfer_count; begin = end) {
        memcpy(next, now, cells * sizeof *now);
        for (end = begin; end < s->transfer_count && s->transfers[end].round == s->transfers[begin].round;
             end++) {
            const banyan_transfer *t = &s->transfers[end];

            for (int p = t->first_piece; p < t->first_piece + t->piece_count; p++) {
                const number *src = &now[(size_t)t->src * (size_t)s->piece_count + (size_t)p];
                number *dst = &next[(size_t)t->dst * (size_t)s->piece_count + (size_t)p];

                if (!src->is_there || (t->action == BANYAN_ACTION_REDUCE && !dst->is_there))
                    right = 0;
                dst->sum = t->action == BANYAN_ACTION_REDUCE ? dst->sum + src->sum : src->sum;
                dst->is_there = 1;
            }
        }
        memcpy(now, next, cells * sizeof *now);
    }
    for (int r = 0; r < s->active_count; r++)
        for (int p = 0; p < s->piece_count; p++) {
            const number *cell = &now[(size_t)s->active[r] * (size_t)s->piece_count + (size_t)p];
            uint64_t all = 0;
            int matters = banyan_schedule_is_result(s, r, p), source = banyan_schedule_source(s, p);

            for (int i = 0; i < s->active_count; i++)
                all |= (uint64_t)1 << (4 * i);
            if (source >= 0)
                all = (uint64_t)1 << (4 * source);
            if (matters && cell->sum != all)
                right = 0;
        }
    free(now);
    free(next);
    return right;
}

static banyan_schedule *copy_of(const banyan_schedule *s, const banyan_transfer *transfers, size_t count)
{
    banyan_schedule *copy;
    banyan_builder b;

    banyan_builder_init(&b, s->collective, s->root, s->node_count, s->active, s->active_count);
    banyan_builder_cut(&b, s->whole, s->cut, s->piece_count);
    if (s->owner)
        banyan_builder_set_owners(&b, s->owner);
    for (int i = 0; i < s->route_count; i++)
        banyan_builder_add_route(&b, s->route_link + s->route_first[i],
                                 s->route_first[i + 1] - s->route_first[i]);
    for (size_t i = 0; i < count; i++)
        banyan_builder_add(&b, transfers[i]);
    if (banyan_builder_finish(&b, &copy, NULL))
        copy = NULL; /* the mutant is not even well formed: refused by the builder */
    return copy;
}

/* One change at one transfer; the names of the changes, for the message. */
static const char *const changes[] = {"dropped",
                                      "doubled",
                                      "swapped with another",
                                      "re-aimed at another node",
                                      "re-sourced",
                                      "moved to another round",
                                      "given another piece",
                                      "given the other action"};

static void change(const banyan_schedule *s, banyan_random *random, int kind, banyan_transfer *rows,
                   size_t *count)
{
    size_t at = (size_t)banyan_random_below(random, (int)*count);
    size_t other = (size_t)banyan_random_below(random, (int)*count);

    switch (kind) {
    case 0:
        memmove(rows + at, rows + at + 1, (*count - at - 1) * sizeof *rows);
        --*count;
        break;
    case 1:
        rows[*count] = rows[at];
        rows[(*count)++].round += banyan_random_below(random, 3);
        break;
    case 2: {
        int round = rows[at].round;

        rows[at].round = rows[other].round;
        rows[other].round = round;
        break;
    }
    case 3:
        rows[at].dst = s->active[banyan_random_below(random, s->active_count)];
        rows[at].route = -1;
        break;
    case 4:
        rows[at].src = s->active[banyan_random_below(random, s->active_count)];
        rows[at].route = -1;
        break;
    case 5:
        rows[at].round = banyan_random_below(random, s->round_count + 1);
        break;
    case 6:
        rows[at].first_piece = banyan_random_below(random, s->piece_count - rows[at].piece_count + 1);
        break;
    default:
        rows[at].action = rows[at].action == BANYAN_ACTION_REDUCE ? BANYAN_ACTION_COPY : BANYAN_ACTION_REDUCE;
    }
}

/* A race is a fault of its own: two changes of one cell in one round, one of them a copy. */
static int has_race(const banyan_schedule *s)
{
    for (size_t i = 0; i < s->transfer_count; i++)
        for (size_t j = i + 1; j < s->transfer_count && s->transfers[j].round == s->transfers[i].round; j++) {
            const banyan_transfer *a = &s->transfers[i], *b = &s->transfers[j];

            if (a->dst == b->dst && (a->action == BANYAN_ACTION_COPY || b->action == BANYAN_ACTION_COPY) &&
                a->first_piece < b->first_piece + b->piece_count &&
                b->first_piece < a->first_piece + a->piece_count)
                return 1;
        }
    return 0;
}

/* Judges one mutant; counts those that the proof refused. */
static void judge(const banyan_schedule *mutant, const banyan_topology *topology, const char *what,
                  long *wrong)
{
    banyan_verdict verdict;
    int right = is_right(mutant) && !has_race(mutant);

    assert_int_equal(banyan_verify(mutant, topology, &verdict, NULL), 0);
    if (!right && !verdict.problem_count)
        fail_msg("%s: a wrong schedule was accepted", what);
    if (right && verdict.problem_count)
        fail_msg("%s: a right schedule was refused: %s", what, verdict.problems[0]);
    *wrong += !right;
}

static void mutate(const banyan_schedule *s, const banyan_topology *topology, const char *what,
                   banyan_random *random, long *made, long *wrong)
{
    banyan_transfer *rows = calloc(s->transfer_count + 1, sizeof *rows);
    uint64_t seed = random->state;

    for (int kind = 0; kind < 8; kind++) {
        size_t count = s->transfer_count;
        banyan_schedule *mutant;
        char name[256];

        memcpy(rows, s->transfers, count * sizeof *rows);
        change(s, random, kind, rows, &count);
        mutant = copy_of(s, rows, count);
        ++*made;
        if (!mutant) {
            ++*wrong;
            continue;
        }
        snprintf(name, sizeof name, "%s, a transfer %s, seed %llu", what, changes[kind],
                 (unsigned long long)seed);
        judge(mutant, topology, name, wrong);
        banyan_schedule_destroy(mutant);
    }
    free(rows);
}

TEST(every_mutant_that_changes_the_result_is_refused)
{
    banyan_random random = {2026};
    long made = 0, wrong = 0, wanted = mutant_count();

    for (int turn = 0; made < wanted; turn++) {
        const banyan_algorithm *algorithm =
            banyan_algorithm_at(banyan_random_below(&random, banyan_algorithm_count()));
        const char *spec = specs[banyan_random_below(&random, sizeof specs / sizeof *specs)];
        banyan_problem problem = {.bytes = 1 << 20};
        banyan_topology *topology;
        banyan_schedule *s = NULL;
        char what[128];
        int *active;

        assert_int_equal(banyan_topology_load(spec, &topology, NULL), 0);
        assert_int_equal(banyan_topology_parse_active(topology, NULL, &active, &problem.active_count, NULL),
                         0);
        assert_true(problem.active_count <= MOST_RANKS);
        problem.topology = topology;
        problem.active = active;
        problem.collective = (banyan_collective)banyan_random_below(&random, BANYAN_COLLECTIVE_COUNT);
        problem.root = banyan_collective_has_root(problem.collective)
                           ? banyan_random_below(&random, problem.active_count)
                           : 0;
        snprintf(what, sizeof what, "%s %s on %s", algorithm->name,
                 banyan_collective_name(problem.collective), spec);
        if (!banyan_algorithm_applies(algorithm, &problem, NULL) &&
            !banyan_algorithm_build(algorithm, &problem, &s, NULL) && s->transfer_count) {
            assert_true(is_right(s));
            mutate(s, topology, what, &random, &made, &wrong);
        }
        banyan_schedule_destroy(s);
        banyan_free(active);
        banyan_topology_destroy(topology);
    }
    print_message("%ld mutants, %ld wrong, all of them refused\n", made, wrong);
    assert_true(wrong > made / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mutant_that_changes_the_result_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
