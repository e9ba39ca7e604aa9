/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/chakra.c: Chakra traces: reading, packed and not, what is wrong with others, replaying, and
 * writing plans. */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/file.h"
#include "core/protobuf.h"
#include "core/text.h"
#include "schedule/export.h"
#include "train/chakra.h"

#define DATA TEST_DATA "/data/chakra/"

static banyan_chakra *load(const char *path)
{
    banyan_chakra *trace;
    banyan_error err;

    if (banyan_chakra_load(path, &trace, &err))
        fail_msg("%s", err.text);
    return trace;
}

static void refuses(const char *bytes, size_t length, const char *sentence)
{
    banyan_chakra *trace = (banyan_chakra *)&trace;
    banyan_error err = {{0}};

    assert_int_equal(banyan_chakra_parse(bytes, length, &trace, &err), BANYAN_INVALID_ARGUMENT);
    assert_null(trace);
    assert_string_equal(err.text, sentence);
}

TEST(nodes_have_their_kinds_sizes_and_waits)
{
    banyan_chakra *trace = load(DATA "train.0.et");

    assert_string_equal(trace->version, "1.0.0");
    assert_int_equal(trace->node_count, 9);
    assert_int_equal(trace->nodes[0].kind, BANYAN_CHAKRA_DEVICE);
    assert_true(trace->nodes[0].recorded_s > 2.99e-3 && trace->nodes[0].recorded_s < 3.01e-3);
    assert_int_equal(trace->nodes[2].kind, BANYAN_CHAKRA_COLLECTIVE);
    assert_int_equal(trace->nodes[2].collective, BANYAN_COLLECTIVE_ALLREDUCE);
    assert_int_equal(trace->nodes[2].bytes, 8 << 20);
    assert_int_equal(trace->nodes[5].wait_count, 2);
    assert_int_equal(trace->waits[trace->nodes[5].first_wait], 2);
    assert_int_equal(trace->waits[trace->nodes[5].first_wait + 1], 4);
    assert_int_equal(trace->nodes[6].collective, BANYAN_COLLECTIVE_ALLGATHER);
    assert_string_equal(trace->groups[trace->nodes[6].group], "dp");
    assert_int_equal(trace->nodes[7].kind, BANYAN_CHAKRA_HOST);
    assert_int_equal(trace->nodes[8].bytes, 0);
    banyan_chakra_destroy(trace);
}

TEST(a_packed_trace_is_the_same)
{
    banyan_chakra *plain = load(DATA "train.0.et"), *packed = load(DATA "train.0.et.gz");

    assert_int_equal(plain->node_count, packed->node_count);
    assert_memory_equal(plain->nodes, packed->nodes, (size_t)plain->node_count * sizeof *plain->nodes);
    banyan_chakra_destroy(plain);
    banyan_chakra_destroy(packed);
}

TEST(messages_know_both_ends)
{
    banyan_chakra *trace = load(DATA "pipeline.0.et");

    assert_int_equal(trace->nodes[1].kind, BANYAN_CHAKRA_SEND);
    assert_int_equal(trace->nodes[1].self, 0);
    assert_int_equal(trace->nodes[1].peer, 1);
    assert_int_equal(trace->nodes[2].kind, BANYAN_CHAKRA_RECEIVE);
    assert_int_equal(trace->nodes[2].self, 0);
    assert_int_equal(trace->nodes[2].peer, 1);
    banyan_chakra_destroy(trace);
}

static void add_message(banyan_text *file, banyan_text *message)
{
    banyan_protobuf_add_varint(file, message->length);
    banyan_text_add_bytes(file, message->bytes, message->length);
    message->length = 0;
}

