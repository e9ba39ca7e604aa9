/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/msccl_check.c: what the judge of MSCCL programs accepts, the sentence for each thing it refuses,
 * and whether random runs of thousands of broken programs agree with it. */
#include "unit/msccl_machine.h"
#include "unit/test.h"

#include "core/alloc.h"
#include "core/file.h"
#include "schedule/build.h"
#include "schedule/export.h"
#include "schedule/import.h"
#include "verify/msccl.h"

/* Programs in short: 'coll COLLECTIVE CHUNKS IN_PLACE OUT_OF_PLACE', 'gpu I O S', 'tb SEND RECV CHAN' and
 * 'TYPE SRC SRCOFF DST DSTOFF CNT DEPID DEPS HASDEP', a line each. */
static banyan_msccl_program *write_program(const char *text)
{
    banyan_msccl_program *p = banyan_alloc(1, sizeof *p);
    char word[24], type[8];
    int line = 0, consumed;

    p->name = banyan_strdup("test");
    memcpy(p->proto, "LL", 3);
    p->channel_count = 4;
    p->root = -1;
    p->ranks = banyan_alloc(16, sizeof *p->ranks);
    p->blocks = banyan_alloc(64, sizeof *p->blocks);
    p->steps = banyan_alloc(256, sizeof *p->steps);
    for (; sscanf(text, " %23s%n", word, &consumed) == 1; text = strchr(text, '\n') + 1) {
        banyan_msccl_rank *rank = &p->ranks[p->rank_count - !!p->rank_count];
        banyan_msccl_block *block = &p->blocks[p->block_count - !!p->block_count];
        banyan_msccl_step *s = &p->steps[p->step_count];

        line++;
        if (!strcmp(word, "coll")) {
            sscanf(text, " coll %23s %d %d %d", word, &p->chunk_count, &p->in_place, &p->out_of_place);
            p->collective = (banyan_collective)banyan_collective_find(word);
        } else if (!strcmp(word, "gpu")) {
            rank = &p->ranks[p->rank_count++];
            rank->first_block = p->block_count;
            sscanf(text, " gpu %d %d %d", &rank->i_chunks, &rank->o_chunks, &rank->s_chunks);
        } else if (!strcmp(word, "tb")) {
            block = &p->blocks[p->block_count++];
            *block = (banyan_msccl_block){.rank = p->rank_count - 1,
                                          .id = rank->block_count++,
                                          .first_step = p->step_count,
                                          .line = line};
            sscanf(text, " tb %d %d %d", &block->send, &block->recv, &block->chan);
        } else {
            sscanf(text, " %7s %c %d %c %d %d %d %d %d", type, &s->srcbuf, &s->srcoff, &s->dstbuf, &s->dstoff,
                   &s->cnt, &s->depid, &s->deps, &s->hasdep);
            while (strcmp(banyan_msccl_can(s->type)->text, type))
                s->type++;
            s->line = line;
            s->block = p->block_count - 1;
            block->step_count++;
            p->step_count++;
        }
    }
    return p;
}

/* words NULL: accepted. */
static void check_program(const banyan_msccl_program *program, int slots, const char *words)
{
    banyan_verdict verdict;

    assert_int_equal(banyan_verify_msccl(program, slots, &verdict, NULL), 0);
    if (!words && verdict.problem_count)
        fail_msg("refused: %s", verdict.problems[0]);
    if (words && !verdict.problem_count)
        fail_msg("accepted, but should say: %s", words);
    if (words && !strstr(verdict.problems[0], words))
        fail_msg("'%s' does not say '%s'", verdict.problems[0], words);
}

static void check(const char *text, int slots, const char *words)
{
    banyan_msccl_program *program = write_program(text);

    check_program(program, slots, words);
    banyan_msccl_destroy(program);
}

/* The text with one piece replaced, which must be there. */
static void check_change(const char *text, const char *from, const char *to, int slots, const char *words)
{
    const char *at = strstr(text, from);
    char changed[4096];

    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    check(changed, slots, words);
}

/* 0 - 1 - 2 with the root in the middle. */
static const char chain[] = "coll allreduce 1 1 0\n"
                            "gpu 1 1 0\n"
                            "tb 1 1 0\n"
                            "s i 0 i 0 1 -1 -1 0\n"
                            "r o 0 o 0 1 -1 -1 0\n"
                            "gpu 1 1 0\n"
                            "tb 0 0 0\n"
                            "rrc i 0 i 0 1 -1 -1 1\n"
                            "s o 0 o 0 1 1 0 0\n"
                            "tb 2 2 0\n"
                            "rrcs i 0 o 0 1 0 0 1\n"
                            "gpu 1 1 0\n"
                            "tb 1 1 0\n"
                            "s i 0 i 0 1 -1 -1 0\n"
                            "r o 0 o 0 1 -1 -1 0\n";

