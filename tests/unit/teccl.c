/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/teccl.c: all-gathers in TE-CCL's form: read, put onto a network, proven and timed; and a
 * sentence for everything that is not one. */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/file.h"
#include "schedule/import.h"
#include "simulate/fluid.h"
#include "verify/verify.h"

#define DATA TEST_DATA "/data/teccl/"
#define FILE_OF(flows) "{\"1-Epoch_Duration\":1e-6,\"7-Flows\":[" flows "]}"
#define FLOW "\"Chunk 0 from 1 traveled over 1->2 in epoch 3 via switches 0\""

static banyan_topology *network(const char *name)
{
    char path[512];
    banyan_topology *topology;
    banyan_error err;

    snprintf(path, sizeof path, DATA "%s_network.json", name);
    if (banyan_topology_load(path, &topology, &err))
        fail_msg("%s", err.text);
    return topology;
}

static banyan_schedule *load(const char *name, const banyan_topology *topology)
{
    char path[512];
    banyan_schedule *schedule;
    banyan_error err;

    snprintf(path, sizeof path, DATA "%s.json", name);
    if (topology ? banyan_schedule_load_on(path, topology, &schedule, &err)
                 : banyan_schedule_load(path, &schedule, &err))
        fail_msg("%s", err.text);
    return schedule;
}

static void prove(const banyan_schedule *schedule, const banyan_topology *topology)
{
    banyan_verdict verdict;

    assert_int_equal(banyan_verify(schedule, topology, &verdict, NULL), BANYAN_SUCCESS);
    if (verdict.problem_count)
        fail_msg("%s", verdict.problems[0]);
}

/* Whole chunks, which take turns on a link in the order of their epochs. */
static double simulate(const banyan_schedule *schedule, const banyan_topology *topology, size_t bytes)
{
    const banyan_fluid_options options = {.slice_bytes = (size_t)1 << 62, .service = BANYAN_SERVICE_TURNS};
    banyan_fluid_result result;
    double seconds;

    assert_int_equal(banyan_fluid(schedule, topology, bytes, &options, &result, NULL), BANYAN_SUCCESS);
    seconds = result.timeline->total_s;
    banyan_fluid_fini(&result);
    return seconds;
}

static void refuses(const char *text, const char *words)
{
    banyan_teccl_program *program = (banyan_teccl_program *)&program;
    banyan_error err = {""};

    assert_int_not_equal(banyan_teccl_parse(text, strlen(text), &program, &err), BANYAN_SUCCESS);
    assert_null(program);
    CHECK_SAYS(err, words);
}

static void refuses_flow(const char *flow, const char *words)
{
    char text[512];

    snprintf(text, sizeof text, FILE_OF(FLOW ",\"%s\""), flow);
    refuses(text, words);
}

TEST(flows_are_read_in_the_order_of_epochs)
{
    const char *text = FILE_OF("\"Chunk 1 from 7 traveled over 7->2 in epoch 5 via switches 0 -> 4\","
                               "\"Chunk 0 from 2 traveled over 2->7 in epoch 5\"," FLOW);
    banyan_teccl_program *program;

    assert_int_equal(banyan_teccl_parse(text, strlen(text), &program, NULL), BANYAN_SUCCESS);
    assert_int_equal(program->gpu_count, 3);
    assert_int_equal(program->gpus[2], 7);
    assert_int_equal(program->switch_count, 2);
    assert_int_equal(program->switches[1], 4);
    assert_int_equal(program->chunk_count, 2);
    assert_int_equal(program->flow_count, 3);
    assert_int_equal(program->flows[0].epoch, 3);
    assert_int_equal(program->flows[1].owner, 7);
    assert_int_equal(program->flows[1].via_count, 2);
    assert_int_equal(program->via[program->flows[1].first_via + 1], 4);
    assert_int_equal(program->flows[2].dst, 7);
    banyan_teccl_destroy(program);
}

