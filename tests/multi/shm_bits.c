/* SPDX-License-Identifier: Apache-2.0 */
/* tests/multi/shm_bits.c: every algorithm, type and op gives the reference's bits between processes,
 * whichever way the bytes go and wherever memory lies. Nothing is left behind. */
#include "multi/shm_campaign.h"

static void add_every_algorithm(campaign *c, size_t count)
{
    for (int i = 0; i < banyan_algorithm_count(); i++) {
        const banyan_schedule *schedule = add_schedule(c, banyan_algorithm_at(i)->name, NULL);

        if (schedule)
            add_case(c, schedule, BANYAN_FLOAT32, BANYAN_SUM, count, 0);
    }
    assert_true(c->case_count > 5);
}

TEST(every_algorithm_gives_the_references_bits)
{
    static const char *const specs[] = {"hosts:2+3", "torus:2x4", "full:2"};
    campaign c;

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        begin(&c, specs[i]);
        add_every_algorithm(&c, 1037);
        launch(&c, specs[i]);
        end(&c);
    }
}

TEST(long_vectors_are_read_from_the_senders_process_or_go_through_slots)
{
    static const banyan_shm_way ways[] = {BANYAN_SHM_BEST, BANYAN_SHM_READ_PROCESS, BANYAN_SHM_ONLY_SLOTS};
    campaign c;

    begin(&c, "hosts:1+3");
    add_every_algorithm(&c, 40009);
    for (size_t i = 0; i < 3; i++) {
        c.way = ways[i];
        launch(&c, "one of the ways");
    }
    c.from_region = 1;
    launch(&c, "shared memory, streams");
    c.way = BANYAN_SHM_BEST;
    launch(&c, "shared memory, side by side");
    end(&c);
}

TEST(every_type_and_op_gives_the_references_bits)
{
    campaign c;
    const banyan_schedule *schedule;

    begin(&c, "switch:3");
    schedule = add_schedule(&c, "ring", NULL);
    for (int type = 0; type <= BANYAN_BFLOAT16; type++)
        for (int op = 0; op <= BANYAN_AVG; op++)
            if (banyan_datatype_bytes((banyan_datatype)type))
                add_case(&c, schedule, (banyan_datatype)type, (banyan_op)op, 4099, 0);
    assert_int_equal(c.case_count, 50);
    c.way = BANYAN_SHM_READ_PROCESS;
    launch(&c, "types");
    c.way = BANYAN_SHM_ONLY_SLOTS;
    launch(&c, "types in slots");
    end(&c);
}

/* How memory may lie: in place, apart, in parts of which some are apart, and anywhere in a line of the cache,
 * other ranks' elsewhere. */
static void run_lying(const collective *one, banyan_runner *runner, int rank, int way)
{
    size_t width = banyan_datatype_bytes(one->type), bytes = one->count * width;
    size_t offset = way == 1 ? 1 : way == 2 ? 16 : way == 3 ? (size_t)(rank + 1) * 8 : 0;
    char *input = malloc(bytes + 64), *result = malloc(bytes + 64);
    banyan_part parts[3] = {
        {0, result, input},
        {one->count / 3, input + one->count / 3 * width, input + one->count / 3 * width},
        {one->count / 2, result + one->count / 2 * width, input + one->count / 2 * width}};
    banyan_run_request request = {
        .count = one->count, .type = one->type, .op = one->op, .timeout_ms = TIMEOUT_MS};
    banyan_error err = {""};
    const char *found = result + offset;

    memcpy(input + offset, one->before[rank], bytes);
    request.buffer = result + offset;
    request.input = input + offset;
    if (way < 2) {
        request.buffer = input + offset;
        request.input = NULL;
        found = input + offset;
    } else if (way == 4) {
        request.parts = parts;
        request.part_count = 3;
    }
    REQUIRE(!banyan_runner_run(runner, &request, &err), "way %d: %s", way, err.text);
    if (way == 4)
        memcpy(result + parts[1].first * width, parts[1].into, (parts[2].first - parts[1].first) * width);
    REQUIRE(!memcmp(found, one->after[rank], bytes), "%zu %s %s, way %d: rank %d differs from the reference",
            one->count, banyan_datatype_string(one->type), banyan_op_string(one->op), way, rank);
    if (way == 2 || way == 3)
        REQUIRE(!memcmp(input + offset, one->before[rank], bytes), "way %d changes the input", way);
    free(input);
    free(result);
}