/* Three ranks in a ring, the textbook form. */
static const char ring[] = "coll allreduce 3 1 0\n"
                           "gpu 3 3 0\n"
                           "tb 1 2 0\n"
                           "s i 0 i 0 1 -1 -1 0\n"
                           "rrs i 2 i 2 1 -1 -1 0\n"
                           "rrcs i 1 i 1 1 -1 -1 0\n"
                           "rcs i 0 i 0 1 -1 -1 0\n"
                           "r i 2 i 2 1 -1 -1 0\n"
                           "gpu 3 3 0\n"
                           "tb 2 0 0\n"
                           "s i 1 i 1 1 -1 -1 0\n"
                           "rrs i 0 i 0 1 -1 -1 0\n"
                           "rrcs i 2 i 2 1 -1 -1 0\n"
                           "rcs i 1 i 1 1 -1 -1 0\n"
                           "r i 0 i 0 1 -1 -1 0\n"
                           "gpu 3 3 0\n"
                           "tb 0 1 0\n"
                           "s i 2 i 2 1 -1 -1 0\n"
                           "rrs i 1 i 1 1 -1 -1 0\n"
                           "rrcs i 0 i 0 1 -1 -1 0\n"
                           "rcs i 2 i 2 1 -1 -1 0\n"
                           "r i 1 i 1 1 -1 -1 0\n";

/* A star of four: rank 0 adds up 1, 2 and 3 in any order it likes through scratch, then sends the sum. The
 * local sum waits for all three with two nops. */
static const char star[] = "coll allreduce 1 1 0\n"
                           "gpu 1 1 3\n"
                           "tb 1 1 0\n"
                           "r i 0 s 0 1 -1 -1 1\n"
                           "s i 0 i 0 1 3 4 0\n"
                           "tb 2 2 0\n"
                           "r i 0 s 1 1 -1 -1 1\n"
                           "s i 0 i 0 1 3 4 0\n"
                           "tb 3 3 0\n"
                           "r i 0 s 2 1 -1 -1 1\n"
                           "s i 0 i 0 1 3 4 0\n"
                           "tb -1 -1 0\n"
                           "nop i -1 i -1 0 0 0 0\n"
                           "nop i -1 i -1 0 1 0 0\n"
                           "re s 0 i 0 1 2 0 0\n"
                           "re s 1 i 0 1 -1 -1 0\n"
                           "re s 2 i 0 1 -1 -1 1\n"
                           "gpu 1 1 0\ntb 0 0 0\ns i 0 i 0 1 -1 -1 0\nr i 0 i 0 1 -1 -1 0\n"
                           "gpu 1 1 0\ntb 0 0 0\ns i 0 i 0 1 -1 -1 0\nr i 0 i 0 1 -1 -1 0\n"
                           "gpu 1 1 0\ntb 0 0 0\ns i 0 i 0 1 -1 -1 0\nr i 0 i 0 1 -1 -1 0\n";

TEST(accepts_the_chain_from_the_file)
{
    banyan_msccl_program *program;
    size_t length;
    char *text;

    assert_int_equal(banyan_file_load(TEST_DATA "/data/msccl/chain3.xml", &text, &length, NULL), 0);
    assert_int_equal(banyan_msccl_parse(text, length, &program, NULL), 0);
    check_program(program, 1, NULL);
    check_program(program, BANYAN_MSCCL_SLOTS, NULL);
    check_program(program, 0, NULL);
    banyan_msccl_destroy(program);
    banyan_free(text);
}

TEST(accepts_a_chain_a_ring_and_a_star)
{
    check(chain, 2, NULL);
    check(ring, 2, NULL);
    check(star, 1, NULL);
}

TEST(a_removed_dependency_is_a_race)
{
    check_change(chain, "rrcs i 0 o 0 1 0 0 1", "rrcs i 0 o 0 1 -1 -1 1", 2,
                 "race on i 0: nothing orders rank 1, tb 0, step 0 (line 8) (rrc) and rank 1, tb 1, step 0 "
                 "(line 11) (rrcs)");
    check_change(chain, "s o 0 o 0 1 1 0 0", "s o 0 o 0 1 -1 -1 0", 2,
                 "race on o 0: nothing orders rank 1, tb 0, step 1 (line 9) (s) and rank 1, tb 1, step 0");
    check_change(star, "nop i -1 i -1 0 1 0 0\n", "", 2, "waits for step 4 of tb 3, which has 4 steps");
    check_change(star, "nop i -1 i -1 0 1 0 0\n", "nop i -1 i -1 0 0 0 0\n", 2, "race on s 1");
}