TEST(without_a_network_nodes_keep_their_numbers_and_the_schedule_is_proven)
{
    banyan_schedule *schedule = load("two_machines", NULL);

    assert_int_equal(schedule->collective, BANYAN_COLLECTIVE_ALLGATHER);
    assert_int_equal(schedule->node_count, 6);
    assert_int_equal(schedule->active_count, 4);
    assert_int_equal(schedule->active[3], 5);
    assert_int_equal(schedule->transfer_count, 12);
    assert_int_equal(schedule->route_count, 0);
    prove(schedule, NULL);
    banyan_schedule_destroy(schedule);
}

TEST(on_a_network_flows_follow_the_links_that_they_name)
{
    banyan_topology *topology = network("two_machines");
    banyan_schedule *schedule = load("two_machines", topology);

    assert_int_equal(schedule->node_count, topology->node_count);
    assert_int_equal(schedule->active[3], 3);
    assert_int_equal(schedule->transfer_count, 12);
    for (size_t i = 0; i < schedule->transfer_count; i++)
        assert_true(schedule->transfers[i].route >= 0);
    prove(schedule, topology);
    /* Each cable between the machines carries two of four chunks, and the last one crosses a switch then. */
    assert_float_equal(simulate(schedule, topology, 4000), 3e-6, 1e-9);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(topology);
}

TEST(a_switch_that_copies_gets_each_chunk_once)
{
    banyan_topology *copying = network("copying_switch"), *plain = network("plain_switch");
    banyan_schedule *once = load("copying_switch", copying), *twice = load("copying_switch", plain);

    assert_int_equal(once->transfer_count, 3 + 6);
    assert_int_equal(twice->transfer_count, 6);
    prove(once, copying);
    prove(twice, plain);
    /* One chunk up and then two down, of 1 us each; or two, each up and down at once. */
    assert_float_equal(simulate(once, copying, 3000), 3e-6, 1e-9);
    assert_float_equal(simulate(twice, plain, 3000), 2e-6, 1e-9);
    banyan_schedule_destroy(once);
    banyan_schedule_destroy(twice);
    banyan_topology_destroy(copying);
    banyan_topology_destroy(plain);
}

TEST(a_network_that_is_another_one_is_refused)
{
    banyan_topology *topology = network("two_machines"), *plain = network("plain_switch");
    banyan_schedule *schedule;
    banyan_error err;

    assert_int_not_equal(banyan_schedule_load_on(DATA "two_machines.json", plain, &schedule, &err), 0);
    CHECK_SAYS(err, "the schedule has 4 GPUs, the network 3 workers");
    assert_int_not_equal(banyan_schedule_load_on(DATA "copying_switch.json", topology, &schedule, &err), 0);
    CHECK_SAYS(err, "the schedule has 3 GPUs, the network 4 workers");
    banyan_topology_destroy(plain);
    assert_int_equal(banyan_topology_generate("full:4", &plain, NULL), BANYAN_SUCCESS);
    assert_int_not_equal(banyan_schedule_load_on(DATA "two_machines.json", plain, &schedule, &err), 0);
    CHECK_SAYS(err, "the schedule has 2 switches, the network 0");
    banyan_topology_destroy(plain);
    assert_int_equal(banyan_topology_generate("hosts:2+2", &plain, NULL), BANYAN_SUCCESS);
    assert_int_not_equal(banyan_schedule_load_on(DATA "two_machines.json", plain, &schedule, &err), 0);
    assert_null(schedule);
    CHECK_SAYS(err, "switches, the network");
    banyan_topology_destroy(plain);
    banyan_topology_destroy(topology);
}

TEST(a_link_that_is_not_there_is_named)
{
    static const char text[] =
        "{\"format\":\"banyan-topology\",\"version\":1,\"nodes\":[{\"name\":\"s\",\"kind\":\"switch\"},"
        "{\"name\":\"a\",\"kind\":\"worker\"},{\"name\":\"b\",\"kind\":\"worker\"},"
        "{\"name\":\"c\",\"kind\":\"worker\"}],"
        "\"links\":[{\"src\":\"a\",\"dst\":\"b\",\"bytes_per_s\":1,\"both\":true},"
        "{\"src\":\"c\",\"dst\":\"b\",\"bytes_per_s\":1,\"both\":true}]}";
    banyan_topology *topology;
    banyan_schedule *schedule;
    banyan_error err;

    assert_int_equal(banyan_topology_parse(text, sizeof text - 1, &topology, &err), BANYAN_SUCCESS);
    assert_int_not_equal(banyan_schedule_load_on(DATA "copying_switch.json", topology, &schedule, &err), 0);
    CHECK_SAYS(err, "chunk 0 from 1, 1->2 in epoch 0: the network has no link from its node 1 to its node 0");
    banyan_topology_destroy(topology);
}

