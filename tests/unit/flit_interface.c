/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/flit_interface.c: schedule tables, lockstep, traffic side by side, watchdogs, bad input. */
#include "flit.h"

#include "core/alloc.h"
#include "schedule/build.h"

#define LINKS "gbps=128,latency=150ns"

static char *tables(const char *spec, const char *algorithm, const char *order, size_t bytes, int lockstep)
{
    banyan_topology *t = flit_load(spec);
    banyan_schedule *s = flit_build(t, algorithm, order);
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_error err;
    char *text;

    settings.lockstep = (banyan_lockstep)lockstep;
    if (banyan_flit_format_tables(s, t, bytes, &settings, &text, &err))
        fail_msg("%s", err.text);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
    return text;
}

static void says(const char *text, const char *words)
{
    if (!strstr(text, words))
        fail_msg("'%s' is not in\n%s", words, text);
}

TEST(the_tables_of_a_2x2_mesh_are_those_of_the_paper)
{
    char *text = tables("mesh:2x2," LINKS, "multitree", "yx", 65536, BANYAN_LOCKSTEP_ESTIMATE);

    says(text, "node 0 (g0): 6 entries, 858 bits\n"
               "  Op       Flow  Parent  Children          Step        Start         Size\n"
               "  Reduce      3       1  nil                  1        49152        16384\n"
               "  Reduce      2       2  1                    2        32768        16384\n"
               "  Reduce      1       1  nil                  2        16384        16384\n"
               "  Reduce      0     nil  2,1                  2            0        16384\n"
               "  Gather      0     nil  2,1                  3            0        16384\n"
               "  Gather      2       2  1                    4        32768        16384\n");
    banyan_free(text);
}

TEST(a_worker_sits_out_the_steps_in_which_it_sends_nothing)
{
    /* Halving along a line of three: the middle one only passes on. */
    char *with = tables("line:3," LINKS, "multitree", NULL, 3 * 1024, BANYAN_LOCKSTEP_ESTIMATE);
    char *without = tables("line:3," LINKS, "multitree", NULL, 3 * 1024, BANYAN_LOCKSTEP_NONE);

    says(with, "  NOP                                         ");
    assert_null(strstr(without, "NOP"));
    banyan_free(with);
    banyan_free(without);
}

TEST(any_algorithm_has_tables)
{
    static const char *const names[] = {"ring", "double-tree", "halving-doubling", "ring2d", "binomial"};

    for (int i = 0; i < 5; i++) {
        char *text = tables("torus:4x4," LINKS, names[i], NULL, 1 << 20, BANYAN_LOCKSTEP_ESTIMATE);

        says(text, "Reduce");
        says(text, "Gather");
        banyan_free(text);
    }
}