TEST(a_full_connection_is_no_order)
{
    /* With one slot, the second send waits for the first receive; a runtime may have two. */
    check("coll broadcast 1 1 0\n"
          "gpu 1 1 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 0\ns i 0 i 0 1 -1 -1 1\ntb 1 -1 1\ns i 0 i 0 1 0 1 0\n"
          "gpu 1 1 1\ntb -1 0 0\nr i 0 i 0 1 -1 -1 0\nr i 0 s 0 1 -1 -1 0\ntb -1 0 1\nr i 0 i 0 1 -1 -1 0\n",
          1, "race on i 0");
}

TEST(a_sum_that_is_not_stored_is_missed)
{
    check_change(chain, "rrcs", "rrs", 2,
                 "rank 0 ends with chunk 0 wrong, last written by rank 0, tb 0, step 1 (line 5): rank 2 is "
                 "missing");
    check_change(ring, "rrcs i 1", "rrs i 1", 2, "rank 0 ends with chunk 1 wrong: rank 1 is missing");
}

TEST(a_dropped_step_leaves_its_partner_alone)
{
    check_change(ring, "r i 2 i 2 1 -1 -1 0\n", "", 2,
                 "rank 2, tb 0, step 3 (line 20) sends to rank 0 on channel 0, which has no receive left");
    check_change(ring, "s i 0 i 0 1 -1 -1 0\n", "", 2,
                 "rank 1, tb 0, step 4 (line 14) receives from rank 0 on channel 0, which has no send left");
    check("coll allreduce 1 1 0\ngpu 1 1 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 0\ngpu 1 1 0\n", 2,
          "rank 0, tb 0, step 0 (line 4) sends to rank 1 on channel 0, where no tb receives it");
    check("coll allreduce 1 1 0\ngpu 1 1 0\ngpu 1 1 0\ntb -1 0 1\nr i 0 i 0 1 -1 -1 0\n", 2,
          "rank 1, tb 0, step 0 (line 5) receives from rank 0 on channel 1, where no tb sends it");
}

TEST(a_full_connection_can_deadlock)
{
    check(ring, 1, "deadlock with 1 slot a connection: rank 0, tb 0, step");
    /* Both send twice before they receive. */
    static const char exchange[] = "coll allreduce 1 1 0\n"
                                   "gpu 1 1 2\ntb 1 1 0\ns i 0 s 0 1 -1 -1 0\ns i 0 s 1 1 -1 -1 0\n"
                                   "r i 0 s 0 1 -1 -1 0\nrrc i 0 i 0 1 -1 -1 0\n"
                                   "gpu 1 1 2\ntb 0 0 0\ns i 0 s 0 1 -1 -1 0\ns i 0 s 1 1 -1 -1 0\n"
                                   "r i 0 s 0 1 -1 -1 0\nrrc i 0 i 0 1 -1 -1 0\n";

    check(exchange, 2, NULL);
    check(exchange, 1, "needs the slot freed by");
}

TEST(a_wrong_order_deadlocks_whatever_the_slots)
{
    check_change(chain, "s i 0 i 0 1 -1 -1 0\nr o 0 o 0 1 -1 -1 0\ngpu",
                 "r o 0 o 0 1 -1 -1 0\ns i 0 i 0 1 -1 -1 0\ngpu", 0, "deadlock: ");
    check_change(chain, "rrc i 0 i 0 1 -1 -1 1", "rrc i 0 i 0 1 1 0 1", 0, "depends on");
}

TEST(a_contribution_that_is_added_twice_is_seen)
{
    /* Rank 1 adds what rank 0 sends, and then once more. */
    check("coll allreduce 1 1 0\n"
          "gpu 1 1 0\ntb 1 1 0\ns i 0 i 0 1 -1 -1 0\ns i 0 i 0 1 -1 -1 0\nr i 0 i 0 1 -1 -1 0\n"
          "gpu 1 1 0\ntb 0 0 0\nrrc i 0 i 0 1 -1 -1 0\nrrc i 0 i 0 1 -1 -1 0\ns i 0 i 0 1 -1 -1 0\n",
          2,
          "rank 0 ends with chunk 0 wrong, last written by rank 0, tb 0, step 2 (line 6): rank 0 is counted "
          "twice at rank 1, tb 0, step 1 (line 10)");
}