/* A file of nodes with these ids, each of which waits for the one whose id is given. */
static banyan_text make_file(const int (*nodes)[2], int count)
{
    banyan_text file = BANYAN_TEXT_EMPTY, message = BANYAN_TEXT_EMPTY;

    banyan_protobuf_add_bytes(&message, 1, "1", 1);
    add_message(&file, &message);
    for (int i = 0; i < count; i++) {
        banyan_protobuf_add_number(&message, 1, (uint64_t)nodes[i][0]);
        banyan_protobuf_add_number(&message, 3, 4);
        if (nodes[i][1] >= 0)
            banyan_protobuf_add_number(&message, 4, (uint64_t)nodes[i][1]);
        add_message(&file, &message);
    }
    banyan_text_fini(&message);
    return file;
}

TEST(damaged_files_are_refused_with_the_byte)
{
    static const int twice[][2] = {{1, -1}, {1, -1}}, missing[][2] = {{1, 7}};
    banyan_text file = make_file(twice, 2);

    refuses("", 0, "there are no nodes in the trace");
    refuses("\x05", 1, "byte 1: a message is cut off");
    refuses("\xff\xff", 2, "byte 0: the length of a message is damaged");
    refuses("\x02\x0a\x09", 3, "byte 1: the metadata are damaged");
    refuses("\x00\x02\x08\xff", 4, "byte 2: a node is damaged");
    refuses("\x00\x03\x2a\x01\xff", 5, "byte 4: a list of dependencies is damaged");
    refuses("\x00\x03\x52\x01\xff", 5, "byte 4: an attribute is damaged");
    refuses("\x1f\x8b\x08\x00", 4, "byte 4: the packed file is cut off");
    refuses("\x1f\x8b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12,
            "byte 4: the packed file is damaged (unknown header flags set)");
    refuses(file.bytes, file.length, "two nodes have the id 1");
    banyan_text_fini(&file);
    file = make_file(missing, 1);
    refuses(file.bytes, file.length, "node 1 waits for node 7, which is not there");
    banyan_text_fini(&file);
}