TEST(what_is_not_a_flow_is_named_by_its_number)
{
    refuses("[]", "there is no array \"7-Flows\"");
    refuses("{\"7-Flows\":{}}", "there is no array \"7-Flows\"");
    refuses("{\"7-Flows\":[]}", "\"7-Flows\" is empty");
    refuses("{\"7-Flows\":[1]}", "flow 0 is a number, not a string");
    refuses("{\"4-Collective_Finish_Time\":-1,\"7-Flows\":[" FLOW "]}", "is not a number of seconds");
    refuses("{\"7-Flows\":[" FLOW "}", "line 1");
    refuses_flow("Chunk 0 from 1", "flow 1: 'Chunk N from GPU traveled");
    refuses_flow("Chunk 0 from 1 traveled over 1->2 in epoch -1", "flow 1: ");
    refuses_flow("Chunk 0 from 1 traveled over 1->2 in epoch 99999999999", "flow 1: ");
    refuses_flow("Chunk 0 from 4096 traveled over 1->2 in epoch 0", "flow 1: ");
    refuses_flow("Chunk 0 from 1 traveled over 1->2 in epoch 0 via switches", "flow 1: ");
    refuses_flow("Chunk 0 from 1 traveled over 1->2 in epoch 0 via switches 0 ->", "flow 1: ");
    refuses_flow("Chunk 0 from 1 traveled over 1->2 in epoch 0 0.5", "flow 1: ");
    refuses_flow("Chunk 0 from 1 traveled over 1->1 in epoch 0", "flow 1: GPU 1 sends to itself");
    refuses_flow("Chunk 0 from 0 traveled over 1->2 in epoch 0",
                 "flow 1: node 0 is a GPU, and elsewhere a switch");
    refuses_flow("Chunk 0 from 1 traveled over 1->3 in epoch 0 via switches 2",
                 "flow 1: node 2 is a switch, and elsewhere a GPU");
    refuses_flow("Chunk 262143 from 1 traveled over 1->3 in epoch 0",
                 "3 GPUs with 262144 chunks each are more than 262144 chunks");
}

TEST(a_flow_that_is_left_out_is_what_the_proof_names)
{
    const char *text = FILE_OF("\"Chunk 0 from 1 traveled over 1->2 in epoch 0\"");
    banyan_schedule *schedule;
    banyan_verdict verdict;

    assert_int_equal(banyan_schedule_import(text, strlen(text), &schedule, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_verify(schedule, NULL, &verdict, NULL), BANYAN_SUCCESS);
    assert_int_equal(verdict.problem_count, 1);
    banyan_schedule_destroy(schedule);
}

TEST(our_own_json_is_not_taken_for_it)
{
    const char *own = "{\"format\":\"banyan-schedule\",\"topology\":\"1-Epoch_Duration\"}";

    assert_false(banyan_teccl_looks_like(own, strlen(own)));
    assert_true(banyan_teccl_looks_like("{\"1-Epoch_Duration\": 1}", 23));
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_topology *topology = network("two_machines");
    banyan_schedule *schedule = NULL;

    for (int calls = 0; !schedule; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_schedule_load_on(DATA "two_machines.json", topology, &schedule, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_are_read_in_the_order_of_epochs),
        cmocka_unit_test(without_a_network_nodes_keep_their_numbers_and_the_schedule_is_proven),
        cmocka_unit_test(on_a_network_flows_follow_the_links_that_they_name),
        cmocka_unit_test(a_switch_that_copies_gets_each_chunk_once),
        cmocka_unit_test(a_network_that_is_another_one_is_refused),
        cmocka_unit_test(a_link_that_is_not_there_is_named),
        cmocka_unit_test(what_is_not_a_flow_is_named_by_its_number),
        cmocka_unit_test(a_flow_that_is_left_out_is_what_the_proof_names),
        cmocka_unit_test(our_own_json_is_not_taken_for_it),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