TEST(chunks_that_are_mixed_up_are_seen)
{
    check_change(ring, "s i 0 i 0", "s i 2 i 0", 2, "adds chunk 0 to chunk 2");
    check("coll broadcast 2 1 0\ngpu 2 2 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 0\ns i 0 i 0 1 -1 -1 0\n"
          "gpu 2 2 0\ntb -1 0 0\nr i 0 i 0 1 -1 -1 0\nr i 0 i 1 1 -1 -1 0\n",
          2,
          "rank 1 ends with chunk 1 wrong, last written by rank 1, tb 0, step 1 (line 9): it holds chunk 0");
}

TEST(a_step_that_nobody_publishes_is_named)
{
    check_change(chain, "rrc i 0 i 0 1 -1 -1 1", "rrc i 0 i 0 1 -1 -1 0", 2,
                 "rank 1, tb 1, step 0 (line 11) waits for step 0 of tb 0, which has hasdep=\"0\"");
    check_change(chain, "rrcs i 0 o 0 1 0 0 1", "rrcs i 0 o 0 1 5 0 1", 2,
                 "waits for tb 5, and the rank has 2");
    check_change(chain, "rrcs i 0 o 0 1 0 0 1", "rrcs i 0 o 0 1 0 7 1", 2,
                 "waits for step 7 of tb 0, which has 2 steps");
    check_change(star, "s i 0 i 0 1 3 4 0", "s i 0 i 0 1 3 0 0", 2, "a nop, which never publishes");
}

TEST(nops_must_hand_their_dependency_on)
{
    check_change(star, "nop i -1 i -1 0 0 0 0", "nop i -1 i -1 0 -1 -1 0", 2,
                 "is a nop that waits for nothing");
    check_change(star, "re s 0 i 0 1 2 0 0", "re s 0 i 0 1 -1 -1 0", 2,
                 "is a nop, so the step after it must have a dependency too");
    check_change(chain, "s o 0 o 0 1 1 0 0", "s o 0 o 0 1 1 0 0\nnop i -1 i -1 0 1 0 0", 2,
                 "is a nop at the end of its tb");
}

TEST(peers_owners_counts_and_bounds_are_checked)
{
    check_change(chain, "tb 1 1 0", "tb 1 -1 0", 2, "receives, but its tb has recv=\"-1\"");
    check_change(chain, "tb 1 1 0", "tb -1 1 0", 2, "sends, but its tb has send=\"-1\"");
    check_change(chain, "gpu 1 1 0\ntb 0", "tb 1 -1 0\ns i 0 i 0 1 -1 -1 0\ngpu 1 1 0\ntb 0", 2,
                 "rank 0: tb 0 and tb 1 both send on the connection from rank 0 to rank 1 on channel 0");
    check_change(ring, "s i 0 i 0 1 -1", "s i 0 i 0 2 -1", 2, "sends 2 chunks, but rank 1, tb 0, step 1");
    check_change(ring, "s i 0 i 0 1 -1", "s i 3 i 0 1 -1", 2,
                 "the source is 1 chunks at i 3, but i_chunks=\"3\"");
    check_change(ring, "r i 2 i 2 1 -1", "r i 2 s 0 1 -1", 2, "the destination is 1 chunks at s 0");
    check("coll allgather 4 0 1\ngpu 4 4 0\ntb -1 -1 0\ncpy i 2 o 0 2 -1 -1 0\ngpu 4 4 0\n", 2,
          "the source is 2 chunks at i 2, but a call's buffer has 2");
    check("coll allreduce 3 1 0\ngpu 3 3 0\ntb -1 -1 0\ncpy i 0 o 1 2 -1 -1 0\n", 2,
          "its source and its destination overlap without being the same");
    check("coll allgather 3 1 0\ngpu 3 3 0\ngpu 3 3 0\n", 2, "is not a multiple of ngpus");
    check("coll allreduce 1 0 0\ngpu 1 1 0\n", 2, "no call can use the program");
}

