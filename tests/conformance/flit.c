/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conformance/flit.c: random small schedules on random networks with random settings: each ends, moves
 * exactly its bytes over exactly its links, keeps to its dependencies, and takes the same cycles when every
 * cycle of every node is done one by one. BANYAN_FLIT_SCHEDULES sets how many, BANYAN_FLIT_FIRST from which
 * seed on. */
#include "flit.h"

#include <math.h>

#include "core/random.h"
#include "schedule/build.h"
#include "schedule/dependencies.h"
#include "simulate/fluid.h"
#include "simulate/paths.h"

static const char *const specs[] = {"ring:3",    "ring:5",      "line:4",    "mesh:2x3",
                                    "torus:3x3", "torus:4x4",   "switch:4",  "fattree:2x3",
                                    "hosts:2+3", "bigraph:2x4", "torus:5x2", "mesh:3x3"};

static long number_of(const char *variable, long otherwise)
{
    const char *text = getenv(variable);

    return text ? atol(text) : otherwise;
}

static banyan_topology *random_network(banyan_random *random)
{
    static const int latencies[] = {0, 1, 7, 40, 150};
    char spec[96];

    snprintf(spec, sizeof spec, "%s,gbps=128,local_gbps=%d,latency=%dns",
             specs[banyan_random_below(random, sizeof specs / sizeof *specs)],
             64 << banyan_random_below(random, 2), latencies[banyan_random_below(random, 5)]);
    banyan_topology *t = NULL;
    banyan_error err;

    /* Only some generators know local links. */
    if (banyan_topology_load(spec, &t, &err)) {
        char *local = strstr(spec, ",local");

        memmove(local, strchr(local + 1, ','), strlen(strchr(local + 1, ',')) + 1);
        t = flit_load(spec);
    }
    return t;
}

