/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/msccl_parse.c: MSCCL XML as flat data, and a sentence with the line for everything that is
 * not. */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/file.h"
#include "schedule/msccl.h"

#define ALGO                                                                                                 \
    "<algo name=\"x\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allreduce\" " \
    "inplace=\"1\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"0\">\n"
#define GPU "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\">\n"
#define OTHER "<gpu id=\"1\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\"/>\n</algo>"
#define TB "<tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">\n"
#define STEP                                                                                                 \
    "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" "   \
    "deps=\"-1\" hasdep=\"0\"/>\n"
#define WHOLE ALGO GPU TB STEP "</tb></gpu>" OTHER

static void check_refused(const char *text, const char *words)
{
    banyan_msccl_program *program;
    banyan_error err = {""};

    assert_int_not_equal(banyan_msccl_parse(text, strlen(text), &program, &err), 0);
    assert_null(program);
    CHECK_SAYS(err, words);
}

/* WHOLE with one piece of text replaced, which must be there. */
static void check_change(const char *from, const char *to, const char *words)
{
    const char *whole = WHOLE, *at = strstr(whole, from);
    char text[2048];

    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    check_refused(text, words);
}

TEST(reads_a_file_step_by_step)
{
    banyan_msccl_program *program;
    const banyan_msccl_step *step;
    size_t length;
    char *text;

    assert_int_equal(banyan_file_load(TEST_DATA "/data/msccl/chain3.xml", &text, &length, NULL), 0);
    assert_int_equal(banyan_msccl_parse(text, length, &program, NULL), 0);
    assert_string_equal(program->name, "chain3");
    assert_string_equal(program->proto, "Simple");
    assert_int_equal(program->collective, BANYAN_COLLECTIVE_ALLREDUCE);
    assert_int_equal(program->rank_count, 3);
    assert_int_equal(program->block_count, 4);
    assert_int_equal(program->step_count, 7);
    assert_int_equal(program->ranks[1].first_block, 1);
    assert_int_equal(program->ranks[1].block_count, 2);
    assert_int_equal(program->root, -1);
    assert_true(program->in_place && !program->out_of_place);
    assert_false(program->lacks_out_of_place || program->lacks_bytes);
    step = &program->steps[program->blocks[2].first_step];
    assert_int_equal(step->type, BANYAN_MSCCL_REDUCE_STORE_SEND);
    assert_true(step->srcbuf == 'i' && step->dstbuf == 'o');
    assert_true(step->depid == 0 && step->deps == 0 && step->hasdep == 1);
    assert_int_equal(step->line, 14);
    assert_int_equal(banyan_msccl_node_count(program, 1), 1 + 3 + 2 + 3);
    banyan_msccl_destroy(program);
    banyan_free(text);
}

TEST(writes_what_it_read)
{
    banyan_msccl_program *program, *again;
    char *text, *twice;

    assert_int_equal(banyan_msccl_parse(WHOLE, strlen(WHOLE), &program, NULL), 0);
    assert_int_equal(banyan_msccl_format(program, &text, NULL), 0);
    assert_int_equal(banyan_msccl_parse(text, strlen(text), &again, NULL), 0);
    assert_int_equal(banyan_msccl_format(again, &twice, NULL), 0);
    assert_string_equal(text, twice);
    assert_non_null(strstr(text, "minBytes=\"0\" maxBytes=\"0\""));
    banyan_msccl_destroy(program);
    banyan_msccl_destroy(again);
    banyan_free(text);
    banyan_free(twice);
}

TEST(ranks_and_blocks_may_come_in_any_order)
{
    static const char text[] = ALGO
        "<gpu id=\"1\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\"/>\n"
        "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"3\">\n"
        "<tb id=\"1\" send=\"1\" recv=\"-1\" chan=\"0\"/>\n<tb id=\"0\" send=\"-1\" recv=\"1\" chan=\"0\"/>"
        "</gpu></algo>";
    banyan_msccl_program *program;

    assert_int_equal(banyan_msccl_parse(text, strlen(text), &program, NULL), 0);
    assert_int_equal(program->ranks[0].s_chunks, 3);
    assert_int_equal(program->blocks[0].recv, 1);
    assert_int_equal(program->blocks[1].send, 1);
    banyan_msccl_destroy(program);
}