TEST(judges_an_all_gather_out_of_place)
{
    static const char gather[] = "coll allgather 4 0 1\n"
                                 "gpu 2 4 0\ntb 1 1 0\ns i 0 o 0 2 -1 -1 0\nr i 0 o 2 2 -1 -1 0\n"
                                 "tb -1 -1 0\ncpy i 0 o 0 2 -1 -1 0\n"
                                 "gpu 2 4 0\ntb 0 0 0\ns i 0 o 2 2 -1 -1 0\nr i 0 o 0 2 -1 -1 0\n"
                                 "tb -1 -1 0\ncpy i 0 o 2 2 -1 -1 0\n";

    check(gather, 2, NULL);
    check_change(gather, "allgather 4 0 1", "allgather 4 1 1", 2, NULL);
    check_change(gather, "cpy i 0 o 0 2 -1 -1 0", "cpy i 0 o 0 1 -1 -1 0", 2,
                 "rank 0 ends without chunk 1: nothing writes it");
    check_change(gather, "r i 0 o 2 2", "r i 0 o 1 2", 2, "race on o 1");
}

TEST(judges_in_place_and_out_of_place_apart)
{
    /* Only in place is the input also the output. */
    check_change(ring, "allreduce 3 1 0", "allreduce 3 1 1", 2,
                 "out of place: rank 0 ends without chunk 0: nothing writes it");
    check_change(chain, "allreduce 1 1 0", "allreduce 1 1 1", 2, NULL);
}

TEST(judges_reduce_scatter_where_the_output_is_a_part_of_the_input)
{
    static const char scatter[] = "coll reducescatter 2 1 0\n"
                                  "gpu 2 1 0\ntb 1 1 0\ns i 1 i 1 1 -1 -1 0\nrrc i 0 o 0 1 -1 -1 0\n"
                                  "gpu 2 1 0\ntb 0 0 0\ns i 0 i 0 1 -1 -1 0\nrrc i 1 o 0 1 -1 -1 0\n";

    check(scatter, 2, NULL);
    check_change(scatter, "reducescatter 2 1 0", "reducescatter 2 1 1", 2, NULL);
    check_change(scatter, "rrc i 1 o 0", "rrc i 0 o 0", 2, "rank 1 ends with chunk 1 wrong");
}

TEST(guesses_the_root_of_broadcast_and_reduce)
{
    static const char broadcast[] =
        "coll broadcast 1 1 0\n"
        "gpu 1 1 0\ntb -1 2 0\nr i 0 i 0 1 -1 -1 0\n"
        "gpu 1 1 0\ntb -1 2 0\nr i 0 i 0 1 -1 -1 0\n"
        "gpu 1 1 0\ntb 0 -1 0\ns i 0 i 0 1 -1 -1 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 0\n";
    static const char reduce[] = "coll reduce 1 1 0\n"
                                 "gpu 1 1 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 0\n"
                                 "gpu 1 1 0\ntb -1 0 0\nrrc i 0 i 0 1 -1 -1 0\n";
    banyan_msccl_program *program = write_program(broadcast);

    check(broadcast, 2, NULL);
    check(reduce, 2, NULL);
    program->root = 0;
    check_program(program, 2, "reads i 0, where nothing has been written yet");
    banyan_msccl_destroy(program);
    check_change(reduce, "rrc", "r", 2, "is missing");
}

TEST(scratch_must_be_written_before_it_is_read)
{
    check("coll allreduce 1 1 0\ngpu 1 1 1\ntb -1 -1 0\nre s 0 i 0 1 -1 -1 0\n", 2,
          "rank 0, tb 0, step 0 (line 4) reads s 0, where nothing has been written yet");
}

TEST(names_the_limits_of_the_runtimes)
{
    banyan_msccl_program *program = write_program("coll allreduce 1 1 0\ngpu 1 1 0\ntb -1 -1 0\n");

    banyan_free(program->steps);
    program->steps = banyan_alloc(5000, sizeof *program->steps);
    for (int i = 0; i < 5000; i++)
        program->steps[i] = (banyan_msccl_step){
            .type = BANYAN_MSCCL_LOCAL_COPY, .srcbuf = 'i', .dstbuf = 'o', .cnt = 1, .depid = -1};
    program->step_count = program->blocks[0].step_count = 256;
    check_program(program, 2, NULL);
    program->step_count = program->blocks[0].step_count = 257;
    check_program(program, 2, "rank 0, tb 0 (line 3): 257 steps, and a runtime holds 256");
    program->step_count = program->blocks[0].step_count = 5000;
    check_program(program, 2, "rank 0: 5003 XML elements, and a runtime holds 4096");
    banyan_msccl_destroy(program);
}