TEST(nodes_that_wait_in_a_circle_are_named)
{
    static const int circle[][2] = {{5, -1}, {6, 7}, {7, 6}};
    static const double seconds[3] = {0};
    banyan_text file = make_file(circle, 3);
    banyan_chakra *trace;
    banyan_replay replay;
    banyan_error err;

    assert_int_equal(banyan_chakra_parse(file.bytes, file.length, &trace, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_chakra_replay(trace, seconds, &replay, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "node 6 waits, directly or not, for itself");
    banyan_chakra_destroy(trace);
    banyan_text_fini(&file);
}

static int is_near(double found, double wanted)
{
    return found > wanted - 1e-9 && found < wanted + 1e-9;
}

/* Forward 3 ms and backward 2 + 2 ms; the first all-reduce, of 3 ms, ends 1 ms after backward and keeps the
 * second one waiting. */
TEST(collectives_wait_for_one_another_and_hide_behind_compute)
{
    static const double seconds[] = {3e-3, 2e-3, 3e-3, 2e-3, 3e-3, 1e-3, 0, 1e-5, 0};
    banyan_chakra *trace = load(DATA "train.0.et");
    banyan_replay replay;

    assert_int_equal(banyan_chakra_replay(trace, seconds, &replay, NULL), BANYAN_SUCCESS);
    assert_true(is_near(replay.end_s, 12e-3));
    assert_true(is_near(replay.compute_s, 8e-3));
    assert_true(is_near(replay.communication_s, 6e-3));
    assert_true(is_near(replay.exposed_s, 4e-3));
    banyan_chakra_destroy(trace);
}

/* The parts of a plan are traces that our own reader takes: in a ring of 4 each rank sends and receives six
 * times and adds three times. */
TEST(a_plan_is_written_as_a_trace_for_each_rank)
{
    banyan_plan_config config = BANYAN_PLAN_CONFIG_INITIALIZER;
    banyan_topology *topology;
    banyan_plan *plan;

    config.algorithm = "ring";
    assert_int_equal(banyan_topology_generate("ring:4", &topology, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_plan_create(topology, &config, &plan, NULL), BANYAN_SUCCESS);
    for (int rank = 0; rank < 4; rank++) {
        banyan_text bytes = BANYAN_TEXT_EMPTY;
        int kinds[BANYAN_CHAKRA_COLLECTIVE + 1] = {0};
        banyan_chakra *trace;
        double seconds[15] = {0};
        banyan_replay replay;

        assert_int_equal(banyan_schedule_export_chakra(banyan_plan_schedule(plan), 4096, rank, &bytes, NULL),
                         BANYAN_SUCCESS);
        assert_int_equal(banyan_chakra_parse(bytes.bytes, bytes.length, &trace, NULL), BANYAN_SUCCESS);
        assert_int_equal(trace->node_count, 15);
        for (int i = 0; i < 15; i++) {
            kinds[trace->nodes[i].kind]++;
            if (trace->nodes[i].kind == BANYAN_CHAKRA_SEND) {
                assert_int_equal(trace->nodes[i].bytes, 1024);
                assert_int_equal(trace->nodes[i].self, rank);
                assert_int_equal(trace->nodes[i].peer, (rank + 1) % 4);
                seconds[i] = 1;
            }
        }
        assert_int_equal(kinds[BANYAN_CHAKRA_SEND], 6);
        assert_int_equal(kinds[BANYAN_CHAKRA_RECEIVE], 6);
        assert_int_equal(kinds[BANYAN_CHAKRA_DEVICE], 3);
        assert_int_equal(banyan_chakra_replay(trace, seconds, &replay, NULL), BANYAN_SUCCESS);
        assert_true(is_near(replay.end_s, 6));
        banyan_chakra_destroy(trace);
        banyan_text_fini(&bytes);
    }
    banyan_plan_destroy(plan);
    banyan_topology_destroy(topology);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_chakra *trace = NULL;
    banyan_replay replay = {0};
    size_t length;
    char *bytes;

    assert_int_equal(banyan_file_load(DATA "train.0.et.gz", &bytes, &length, NULL), BANYAN_SUCCESS);
    for (long calls = 0; replay.end_s <= 0; calls++) {
        double seconds[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
        banyan_status status;

        banyan_alloc_fail_after(calls);
        status = banyan_chakra_parse(bytes, length, &trace, NULL);
        if (!status)
            status = banyan_chakra_replay(trace, seconds, &replay, NULL);
        banyan_alloc_fail_after(-1);
        assert_true(!status || status == BANYAN_SYSTEM_ERROR);
        banyan_chakra_destroy(trace);
    }
    banyan_free(bytes);
}

TEST(each_prefix_is_read_or_refused)
{
    size_t length;
    char *bytes;

    assert_int_equal(banyan_file_load(DATA "train.0.et", &bytes, &length, NULL), BANYAN_SUCCESS);
    for (size_t cut = 0; cut < length; cut++) {
        char *prefix = malloc(cut + 1); /* its own block, so that a byte too far is seen */
        banyan_chakra *trace;
        banyan_error err = {{0}};

        memcpy(prefix, bytes, cut);
        if (banyan_chakra_parse(prefix, cut, &trace, &err))
            assert_true(err.text[0] && !trace);
        banyan_chakra_destroy(trace);
        free(prefix);
    }
    banyan_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_have_their_kinds_sizes_and_waits),
        cmocka_unit_test(a_packed_trace_is_the_same),
        cmocka_unit_test(messages_know_both_ends),
        cmocka_unit_test(damaged_files_are_refused_with_the_byte),
        cmocka_unit_test(nodes_that_wait_in_a_circle_are_named),
        cmocka_unit_test(collectives_wait_for_one_another_and_hide_behind_compute),
        cmocka_unit_test(a_plan_is_written_as_a_trace_for_each_rank),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
        cmocka_unit_test(each_prefix_is_read_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