/* A lockstep of any kind changes when things happen, never what happens. */
TEST(every_lockstep_and_flow_control_moves_every_byte)
{
    banyan_topology *t = flit_load("torus:4x4," LINKS);
    banyan_schedule *s = flit_build(t, "multitree", "yx");

    for (int kind = 0; kind < 12; kind++) {
        banyan_flit_settings settings = banyan_flit_defaults();
        banyan_flit_report *report;
        banyan_error err;
        int64_t payload = 2 * 15 * 16 * (8192 / 16);

        settings.lockstep = (banyan_lockstep)(kind % 3);
        settings.flow = kind / 3 % 2 ? BANYAN_FLOW_MESSAGE : BANYAN_FLOW_PACKET;
        settings.switching = kind / 6 ? BANYAN_SWITCHING_WORMHOLE : BANYAN_SWITCHING_CUT_THROUGH;
        if (banyan_flit_run(s, t, 16 * 8192, &settings, NULL, &report, &err))
            fail_msg("%d: %s", kind, err.text);
        assert_int_equal(report->link_flit_count, payload + report->head_flit_count);
        assert_int_equal(report->head_flit_count, 2 * 15 * 16 * (kind / 3 % 2 ? 1 : 32));
        assert_int_equal(report->flit_hops, 2 * report->link_flit_count);
        assert_true(report->applied_cycles < report->cycles);
        banyan_flit_report_destroy(report);
    }
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

static int64_t cycles_of(const char *spec, size_t bytes, banyan_interface_kind kind, banyan_flow_control flow,
                         int is_plain)
{
    banyan_topology *t = flit_load(spec);
    banyan_schedule *s = flit_build(t, "multitree", "yx");
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_flit_report *report;
    banyan_error err;
    int64_t cycles;

    settings.interface_kind = kind;
    settings.flow = flow;
    settings.is_plain = is_plain;
    if (banyan_flit_run(s, t, bytes, &settings, NULL, &report, &err))
        fail_msg("%s", err.text);
    cycles = report->cycles;
    banyan_flit_report_destroy(report);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
    return cycles;
}

/* Their figures vary by 10 % from run to run; a port a cable takes half as long here. */
TEST(the_authors_interface_takes_as_long_as_theirs)
{
    static const struct {
        banyan_flow_control flow;
        size_t bytes;
        double cycles;
    } cases[] = {{BANYAN_FLOW_PACKET, 32768, 4569},    {BANYAN_FLOW_MESSAGE, 32768, 4501},
                 {BANYAN_FLOW_PACKET, 262144, 21985},  {BANYAN_FLOW_MESSAGE, 262144, 18902},
                 {BANYAN_FLOW_PACKET, 1048576, 73032}, {BANYAN_FLOW_MESSAGE, 1048576, 56738}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double ratio = (double)cycles_of("torus:8x8," LINKS, cases[i].bytes, BANYAN_INTERFACE_AUTHORS,
                                         cases[i].flow, 0) /
                       cases[i].cycles;

        if (!(ratio > 0.9 && ratio < 1.1))
            fail_msg("case %zu: %g times as long", i, ratio);
    }
    assert_true((double)cycles_of("torus:8x8," LINKS, 262144, BANYAN_INTERFACE_CABLE, BANYAN_FLOW_MESSAGE,
                                  0) < 0.6 * 18902);
    assert_int_equal(cycles_of("torus:4x4," LINKS, 32768, BANYAN_INTERFACE_AUTHORS, BANYAN_FLOW_PACKET, 0),
                     cycles_of("torus:4x4," LINKS, 32768, BANYAN_INTERFACE_AUTHORS, BANYAN_FLOW_PACKET, 1));
}

TEST(normal_packets_do_not_starve_beside_long_messages)
{
    banyan_topology *t = flit_load("torus:4x4," LINKS);
    banyan_schedule *s = flit_build(t, "multitree", "yx");
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_flit_report *report;
    banyan_error err;

    settings.flow = BANYAN_FLOW_MESSAGE;
    settings.normal_rate = 0.02;
    settings.normal_flits = 5;
    if (banyan_flit_run(s, t, 1 << 20, &settings, NULL, &report, &err))
        fail_msg("%s", err.text);
    assert_true(report->normal_packets > 1000);
    /* A message has 4097 flits; a packet that waited for one to end would need thousands of cycles. */
    assert_true(report->normal_mean_cycles < 700);
    assert_true(report->normal_worst_cycles < 2500);
    banyan_flit_report_destroy(report);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

/* Every node of a ring sends to the node opposite, all the same way round. */
static banyan_schedule *circle_of_waits(const banyan_topology *t, int count)
{
    banyan_schedule *s;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, count, t->workers, count);
    banyan_builder_cut_evenly(&b, count);
    for (int v = 0; v < count; v++) {
        int links[2] = {banyan_topology_find_link(t, v, (v + 1) % count),
                        banyan_topology_find_link(t, (v + 1) % count, (v + 2) % count)};
        int route = banyan_builder_add_route(&b, links, 2);

        banyan_builder_add(&b, (banyan_transfer){0, v, (v + 2) % count, v, 1, BANYAN_ACTION_COPY, v, route});
    }
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    return s;
}

TEST(a_deadlock_is_found_and_told)
{
    banyan_topology *t = flit_load("ring:4,gbps=128,latency=5ns");
    banyan_schedule *s = circle_of_waits(t, 4);
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_timeline *timeline = (banyan_timeline *)1;
    banyan_error err = {{0}};

    settings.flow = BANYAN_FLOW_MESSAGE;
    settings.switching = BANYAN_SWITCHING_WORMHOLE;
    settings.virtual_channels = 1;
    settings.buffer_flits = 4;
    assert_int_equal(banyan_flit_run(s, t, 4 * 4096, &settings, &timeline, NULL, &err), BANYAN_PLAN_INVALID);
    assert_null(timeline);
    CHECK_SAYS(err, "deadlock in cycle");
    CHECK_SAYS(err, "for a virtual channel of link g");
    /* With a second channel the circle is open. */
    settings.virtual_channels = 2;
    if (banyan_flit_run(s, t, 4 * 4096, &settings, NULL, NULL, &err))
        fail_msg("%s", err.text);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(starvation_is_found_and_told)
{
    banyan_topology *t = flit_load("switch:3,gbps=128,latency=10ns");
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_error err = {{0}};
    banyan_schedule *s;
    banyan_builder b;

    /* Two long messages for one worker and one channel: the second waits for the first to end. */
    banyan_builder_init(&b, BANYAN_COLLECTIVE_REDUCE, 0, t->node_count, t->workers, 3);
    banyan_builder_cut_evenly(&b, 2);
    banyan_builder_copy(&b, 0, t->workers[1], t->workers[0], 0, 1, 0);
    banyan_builder_copy(&b, 0, t->workers[2], t->workers[0], 1, 1, 0);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    settings.flow = BANYAN_FLOW_MESSAGE;
    settings.virtual_channels = 1;
    settings.patience_cycles = 1000;
    assert_int_equal(banyan_flit_run(s, t, 1 << 20, &settings, NULL, NULL, &err), BANYAN_PLAN_INVALID);
    CHECK_SAYS(err, "starvation in cycle");
    settings.patience_cycles = 0;
    if (banyan_flit_run(s, t, 1 << 20, &settings, NULL, NULL, &err))
        fail_msg("%s", err.text);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

/* Each message takes 4,000 cycles to pass where it is alone, but three share a cable for 12,000; all move. */
TEST(long_messages_that_move_do_not_starve)
{
    banyan_topology *t = flit_load("ring:6,gbps=128,latency=10ns");
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_flit_report *report;
    banyan_error err;
    banyan_schedule *s;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_REDUCE, 0, t->node_count, t->workers, 6);
    banyan_builder_cut_evenly(&b, 4);
    for (int piece = 0; piece < 4; piece++)
        banyan_builder_copy(&b, 0, t->workers[piece + 1], t->workers[0], piece, 1, piece);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    settings.flow = BANYAN_FLOW_MESSAGE;
    settings.virtual_channels = 16; /* one for each, whatever the class */
    settings.patience_cycles = 1000;
    if (banyan_flit_run(s, t, 1 << 18, &settings, NULL, &report, &err))
        fail_msg("%s", err.text);
    assert_in_range(report->applied_cycles, 3 * 4096, 3 * 4096 + 200); /* and the way, and their heads */
    banyan_flit_report_destroy(report);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

/* A flit keeps the slow cable for 100,000 cycles, and the message behind waits for all 130 of the one
 * before. */
TEST(who_waits_for_a_slow_cable_does_not_starve)
{
    banyan_topology *t = flit_load("hosts:2+1,gbps=0.00128,local_gbps=128,latency=10ns");
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_error err;
    banyan_schedule *s;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_REDUCE, 0, t->node_count, t->workers, 3);
    banyan_builder_cut_evenly(&b, 2);
    banyan_builder_copy(&b, 0, t->workers[0], t->workers[2], 0, 1, 0);
    banyan_builder_copy(&b, 0, t->workers[1], t->workers[2], 1, 1, 1);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    settings.flow = BANYAN_FLOW_MESSAGE;
    settings.virtual_channels = 1;
    if (banyan_flit_run(s, t, 2 * 130 * 16, &settings, NULL, NULL, &err))
        fail_msg("%s", err.text);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(bad_input_is_a_sentence)
{
    banyan_topology *t = flit_load("ring:8," LINKS), *small = flit_load("ring:4," LINKS);
    banyan_schedule *s = flit_build(t, "ring", NULL);
    const banyan_flit_settings good = banyan_flit_defaults();
    banyan_flit_settings bad;
    banyan_error err;

#define REFUSED(topology, bytes, words)                                                                      \
    do {                                                                                                     \
        assert_int_equal(banyan_flit_run(s, topology, bytes, &bad, NULL, NULL, &err),                        \
                         BANYAN_INVALID_ARGUMENT);                                                           \
        CHECK_SAYS(err, words);                                                                              \
        bad = good;                                                                                          \
    } while (0)
    bad = good;
    REFUSED(small, 4096, "the schedule is for 8 nodes");
    REFUSED(t, 5, "5 bytes are too few for 8 pieces");
    bad.buffer_flits = 16;
    REFUSED(t, 4096, "buffers of 16 flits are smaller than a packet of 17");
    bad.any_port = 2;
    REFUSED(t, 4096, "any_port must be from 0 to 1, not 2");
    bad.virtual_channels = 0;
    REFUSED(t, 4096, "the number of virtual channels must be from 1 to 32, not 0");
    bad.clock_hz = 1e8;
    REFUSED(t, 4096, "but a flit of 16 B a cycle at 1e+08 Hz is only 1.6e+09 B/s");
    bad.clock_hz = -1;
    REFUSED(t, 4096, "a clock of -1 Hz is impossible");
    bad.clock_hz = 1e300;
    REFUSED(t, 4096, "is impossible");
    bad.normal_rate = 2;
    REFUSED(t, 4096, "the rate of normal traffic");
    bad.flit_bytes = 0;
    REFUSED(t, 4096, "the bytes of a flit");
    banyan_schedule_destroy(s);
    banyan_topology_destroy(small);
    banyan_topology_destroy(t);
}

TEST(a_route_that_leads_elsewhere_is_a_sentence)
{
    banyan_topology *t = flit_load("ring:4," LINKS);
    banyan_flit_settings settings = banyan_flit_defaults();
    int link = banyan_topology_find_link(t, 0, 1);
    banyan_schedule *s;
    banyan_builder b;
    banyan_error err;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 4, t->workers, 4);
    banyan_builder_cut_evenly(&b, 1);
    banyan_builder_add(
        &b, (banyan_transfer){0, 0, 2, 0, 1, BANYAN_ACTION_COPY, 0, banyan_builder_add_route(&b, &link, 1)});
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    assert_int_equal(banyan_flit_run(s, t, 4096, &settings, NULL, NULL, &err), BANYAN_INVALID_ARGUMENT);
    CHECK_SAYS(err, "the route of transfer 0 does not lead from g0 to g2");
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

TEST(a_pair_without_a_route_is_named)
{
    banyan_topology *whole = flit_load("ring:4," LINKS);
    banyan_topology *broken = flit_load("line:4,down=g1-g2," LINKS);
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_schedule *s = flit_build(whole, "direct", NULL);
    banyan_error err;

    assert_int_not_equal(banyan_flit_run(s, broken, 4096, &settings, NULL, NULL, &err), BANYAN_SUCCESS);
    CHECK_SAYS(err, "g");
    CHECK_SAYS(err, "route");
    banyan_schedule_destroy(s);
    banyan_topology_destroy(whole);
    banyan_topology_destroy(broken);
}

TEST(each_failing_allocation_is_survived)
{
    banyan_topology *t = flit_load("mesh:2x2," LINKS);
    banyan_schedule *s = flit_build(t, "multitree", NULL);
    banyan_flit_settings settings = banyan_flit_defaults();
    banyan_flit_report *report = NULL;
    banyan_timeline *timeline = NULL;
    char *text = NULL;

    settings.normal_rate = 0.01;
    for (long calls = 0; !report; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_flit_run(s, t, 4096, &settings, &timeline, &report, NULL);
        banyan_alloc_fail_after(-1);
        assert_true((report != NULL) == (timeline != NULL));
    }
    for (long calls = 0; !text; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_flit_format_tables(s, t, 4096, &settings, &text, NULL);
        banyan_alloc_fail_after(-1);
    }
    banyan_free(text);
    banyan_timeline_destroy(timeline);
    banyan_flit_report_destroy(report);
    banyan_schedule_destroy(s);
    banyan_topology_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tables_of_a_2x2_mesh_are_those_of_the_paper),
        cmocka_unit_test(a_worker_sits_out_the_steps_in_which_it_sends_nothing),
        cmocka_unit_test(any_algorithm_has_tables),
        cmocka_unit_test(every_lockstep_and_flow_control_moves_every_byte),
        cmocka_unit_test(the_authors_interface_takes_as_long_as_theirs),
        cmocka_unit_test(normal_packets_do_not_starve_beside_long_messages),
        cmocka_unit_test(a_deadlock_is_found_and_told),
        cmocka_unit_test(starvation_is_found_and_told),
        cmocka_unit_test(long_messages_that_move_do_not_starve),
        cmocka_unit_test(who_waits_for_a_slow_cable_does_not_starve),
        cmocka_unit_test(bad_input_is_a_sentence),
        cmocka_unit_test(a_route_that_leads_elsewhere_is_a_sentence),
        cmocka_unit_test(a_pair_without_a_route_is_named),
        cmocka_unit_test(each_failing_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
