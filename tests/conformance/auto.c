/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conformance/auto.c: on random networks (2 to 40 workers, switches, uneven links, idle workers) the
 * planner returns a proven schedule that is predicted to be at least as fast as that of any one algorithm.
 * BANYAN_NETWORKS in the environment of a long run asks for more networks. */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/random.h"
#include "planner/planner.h"
#include "topology/build.h"
#include "verify/verify.h"

static double random_rate(banyan_random *random)
{
    static const double rates[] = {1.25e8, 1.25e9, 3.125e9, 1.25e10, 2.5e10};

    return rates[banyan_random_below(random, 5)];
}

/* A random tree of everything, so that all is connected, and some more cables. */
static banyan_topology *make_network(banyan_random *random)
{
    int workers = 2 + banyan_random_below(random, banyan_random_below(random, 4) ? 11 : 39);
    int switches = banyan_random_below(random, 5), nodes = workers + switches;
    banyan_topology_builder builder;
    banyan_topology *t;

    banyan_topology_builder_init(&builder, "random");
    for (int i = 0; i < workers; i++)
        banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    for (int i = 0; i < switches; i++)
        banyan_topology_add_switch_f(&builder, "s%d", i);
    for (int i = 1; i < nodes; i++)
        banyan_topology_add_cable(&builder, i, banyan_random_below(random, i), random_rate(random), 1e-6);
    for (int i = banyan_random_below(random, nodes); i > 0; i--) {
        int a = banyan_random_below(random, nodes), b = banyan_random_below(random, nodes);

        if (a != b && banyan_random_below(random, 4))
            banyan_topology_add_cable(&builder, a, b, random_rate(random), 1e-6);
        else if (a != b)
            banyan_topology_add_link(&builder, a, b, random_rate(random), 1e-6);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &t, NULL), 0);
    return t;
}

/* Some of the workers, at least one, ascending. */
static int pick_active(banyan_random *random, const banyan_topology *t, int *active)
{
    int all = banyan_random_below(random, 3) > 0, count = 0;

    for (int i = 0; i < t->worker_count; i++)
        if (all || banyan_random_below(random, 2))
            active[count++] = t->workers[i];
    if (!count)
        active[count++] = t->workers[0];
    return count;
}

TEST(the_chosen_plan_is_proven_and_none_is_much_faster)
{
    const char *wanted = getenv("BANYAN_NETWORKS");
    long networks = wanted ? atol(wanted) : 60;
    banyan_random random = {4};

    for (long i = 0; i < networks; i++) {
        unsigned long long seed = random.state;
        banyan_topology *t = make_network(&random);
        int active[64];
        banyan_problem problem = {.topology = t, .active = active};
        banyan_plan best, other;
        banyan_verdict verdict;
        banyan_error err = {""};

        problem.active_count = pick_active(&random, t, active);
        problem.bytes = (size_t)1 << (8 + banyan_random_below(&random, 18));
        if (banyan_plan_choose("auto", &problem, &best, &err))
            fail_msg("network %ld, seed %llu: %s", i, seed, err.text);
        assert_int_equal(banyan_verify(best.schedule, t, &verdict, NULL), 0);
        if (verdict.problem_count || verdict.orders_differ)
            fail_msg("network %ld, seed %llu: %s%s", i, seed, verdict.problems[0], verdict.note);
        for (int a = 0; a < banyan_algorithm_count(); a++) {
            const banyan_algorithm *algorithm = banyan_algorithm_at(a);

            if (banyan_algorithm_applies(algorithm, &problem, &err))
                continue;
            if (banyan_plan_choose(algorithm->name, &problem, &other, &err))
                fail_msg("network %ld, seed %llu, %s: %s", i, seed, algorithm->name, err.text);
            if (best.predicted_s > other.predicted_s * BANYAN_PLAN_SIMILAR)
                fail_msg("network %ld, seed %llu: %s takes %g s, but %s %g s", i, seed, best.algorithm->name,
                         best.predicted_s, algorithm->name, other.predicted_s);
            banyan_plan_fini(&other);
        }
        banyan_plan_fini(&best);
        banyan_topology_destroy(t);
    }
    print_message("%ld networks planned\n", networks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_chosen_plan_is_proven_and_none_is_much_faster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
