/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conformance/fluid.c: what the fluid simulator owes to every schedule: it ends, moves exactly the
 * bytes that are scheduled over each link, is never faster than the fullest link allows, and never puts more
 * on a link than it carries, in any window. Every algorithm on every sample network, and random schedules. */
#include "unit/test.h"

#include <math.h>

#include "algorithms/algorithms.h"
#include "conformance/samples.h"
#include "core/alloc.h"
#include "core/random.h"
#include "simulate/fluid.h"
#include "simulate/paths.h"
#include "simulate/simulate.h"

typedef struct {
    double begin_s, end_s, bytes;
} use;

static int by_end(const void *a, const void *b)
{
    const use *x = a, *y = b;

    return (x->end_s > y->end_s) - (x->end_s < y->end_s);
}

/* From every beginning to every end: what lies wholly between the two has to fit between them. */
static void check_windows(use *uses, int count, double bytes_per_s, const char *what)
{
    qsort(uses, (size_t)count, sizeof *uses, by_end);
    for (int i = 0; i < count; i++) {
        double begin_s = uses[i].begin_s, bytes = 0;

        for (int j = 0; j < count; j++) {
            bytes += uses[j].begin_s >= begin_s ? uses[j].bytes : 0;
            if (bytes > 0 && bytes > bytes_per_s * (uses[j].end_s - begin_s) * (1 + 1e-9) + 1e-6)
                fail_msg("%s: %.12g bytes between %.12g and %.12g s", what, bytes, begin_s, uses[j].end_s);
        }
    }
}

static double path_latency(const banyan_topology *t, const banyan_paths *paths, int path)
{
    double latency_s = 0;

    for (int i = paths->first[path]; i < paths->first[path + 1]; i++)
        latency_s += t->links[paths->link[i]].latency_s;
    return latency_s;
}

static void check_link(const banyan_schedule *s, const banyan_topology *t, const banyan_paths *paths,
                       int link, double bytes, const banyan_fluid_result *r, const char *what)
{
    use *uses = calloc(s->transfer_count + 1, sizeof *uses);
    double sum = 0;
    int count = 0;

    for (size_t i = 0; i < s->transfer_count; i++) {
        int path = paths->path_of[i];

        for (int j = paths->first[path]; j < paths->first[path + 1]; j++)
            if (paths->link[j] == link)
                uses[count++] =
                    (use){r->timeline->begin_s[i], r->timeline->end_s[i] - path_latency(t, paths, path),
                          bytes * banyan_schedule_share(s, s->transfers[i].first_piece,
                                                        s->transfers[i].piece_count)};
    }
    for (int i = 0; i < count; i++)
        sum += uses[i].bytes;
    if (!(fabs(r->link_bytes[link] - sum) <= 1e-9 * sum))
        fail_msg("%s: link %d carried %.12g bytes, not %.12g", what, link, r->link_bytes[link], sum);
    if (!(r->timeline->total_s * t->links[link].bytes_per_s >= sum * (1 - 1e-9)))
        fail_msg("%s: link %d cannot have carried %.12g bytes in %.12g s", what, link, sum,
                 r->timeline->total_s);
    if (!(r->link_peak[link] <= 1 + 1e-9))
        fail_msg("%s: link %d was used to %.12g of its bandwidth", what, link, r->link_peak[link]);
    if (count < 300)
        check_windows(uses, count, t->links[link].bytes_per_s, what);
    free(uses);
}

static void check(const banyan_schedule *s, const banyan_topology *t, size_t bytes,
                  banyan_fluid_options options, const char *what)
{
    banyan_fluid_result r;
    banyan_paths *paths;
    banyan_error err = {""};

    if (banyan_paths_find(s, t, &paths, &err) || banyan_fluid(s, t, bytes, &options, &r, &err))
        fail_msg("%s: %s", what, err.text);
    for (size_t i = 0; i < s->transfer_count; i++)
        if (!(r.timeline->end_s[i] > 0 && r.timeline->end_s[i] <= r.timeline->total_s))
            fail_msg("%s: transfer %zu ends at %g s", what, i, r.timeline->end_s[i]);
    for (int link = 0; link < t->link_count; link++)
        check_link(s, t, paths, link, (double)bytes, &r, what);
    banyan_fluid_fini(&r);
    banyan_paths_destroy(paths);
}

static int meet(const banyan_algorithm *algorithm, const sample *on)
{
    banyan_problem problem = {.bytes = 1 << 20};
    banyan_schedule *s = NULL;
    banyan_topology *t;
    banyan_error err = {""};
    banyan_status status;
    int *active = NULL;
    char what[200];

    if (banyan_topology_load(on->spec, &t, &err) ||
        banyan_topology_parse_active(t, on->active, &active, &problem.active_count, &err))
        fail_msg("%s: %s", on->spec, err.text);
    problem.topology = t;
    problem.active = active;
    status = banyan_algorithm_applies(algorithm, &problem, &err);
    if (!status)
        status = banyan_algorithm_build(algorithm, &problem, &s, &err);
    if (status && status != BANYAN_UNSUPPORTED)
        fail_msg("%s on %s: %s", algorithm->name, on->spec, err.text);
    snprintf(what, sizeof what, "%s on %s (%s)", algorithm->name, on->spec, on->active ? on->active : "all");
    if (!status) {
        check(s, t, 1 << 20, (banyan_fluid_options){0}, what);
        check(s, t, 1 << 20, (banyan_fluid_options){.slice_bytes = 50000, .overhead_s = 1e-6}, what);
        check(s, t, 12345, (banyan_fluid_options){.lockstep = 1, .reduce_bytes_per_s = 1e10}, what);
    }
    banyan_schedule_destroy(s);
    banyan_free(active);
    banyan_topology_destroy(t);
    return !status;
}