/* A schedule of three trees over four ranks, exported: 20 blocks with waits and nops. */
static banyan_msccl_program *make_forest(void)
{
    static const int tree[3][3][2] = {
        {{3, 2}, {2, 1}, {1, 0}}, {{0, 1}, {2, 1}, {3, 1}}, {{1, 3}, {0, 2}, {2, 3}}};
    static const int active[] = {0, 1, 2, 3};
    banyan_msccl_program *program;
    banyan_schedule *schedule;
    banyan_builder b;
    char *text;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 4, active, 4);
    banyan_builder_cut_evenly(&b, 3);
    for (int t = 0; t < 3; t++)
        for (int e = 0; e < 3; e++) {
            banyan_builder_reduce(&b, e, tree[t][e][0], tree[t][e][1], t, 1, t);
            banyan_builder_copy(&b, 5 - e, tree[t][e][1], tree[t][e][0], t, 1, t);
        }
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    assert_int_equal(banyan_schedule_export_msccl(schedule, NULL, &text, NULL), 0);
    assert_int_equal(banyan_msccl_parse(text, strlen(text), &program, NULL), 0);
    banyan_free(text);
    banyan_schedule_destroy(schedule);
    return program;
}

static void drop_step(banyan_msccl_program *p, int step)
{
    banyan_msccl_block *block = &p->blocks[p->steps[step].block];
    int number = step - block->first_step;

    for (int i = 0; i < p->step_count; i++)
        if (p->blocks[p->steps[i].block].rank == block->rank && p->steps[i].depid == block->id &&
            p->steps[i].deps > number)
            p->steps[i].deps--;
    memmove(&p->steps[step], &p->steps[step + 1], (size_t)(p->step_count - step - 1) * sizeof *p->steps);
    block->step_count--;
    p->step_count--;
    for (int b = 0; b < p->block_count; b++)
        p->blocks[b].first_step -= p->blocks[b].first_step > step;
}

static void swap_steps(banyan_msccl_program *p, int a, int b)
{
    banyan_msccl_step swap = p->steps[a];

    p->steps[a] = p->steps[b];
    p->steps[b] = swap;
    if (p->steps[a].block != p->steps[b].block) {
        int block = p->steps[a].block;

        p->steps[a].block = p->steps[b].block;
        p->steps[b].block = block;
    }
}

static void mutate(banyan_msccl_program *p, banyan_random *random)
{
    int i = banyan_random_below(random, p->step_count), j = banyan_random_below(random, p->step_count);

    switch (banyan_random_below(random, 8)) {
    case 0:
        p->steps[i].depid = p->steps[i].deps = -1;
        break;
    case 1:
        p->steps[i].type = (banyan_msccl_type)banyan_random_below(random, BANYAN_MSCCL_TYPE_COUNT);
        break;
    case 2:
        drop_step(p, i);
        break;
    case 3:
        swap_steps(p, i, i + 1 < p->step_count ? i + 1 : i - 1);
        break;
    case 4:
        p->steps[i].srcoff = banyan_random_below(random, p->chunk_count);
        break;
    case 5:
        p->steps[i].dstoff = banyan_random_below(random, p->chunk_count);
        break;
    case 6:
        p->steps[i].depid = p->steps[j].depid;
        p->steps[i].deps = p->steps[j].deps;
        break;
    default:
        swap_steps(p, i, j);
    }
}

static banyan_msccl_program *copy_program(const banyan_msccl_program *program)
{
    banyan_msccl_program *copy;
    char *text;

    assert_int_equal(banyan_msccl_format(program, &text, NULL), 0);
    assert_int_equal(banyan_msccl_parse(text, strlen(text), &copy, NULL), 0);
    banyan_free(text);
    return copy;
}

/* Where a right program can be said as a schedule, the schedule is right. Returns whether it can. */
static int check_imported(const banyan_msccl_program *program, int seed)
{
    banyan_schedule *schedule;
    banyan_verdict verdict;

    if (banyan_schedule_import_msccl(program, &schedule, NULL))
        return 0;
    assert_int_equal(banyan_verify(schedule, NULL, &verdict, NULL), 0);
    if (verdict.problem_count)
        fail_msg("seed %d: imported: %s", seed, verdict.problems[0]);
    banyan_schedule_destroy(schedule);
    return 1;
}