static void run_lying_campaign(child *self, void *argument)
{
    const campaign *c = argument;
    banyan_endpoint *endpoint = open_in(self, BANYAN_SHM_BEST, 0);

    for (int i = 0; i < c->case_count; i++) {
        banyan_program *program;
        banyan_runner *runner;
        banyan_error err = {""};

        REQUIRE(!banyan_program_compile(c->cases[i].schedule, c->cases[i].dependencies, endpoint->member,
                                        &program, &err) &&
                    !banyan_runner_create(program, endpoint, 0, TIMEOUT_MS, &runner, &err),
                "%s", err.text);
        for (int way = 0; way < 5; way++)
            run_lying(&c->cases[i], runner, program->rank, way);
        banyan_runner_destroy(runner);
        banyan_program_destroy(program);
    }
    shm->close(endpoint);
}

static void check_lying(const char *spec, size_t longest_bytes)
{
    static const size_t lengths[] = {33000, 65536, 131080, 300000};
    const banyan_schedule *schedule;
    campaign c;

    begin(&c, spec);
    schedule = add_schedule(&c, "ring", NULL);
    for (int type = 0; type <= BANYAN_BFLOAT16; type++)
        for (int op = type % 2; op <= BANYAN_AVG; op += 2)
            if (banyan_datatype_bytes((banyan_datatype)type))
                add_case(&c, schedule, (banyan_datatype)type, (banyan_op)op,
                         lengths[(type + op / 2) % 4] / banyan_datatype_bytes((banyan_datatype)type), 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, longest_bytes / 4, 0);
    {
        processes p = {.member_count = c.topology->node_count,
                       .is_present = c.is_present,
                       .body = run_lying_campaign,
                       .argument = &c,
                       .seconds = LIMIT_S};

        run_processes(&p);
        check_all_ended_well(&p, spec);
    }
    end(&c);
}

TEST(wherever_memory_lies_ranks_side_by_side_have_the_references_bits)
{
    check_lying("full:2", ((size_t)13 << 20) + 12); /* two stores' kinds: past the cache from 12 MiB on */
    check_lying("full:3", ((size_t)8 << 20) + 12);
}

TEST(slots_smaller_than_a_slice_and_not_of_whole_elements_do)
{
    static const char *const names[] = {"ring", "recursive-doubling", "direct", "binomial"};
    campaign c;

    begin(&c, "switch:4");
    c.way = BANYAN_SHM_ONLY_SLOTS;
    c.slot_bytes = 67;
    for (int i = 0; i < 4; i++) {
        const banyan_schedule *schedule = add_schedule(&c, names[i], NULL);

        add_case(&c, schedule, BANYAN_FLOAT64, BANYAN_SUM, 1000, 0);
        add_case(&c, schedule, BANYAN_INT8, BANYAN_MAX, 1000, 64);
    }
    launch(&c, "tiny slots");
    end(&c);
}

TEST(one_rank_no_elements_one_element_and_many_do)
{
    campaign c;
    const banyan_schedule *schedule;

    begin(&c, "switch:1");
    schedule = add_schedule(&c, "ring", NULL);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 100, 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 0, 0);
    launch(&c, "one rank");
    end(&c);
    begin(&c, "switch:5");
    schedule = add_schedule(&c, "ring", NULL);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 0, 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 1, 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 700001, 0);
    add_case(&c, schedule, BANYAN_FLOAT32, BANYAN_SUM, 4, 0);
    launch(&c, "odd sizes");
    end(&c);
}

TEST(relays_take_part_and_switches_are_in_no_process)
{
    static const char *const names[] = {"forest", "multitree", "ring"};
    campaign c;

    begin(&c, "torus:2x3");
    for (int i = 0; i < 3; i++) {
        const banyan_schedule *schedule = add_schedule(&c, names[i], "0,4,5");

        if (schedule)
            add_case(&c, schedule, BANYAN_INT32, BANYAN_SUM, 5003, 0);
    }
    assert_true(c.case_count > 0);
    launch(&c, "relays");
    end(&c);
}

TEST(eight_ranks_share_two_cores)
{
    campaign c;

    begin(&c, "switch:8");
    for (int i = 0; i < 4; i++)
        add_case(&c, add_schedule(&c, "direct", NULL), BANYAN_FLOAT32, BANYAN_SUM, 100003, 0);
    launch(&c, "eight");
    end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_the_references_bits),
        cmocka_unit_test(long_vectors_are_read_from_the_senders_process_or_go_through_slots),
        cmocka_unit_test(every_type_and_op_gives_the_references_bits),
        cmocka_unit_test(wherever_memory_lies_ranks_side_by_side_have_the_references_bits),
        cmocka_unit_test(slots_smaller_than_a_slice_and_not_of_whole_elements_do),
        cmocka_unit_test(one_rank_no_elements_one_element_and_many_do),
        cmocka_unit_test(relays_take_part_and_switches_are_in_no_process),
        cmocka_unit_test(eight_ranks_share_two_cores),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