TEST(every_algorithm_on_every_sample_keeps_the_laws)
{
    for (int a = 0; a < banyan_algorithm_count(); a++) {
        int met = 0;

        for (int i = 0; i < SAMPLE_COUNT; i++)
            met += meet(banyan_algorithm_at(a), &samples[i]);
        print_message("%-20s %d schedules simulated\n", banyan_algorithm_at(a)->name, met);
    }
}

/* Transfers that mean nothing but have any order, size and place. */
static banyan_schedule *make_random(const banyan_topology *t, banyan_random *random)
{
    int pieces = 1 + banyan_random_below(random, 6), count = 1 + banyan_random_below(random, 24);
    int rounds = 1 + banyan_random_below(random, 8);
    banyan_schedule *s;
    banyan_builder b;
    banyan_error err;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, t->node_count, t->workers, t->worker_count);
    banyan_builder_cut_evenly(&b, pieces);
    for (int i = 0; i < count; i++) {
        int src = banyan_random_below(random, t->worker_count);
        int dst = (src + 1 + banyan_random_below(random, t->worker_count - 1)) % t->worker_count;
        int first = banyan_random_below(random, pieces);

        banyan_builder_add(&b,
                           (banyan_transfer){.round = banyan_random_below(random, rounds),
                                             .src = t->workers[src],
                                             .dst = t->workers[dst],
                                             .first_piece = first,
                                             .piece_count = 1 + banyan_random_below(random, pieces - first),
                                             .action = banyan_random_below(random, 2) ? BANYAN_ACTION_COPY
                                                                                      : BANYAN_ACTION_REDUCE,
                                             .route = -1});
    }
    if (banyan_builder_finish(&b, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

TEST(ten_thousand_random_schedules_keep_the_laws)
{
    static const char *const specs[] = {"line:5", "torus:3x3", "hosts:2+3", "fattree:2x3:2", "dgx1"};

    for (int n = 0; n < 5; n++) {
        banyan_topology *t;
        banyan_error err;

        if (banyan_topology_load(specs[n], &t, &err))
            fail_msg("%s", err.text);
        for (uint64_t seed = 0; seed < 2000; seed++) {
            banyan_random random = {seed};
            banyan_schedule *s = make_random(t, &random);
            size_t bytes = 1 + (size_t)banyan_random_below(&random, 1000000);
            banyan_fluid_options options = {.slice_bytes = bytes / (1 + seed % 7) + 1,
                                            .overhead_s = seed % 3 ? 0 : 1e-6,
                                            .reduce_bytes_per_s = seed % 4 ? 0 : 1e9,
                                            .lockstep = seed % 5 == 0};
            char what[100];

            snprintf(what, sizeof what, "%s, seed %llu", specs[n], (unsigned long long)seed);
            check(s, t, bytes, options, what);
            banyan_schedule_destroy(s);
        }
        banyan_topology_destroy(t);
    }
}

TEST(many_slices_come_near_the_bandwidth_limit)
{
    static const struct {
        const char *spec, *algorithm;
    } cases[] = {{"switch:8,latency=0s", "double-tree"},      {"switch:7,latency=0s", "double-tree"},
                 {"switch:8,latency=0s", "binomial"},         {"switch:8,latency=0s", "parameter-server"},
                 {"hosts:3+3+4,latency=0s", "double-tree"},   {"hosts:3+3+4,latency=0s", "binomial"},
                 {"torus:4x4,latency=0s", "multitree"},       {"ring:8,latency=0s", "bidirectional-ring"},
                 {"fattree:4x4:2,latency=0s", "double-tree"}, {"dgx1,latency=0s", "double-tree"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_topology *t;
        banyan_schedule *s;
        banyan_limits limits;
        banyan_fluid_result r;
        banyan_error err;
        const double bytes = 1 << 30;
        double share;

        if (banyan_topology_load(cases[i].spec, &t, &err))
            fail_msg("%s", err.text);
        banyan_problem problem = {.topology = t, .active = t->workers, .active_count = t->worker_count};
        banyan_fluid_options options = {.slice_bytes = 1 << 20};

        if (banyan_algorithm_build(banyan_algorithm_find(cases[i].algorithm), &problem, &s, &err) ||
            banyan_bandwidth_limit(s, t, &limits, &err) ||
            banyan_fluid(s, t, (size_t)bytes, &options, &r, &err))
            fail_msg("%s on %s: %s", cases[i].algorithm, cases[i].spec, err.text);
        share = bytes / r.timeline->total_s / limits.bytes_per_s;
        print_message("%-20s on %-26s %.4f of the limit, %zu messages\n", cases[i].algorithm, cases[i].spec,
                      share, r.message_count);
        assert_true(share <= 1 + 1e-9 && share > 0.99);
        banyan_fluid_fini(&r);
        banyan_schedule_destroy(s);
        banyan_topology_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_on_every_sample_keeps_the_laws),
        cmocka_unit_test(ten_thousand_random_schedules_keep_the_laws),
        cmocka_unit_test(many_slices_come_near_the_bandwidth_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