/* What is accepted never goes wrong in a run; what is refused for its values goes wrong in every run. */
TEST(random_runs_of_broken_programs_agree)
{
    banyan_msccl_program *originals[] = {make_forest(), write_program(chain), write_program(ring),
                                         write_program(star)};
    long accepted = 0, refused = 0, confirmed = 0, imported = 0;

    for (int seed = 0; seed < 6000; seed++) {
        banyan_random random = {(uint64_t)seed};
        banyan_msccl_program *program = copy_program(originals[seed % 4]);
        int slots = 1 + banyan_random_below(&random, 3), went_wrong = 0;
        banyan_verdict verdict;

        for (int n = banyan_random_below(&random, 3); n >= 0; n--)
            mutate(program, &random);
        assert_int_equal(banyan_verify_msccl(program, slots, &verdict, NULL), 0);
        for (int run = 0; run < 12 && (!verdict.problem_count || strstr(verdict.problems[0], "ends with"));
             run++) {
            int result = run_interleaved(program, slots, &random);

            if (!verdict.problem_count && result != RUN_RIGHT)
                fail_msg("seed %d: accepted, but run %d %s", seed, run,
                         result == RUN_STUCK ? "got stuck" : "ended wrong");
            if (verdict.problem_count && result == RUN_RIGHT)
                fail_msg("seed %d: '%s', but run %d ended right", seed, verdict.problems[0], run);
        }
        /* Deadlocks and races show in some run; a deadlock that the judge sees is in every long wait. */
        for (int run = 0; run < 12 && strstr(verdict.problems[0], "deadlock"); run++)
            went_wrong |= run_interleaved(program, slots, &random) != RUN_RIGHT;
        if (strstr(verdict.problems[0], "deadlock") && !went_wrong)
            fail_msg("seed %d: '%s', but no run got stuck", seed, verdict.problems[0]);
        confirmed += went_wrong;
        if (!verdict.problem_count)
            imported += check_imported(program, seed);
        accepted += !verdict.problem_count;
        refused += !!verdict.problem_count;
        banyan_msccl_destroy(program);
    }
    assert_true(accepted > 200 && refused > 3000 && confirmed > 100 && imported > 100);
    for (int i = 0; i < 4; i++)
        banyan_msccl_destroy(originals[i]);
}

TEST(imports_what_scratch_holds_on_its_way)
{
    banyan_msccl_program *program = write_program(star);
    banyan_schedule *schedule;
    banyan_verdict verdict;
    banyan_error err = {""};

    if (banyan_schedule_import_msccl(program, &schedule, &err))
        fail_msg("%s", err.text);
    assert_int_equal(schedule->transfer_count, 6);
    assert_int_equal(schedule->round_count, 2);
    assert_int_equal(banyan_verify(schedule, NULL, &verdict, NULL), 0);
    assert_int_equal(verdict.problem_count, 0);
    banyan_schedule_destroy(schedule);
    banyan_msccl_destroy(program);
}

static void check_import_refused(const char *text, banyan_status status, const char *words)
{
    banyan_msccl_program *program = write_program(text);
    banyan_schedule *schedule;
    banyan_error err = {""};

    assert_int_equal(banyan_schedule_import_msccl(program, &schedule, &err), status);
    assert_null(schedule);
    CHECK_SAYS(err, words);
    banyan_msccl_destroy(program);
}

TEST(says_what_a_schedule_cannot_say)
{
    check_import_refused("coll allreduce 2 1 0\ngpu 2 2 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 0\n"
                         "gpu 2 2 0\ntb -1 0 0\nr i 0 i 1 1 -1 -1 0\n",
                         BANYAN_UNSUPPORTED, "rank 1, tb 0, step 0 (line 7): chunk 0 arrives as chunk 1");
    check_import_refused("coll allreduce 1 1 0\ngpu 1 1 1\ntb -1 -1 0\ncpy i 0 s 0 1 -1 -1 0\n",
                         BANYAN_UNSUPPORTED, "it uses scratch 0, and a schedule has no scratch");
    check_import_refused("coll allreduce 2 1 0\ngpu 2 2 0\ntb -1 -1 0\ncpy i 0 o 1 1 -1 -1 0\n",
                         BANYAN_UNSUPPORTED, "it copies chunk 0 to chunk 1 inside a rank");
    check_import_refused("coll allreduce 1 0 1\ngpu 1 1 0\ntb -1 -1 0\nre i 0 o 0 1 -1 -1 0\n",
                         BANYAN_UNSUPPORTED, "it adds chunk 0 to chunk 0 inside a rank");
    /* Rank 0 passes a sum on without storing it, and then sends what it still has itself. */
    check_import_refused(
        "coll allreduce 1 1 0\ngpu 1 1 0\ntb 2 1 0\nrrs i 0 i 0 1 -1 -1 0\ns i 0 i 0 1 -1 -1 0\n"
        "gpu 1 1 0\ntb 0 -1 0\ns i 0 i 0 1 -1 -1 0\n"
        "gpu 1 1 1\ntb -1 0 0\nrrc i 0 i 0 1 -1 -1 0\nr i 0 s 0 1 -1 -1 0\n",
        BANYAN_UNSUPPORTED, "rank 0, tb 0, step 1 (line 5): i 0 differs here from the one buffer");
    check_import_refused("coll allreduce 1 1 0\ngpu 1 1 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 0\n"
                         "gpu 1 1 1\ntb -1 0 0\nr i 0 s 0 1 -1 -1 0\n",
                         BANYAN_UNSUPPORTED, "rank 0, tb 0, step 0 (line 4): its message stays in scratch");
    check_import_refused("coll allreduce 1 1 0\ngpu 1 1 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 0\ngpu 1 1 1\n",
                         BANYAN_PLAN_INVALID, "where no tb receives it");
    check_import_refused("coll allreduce 1 1 0\ngpu 1 1 0\ntb -1 -1 0\ncpy i 1 o 0 1 -1 -1 0\n",
                         BANYAN_UNSUPPORTED, "i 1 is outside the buffer of 1 chunks");
}