TEST(old_files_may_lack_what_only_the_azure_parser_wants)
{
    static const char text[] =
        "<algo name=\"x\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"1\" "
        "coll=\"reduce_scatter\" inplace=\"0\"><gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\"/>"
        "</algo>";
    banyan_msccl_program *program;
    char *back;

    assert_int_equal(banyan_msccl_parse(text, strlen(text), &program, NULL), 0);
    assert_true(program->lacks_out_of_place && program->lacks_bytes && program->out_of_place);
    assert_int_equal(program->collective, BANYAN_COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(banyan_msccl_format(program, &back, NULL), 0);
    assert_null(strstr(back, "outofplace"));
    banyan_msccl_destroy(program);
    banyan_free(back);
}

TEST(every_attribute_that_is_needed_is_named_when_it_is_missing)
{
    static const char *const needed[] = {
        " name=\"x\"",     " proto=\"Simple\"",   " nchannels=\"1\"", " nchunksperloop=\"2\"",
        " ngpus=\"2\"",    " coll=\"allreduce\"", " inplace=\"1\"",   " i_chunks=\"2\"",
        " o_chunks=\"2\"", " s_chunks=\"0\"",     " send=\"1\"",      " recv=\"-1\"",
        " chan=\"0\"",     " type=\"s\"",         " srcbuf=\"i\"",    " srcoff=\"0\"",
        " dstbuf=\"i\"",   " dstoff=\"0\"",       " cnt=\"1\"",       " depid=\"-1\"",
        " deps=\"-1\"",    " hasdep=\"0\"",       " id=\"0\""};

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        char words[64];

        snprintf(words, sizeof words, "lacks the attribute %.*s", (int)strcspn(needed[i] + 1, "="),
                 needed[i] + 1);
        check_change(needed[i], "", words);
    }
}

TEST(every_bad_value_is_a_sentence_with_the_line)
{
    check_change("proto=\"Simple\"", "proto=\"Fast\"", "line 1: proto=\"Fast\" is none of Simple, LL, LL128");
    check_change("nchannels=\"1\"", "nchannels=\"33\"", "not an integer from 1 to 32");
    check_change("ngpus=\"2\"", "ngpus=\"3\"", "ngpus=\"3\", but there are 2 <gpu>");
    check_change("coll=\"allreduce\"", "coll=\"alltoall\"", "coll=\"alltoall\" is not a collective we know");
    check_change("minBytes=\"0\"", "minBytes=\"-1\"", "minBytes=\"-1\" is not a number of bytes");
    check_change("nchunksperloop=\"2\"", "nchunksperloop=\"99999999\"", "not an integer from 1 to 65536");
    check_change("send=\"1\"", "send=\"0\"", "line 3: a <tb> of rank 0 has itself as peer");
    check_change("chan=\"0\"", "chan=\"1\"", "line 3: chan=\"1\"");
    check_change("s=\"0\" type", "s=\"1\" type", "line 4: s=\"1\" of <step>");
    check_change("type=\"s\"", "type=\"x\"", "line 4: type=\"x\" is not a step we know");
    check_change("srcbuf=\"i\"", "srcbuf=\"q\"", "line 4: srcbuf=\"q\" is none of i, o, s");
    check_change("cnt=\"1\"", "cnt=\"72\"", "line 4: cnt=\"72\" of <step> is not an integer from 1 to 71");
    check_change("cnt=\"1\"", "cnt=\"0\"", "from 1 to 71");
    check_change("depid=\"-1\"", "depid=\"128\"", "from -1 to 127");
    check_change("hasdep=\"0\"", "hasdep=\"2\"", "from 0 to 1");
    check_change("<gpu id=\"1\"", "<gpu id=\"0\"", "<gpu id=\"0\"> stands here twice");
    check_change("<tb id=\"0\"", "<tb id=\"1\"", "line 3: id=\"1\" of <tb>");
    check_change("<tb id=\"0\"", "<tb id=\"0\"/><tb id=\"0\"", "<tb id=\"0\"> of rank 0 stands here twice");
    check_change("<step", "<stop", "<stop> where <step> is expected");
    check_refused("<graph/>", "<graph> where <algo> is expected");
    check_refused("", "line 1:");
    check_refused(ALGO, "no element found");
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_msccl_program *program = NULL;

    for (long calls = 0; !program; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_msccl_parse(WHOLE, strlen(WHOLE), &program, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_msccl_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file_step_by_step),
        cmocka_unit_test(writes_what_it_read),
        cmocka_unit_test(ranks_and_blocks_may_come_in_any_order),
        cmocka_unit_test(old_files_may_lack_what_only_the_azure_parser_wants),
        cmocka_unit_test(every_attribute_that_is_needed_is_named_when_it_is_missing),
        cmocka_unit_test(every_bad_value_is_a_sentence_with_the_line),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