static banyan_schedule *random_schedule(const banyan_topology *t, banyan_random *random)
{
    int count = t->worker_count, pieces = 1 + banyan_random_below(random, 5);
    int transfers = 1 + banyan_random_below(random, 30), rounds = 1 + banyan_random_below(random, 6);
    banyan_schedule *s;
    banyan_builder b;
    banyan_error err;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, t->node_count, t->workers, count);
    banyan_builder_cut_evenly(&b, pieces);
    for (int i = 0; i < transfers; i++) {
        int src = banyan_random_below(random, count),
            dst = (src + 1 + banyan_random_below(random, count - 1)) % count;
        int first = banyan_random_below(random, pieces),
            size = 1 + banyan_random_below(random, pieces - first);
        int round = banyan_random_below(random, rounds), flow = banyan_random_below(random, 4);

        if (banyan_random_below(random, 2))
            banyan_builder_copy(&b, round, t->workers[src], t->workers[dst], first, size, flow);
        else
            banyan_builder_reduce(&b, round, t->workers[src], t->workers[dst], first, size, flow);
    }
    if (banyan_builder_finish(&b, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static banyan_flit_settings random_settings(banyan_random *random)
{
    banyan_flit_settings s = banyan_flit_defaults();

    s.virtual_channels = 2 + banyan_random_below(random, 4);
    s.flow = (banyan_flow_control)banyan_random_below(random, 2);
    s.switching = (banyan_switching)banyan_random_below(random, 2);
    s.lockstep = (banyan_lockstep)banyan_random_below(random, 3);
    s.flit_bytes = 8 << banyan_random_below(random, 2);
    s.packet_bytes = 16 << banyan_random_below(random, 5);
    s.buffer_flits = s.packet_bytes / s.flit_bytes + 1 + banyan_random_below(random, 40);
    if (s.switching == BANYAN_SWITCHING_WORMHOLE)
        s.buffer_flits = 1 + banyan_random_below(random, 20);
    s.credit_cycles = banyan_random_below(random, 3);
    s.ports = banyan_random_below(random, 5);
    s.interface_packets = banyan_random_below(random, 60);
    s.adder_bytes = banyan_random_below(random, 2) * 128;
    return s;
}

static int64_t flits_of(const banyan_flit_settings *s, int64_t bytes)
{
    int64_t packets = s->flow == BANYAN_FLOW_MESSAGE ? 1 : (bytes + s->packet_bytes - 1) / s->packet_bytes;

    return (bytes + s->flit_bytes - 1) / s->flit_bytes + packets;
}

/* Nothing that begins and ends within a window may need more than the link carries meanwhile. */
static void check_windows(const banyan_schedule *s, const banyan_topology *t, size_t bytes,
                          const banyan_flit_settings *settings, const banyan_timeline *timeline,
                          const banyan_paths *paths, int link, uint64_t seed)
{
    for (size_t from = 0; from < s->transfer_count; from++)
        for (size_t to = 0; to < s->transfer_count; to++) {
            double begin_s = timeline->begin_s[from], end_s = timeline->end_s[to], sum = 0;

            for (size_t i = 0; i < s->transfer_count; i++) {
                int path = paths->path_of[i];
                size_t begin, end;

                if (timeline->begin_s[i] < begin_s || timeline->end_s[i] > end_s)
                    continue;
                banyan_schedule_elements(s, bytes, s->transfers[i].first_piece, s->transfers[i].piece_count,
                                         &begin, &end);
                for (int k = paths->first[path]; k < paths->first[path + 1]; k++)
                    if (paths->link[k] == link)
                        sum += (double)(flits_of(settings, (int64_t)(end - begin)) * settings->flit_bytes);
            }
            if (sum > 0 && sum > t->links[link].bytes_per_s * (end_s - begin_s) * (1 + 1e-9))
                fail_msg("seed %llu: link %d carried %g bytes between %g and %g s", (unsigned long long)seed,
                         link, sum, begin_s, end_s);
        }
}

static void check_links(const banyan_schedule *s, const banyan_topology *t, size_t bytes,
                        const banyan_flit_settings *settings, const banyan_flit_report *report,
                        const banyan_timeline *timeline, uint64_t seed)
{
    int64_t *wanted = calloc((size_t)t->link_count, sizeof *wanted);
    banyan_paths *paths;

    assert_int_equal(banyan_paths_find(s, t, &paths, NULL), 0);
    for (size_t i = 0; i < s->transfer_count; i++) {
        size_t begin, end;
        int path = paths->path_of[i];

        banyan_schedule_elements(s, bytes, s->transfers[i].first_piece, s->transfers[i].piece_count, &begin,
                                 &end);
        for (int k = paths->first[path]; k < paths->first[path + 1]; k++)
            wanted[paths->link[k]] += flits_of(settings, (int64_t)(end - begin));
    }
    for (int l = 0; l < t->link_count; l++) {
        double room = (double)report->applied_cycles / report->clock_hz * t->links[l].bytes_per_s;

        if (report->link_flits[l] != wanted[l])
            fail_msg("seed %llu: link %d carried %lld flits, not %lld", (unsigned long long)seed, l,
                     (long long)report->link_flits[l], (long long)wanted[l]);
        if ((double)(report->link_flits[l] * settings->flit_bytes) > room)
            fail_msg("seed %llu: link %d carried more than it can", (unsigned long long)seed, l);
        if (wanted[l])
            check_windows(s, t, bytes, settings, timeline, paths, l, seed);
    }
    banyan_paths_destroy(paths);
    free(wanted);
}

/* A step of an ideal lockstep may begin in the cycle in which the one before is done. */
static void check_order(const banyan_schedule *s, const banyan_flit_settings *settings,
                        const banyan_timeline *timeline, uint64_t seed)
{
    double least_s = settings->lockstep == BANYAN_LOCKSTEP_IDEAL ? 0 : 0.2e-9;
    banyan_dependencies *d;

    assert_int_equal(banyan_dependencies_derive(s, &d, NULL), 0);
    for (size_t i = 0; i < s->transfer_count; i++) {
        if (!(timeline->begin_s[i] >= 0 && timeline->end_s[i] > timeline->begin_s[i] &&
              timeline->end_s[i] <= timeline->total_s))
            fail_msg("seed %llu: transfer %zu ends before it begins", (unsigned long long)seed, i);
        for (size_t k = d->send_after_apply.first[i]; k < d->send_after_apply.first[i + 1]; k++)
            if (timeline->begin_s[i] < timeline->end_s[d->send_after_apply.item[k]] + least_s)
                fail_msg("seed %llu: transfer %zu begins before what it sends is there",
                         (unsigned long long)seed, i);
        for (size_t k = d->apply_after_apply.first[i]; k < d->apply_after_apply.first[i + 1]; k++)
            if (timeline->end_s[i] < timeline->end_s[d->apply_after_apply.item[k]])
                fail_msg("seed %llu: transfer %zu is applied too early", (unsigned long long)seed, i);
    }
    banyan_dependencies_destroy(d);
}

TEST(random_schedules_end_and_move_exactly_their_bytes)
{
    long first = number_of("BANYAN_FLIT_FIRST", 0), count = number_of("BANYAN_FLIT_SCHEDULES", 100);

    for (long run = first; run < first + count; run++) {
        banyan_random random = {(uint64_t)run};
        banyan_topology *t = random_network(&random);
        banyan_schedule *s = random_schedule(t, &random);
        banyan_flit_settings settings = random_settings(&random), plain = settings;
        size_t bytes = (size_t)(5 + banyan_random_below(&random, 12000));
        banyan_timeline *timeline, *again;
        banyan_flit_report *report, *slow;
        banyan_error err;

        if (banyan_flit_run(s, t, bytes, &settings, &timeline, &report, &err))
            fail_msg("seed %ld on %s: %s", run, t->name, err.text);
        check_links(s, t, bytes, &settings, report, timeline, (uint64_t)run);
        check_order(s, &settings, timeline, (uint64_t)run);
        plain.is_plain = 1;
        if (banyan_flit_run(s, t, bytes, &plain, &again, &slow, &err))
            fail_msg("seed %ld on %s: %s", run, t->name, err.text);
        if (slow->cycles != report->cycles || slow->arbitrations != report->arbitrations ||
            slow->flit_hops != report->flit_hops ||
            memcmp(timeline->begin_s, again->begin_s, s->transfer_count * sizeof(double)) ||
            memcmp(timeline->end_s, again->end_s, s->transfer_count * sizeof(double)))
            fail_msg("seed %ld: %lld cycles, but %lld one by one", run, (long long)report->cycles,
                     (long long)slow->cycles);
        banyan_timeline_destroy(timeline);
        banyan_timeline_destroy(again);
        banyan_flit_report_destroy(report);
        banyan_flit_report_destroy(slow);
        banyan_schedule_destroy(s);
        banyan_topology_destroy(t);
    }
}

/* Every algorithm that applies, on the samples, in all three locksteps. */
TEST(every_algorithm_runs_through_the_interfaces)
{
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        banyan_topology *t = flit_load(specs[i]);
        banyan_problem problem = {.topology = t, .active = t->workers, .active_count = t->worker_count};

        for (int a = 0; a < banyan_algorithm_count(); a++) {
            const banyan_algorithm *algorithm = banyan_algorithm_at(a);
            banyan_schedule *s;
            banyan_error err;

            if (!(algorithm->collectives & BANYAN_CAN(ALLREDUCE)) ||
                banyan_algorithm_applies(algorithm, &problem, &err) ||
                banyan_algorithm_build(algorithm, &problem, &s, &err))
                continue;
            for (int lockstep = 0; lockstep < 3; lockstep++) {
                banyan_flit_settings settings = banyan_flit_defaults();

                settings.lockstep = (banyan_lockstep)lockstep;
                settings.flow = (banyan_flow_control)(lockstep % 2);
                if (banyan_flit_run(s, t, 1 << 16, &settings, NULL, NULL, &err))
                    fail_msg("%s on %s: %s", algorithm->name, specs[i], err.text);
            }
            banyan_schedule_destroy(s);
        }
        banyan_topology_destroy(t);
    }
}

/* Whole messages, rounds in lockstep, adding for nothing: then both judge the same thing. */
TEST(the_fluid_model_agrees)
{
    static const struct {
        const char *spec, *algorithm;
        double share;
    } cases[] = {{"torus:4x4", "ring", 0.02},       {"torus:4x4", "bidirectional-ring", 0.02},
                 {"torus:4x4", "multi-ring", 0.02}, {"torus:4x4", "multitree", 0.02},
                 {"torus:4x4", "ring2d", 0.02},     {"torus:4x4", "halving-doubling", 0.02},
                 {"fattree:4x4", "ring", 0.02},     {"fattree:4x4", "multitree", 0.02},
                 {"torus:4x4", "double-tree", 0.1}, {"fattree:4x4", "double-tree", 0.1}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_fluid_options options = {.slice_bytes = (size_t)1 << 62, .lockstep = 1};
        banyan_flit_settings settings = banyan_flit_defaults();
        banyan_fluid_result fluid;
        banyan_flit_report *flit;
        banyan_error err;
        char spec[64];

        snprintf(spec, sizeof spec, "%s,gbps=128,latency=150ns", cases[i].spec);
        banyan_topology *t = flit_load(spec);
        banyan_schedule *s = flit_build(t, cases[i].algorithm, NULL);

        settings.flow = BANYAN_FLOW_MESSAGE;
        settings.lockstep = BANYAN_LOCKSTEP_IDEAL;
        settings.adder_bytes = 0;
        if (banyan_flit_run(s, t, 1 << 20, &settings, NULL, &flit, &err) ||
            banyan_fluid(s, t, 1 << 20, &options, &fluid, &err))
            fail_msg("%s", err.text);
        flit_within((double)flit->applied_cycles / flit->clock_hz, fluid.timeline->total_s, cases[i].share,
                    cases[i].algorithm);
        banyan_flit_report_destroy(flit);
        banyan_fluid_fini(&fluid);
        banyan_schedule_destroy(s);
        banyan_topology_destroy(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_schedules_end_and_move_exactly_their_bytes),
        cmocka_unit_test(every_algorithm_runs_through_the_interfaces),
        cmocka_unit_test(the_fluid_model_agrees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