/* x leaves 0 for 1 early and arrives late: in between 0 is overwritten by 1 and 1 by 0. One round cannot hold
 * both its reading and its writing. */
TEST(says_that_a_message_must_stay_on_its_way)
{
    check_import_refused("coll allreduce 1 1 0\n"
                         "gpu 1 1 0\ntb 1 -1 0\ns i 0 i 0 1 -1 -1 1\n"
                         "tb -1 1 1\nr i 0 i 0 1 0 0 1\n"
                         "tb 1 -1 2\ns i 0 i 0 1 1 0 0\n"
                         "gpu 1 1 0\ntb 0 -1 1\ns i 0 i 0 1 -1 -1 1\n"
                         "tb -1 0 2\nr i 0 i 0 1 0 0 1\n"
                         "tb -1 0 0\nr i 0 i 0 1 1 0 0\n",
                         BANYAN_UNSUPPORTED, "must stay on its way while its place is used again");
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_msccl_program *programs[] = {make_forest(), write_program(star), write_program(chain)};

    for (int p = 0; p < 3; p++) {
        banyan_schedule *schedule = NULL;
        banyan_status status = BANYAN_SYSTEM_ERROR;
        banyan_verdict verdict;

        for (long calls = 0; status; calls++) {
            banyan_alloc_fail_after(calls);
            status = banyan_verify_msccl(programs[p], 2, &verdict, NULL);
        }
        assert_int_equal(verdict.problem_count, 0);
        for (long calls = 0; !schedule; calls++) {
            banyan_alloc_fail_after(calls);
            banyan_schedule_import_msccl(programs[p], &schedule, NULL);
        }
        banyan_alloc_fail_after(-1);
        banyan_schedule_destroy(schedule);
        banyan_msccl_destroy(programs[p]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_the_chain_from_the_file),
        cmocka_unit_test(accepts_a_chain_a_ring_and_a_star),
        cmocka_unit_test(a_removed_dependency_is_a_race),
        cmocka_unit_test(a_full_connection_is_no_order),
        cmocka_unit_test(a_sum_that_is_not_stored_is_missed),
        cmocka_unit_test(a_dropped_step_leaves_its_partner_alone),
        cmocka_unit_test(a_full_connection_can_deadlock),
        cmocka_unit_test(a_wrong_order_deadlocks_whatever_the_slots),
        cmocka_unit_test(a_contribution_that_is_added_twice_is_seen),
        cmocka_unit_test(chunks_that_are_mixed_up_are_seen),
        cmocka_unit_test(a_step_that_nobody_publishes_is_named),
        cmocka_unit_test(nops_must_hand_their_dependency_on),
        cmocka_unit_test(peers_owners_counts_and_bounds_are_checked),
        cmocka_unit_test(judges_an_all_gather_out_of_place),
        cmocka_unit_test(judges_in_place_and_out_of_place_apart),
        cmocka_unit_test(judges_reduce_scatter_where_the_output_is_a_part_of_the_input),
        cmocka_unit_test(guesses_the_root_of_broadcast_and_reduce),
        cmocka_unit_test(scratch_must_be_written_before_it_is_read),
        cmocka_unit_test(names_the_limits_of_the_runtimes),
        cmocka_unit_test(random_runs_of_broken_programs_agree),
        cmocka_unit_test(imports_what_scratch_holds_on_its_way),
        cmocka_unit_test(says_what_a_schedule_cannot_say),
        cmocka_unit_test(says_that_a_message_must_stay_on_its_way),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
