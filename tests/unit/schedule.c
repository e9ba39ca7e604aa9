/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/schedule.c: building, the text form, elements of pieces, and derived dependencies. */
#include "unit/test.h"

#include <jansson.h>

#include "core/alloc.h"
#include "schedule/build.h"
#include "schedule/dependencies.h"
#include "schedule/walk.h"

static const int ranks[] = {0, 1, 2, 3};

/* A chain to node 0 and back on uneven pieces: 2 -> 1 -> 0, then 0 -> 1 -> 2. */
static banyan_schedule *make_chain(void)
{
    static const int64_t cut[] = {0, 2, 12};
    static const int links[] = {3, 7};
    banyan_schedule *schedule;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 3, ranks, 3);
    banyan_builder_cut(&b, 12, cut, 2);
    banyan_builder_copy(&b, 3, 1, 2, 0, 2, 0);
    banyan_builder_copy(&b, 2, 0, 1, 0, 2, 0);
    banyan_builder_reduce(&b, 1, 1, 0, 0, 2, 0);
    banyan_builder_add(&b, (banyan_transfer){.round = 0,
                                             .src = 2,
                                             .dst = 1,
                                             .piece_count = 2,
                                             .action = BANYAN_ACTION_REDUCE,
                                             .route = banyan_builder_add_route(&b, links, 2)});
    assert_int_equal(banyan_builder_finish(&b, &schedule, NULL), 0);
    return schedule;
}

TEST(sorts_transfers_by_round_and_counts_rounds_and_flows)
{
    banyan_schedule *s = make_chain();

    assert_int_equal(s->transfer_count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(s->transfers[i].round, i);
    assert_int_equal(s->round_count, 4);
    assert_int_equal(s->flow_count, 1);
    banyan_schedule_destroy(s);
}

TEST(keeps_the_order_within_a_round)
{
    banyan_schedule *s;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 4, ranks, 4);
    banyan_builder_cut_evenly(&b, 1);
    for (int i = 0; i < 1000; i++)
        banyan_builder_reduce(&b, (999 - i) / 10, i % 3 + 1, 0, 0, 1, i);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    for (size_t i = 1; i < 1000; i++)
        if (s->transfers[i].round == s->transfers[i - 1].round)
            assert_true(s->transfers[i].flow > s->transfers[i - 1].flow);
        else
            assert_int_equal(s->transfers[i].round, s->transfers[i - 1].round + 1);
    banyan_schedule_destroy(s);
}

TEST(writes_what_it_read)
{
    banyan_schedule *s = make_chain(), *again;
    char *text, *same, digest[17], other[17];

    assert_int_equal(banyan_schedule_format(s, &text, NULL), 0);
    assert_int_equal(banyan_schedule_parse(text, strlen(text), &again, NULL), 0);
    assert_int_equal(banyan_schedule_format(again, &same, NULL), 0);
    assert_string_equal(text, same);
    banyan_schedule_digest(s, digest);
    banyan_schedule_digest(again, other);
    assert_string_equal(digest, other);
    assert_int_equal(again->transfers[0].route, 0);
    assert_int_equal(again->route_link[1], 7);
    banyan_free(text);
    banyan_free(same);
    banyan_schedule_destroy(s);
    banyan_schedule_destroy(again);
}

TEST(reads_the_form_of_the_design_without_the_newer_fields)
{
    static const char text[] =
        "{\"format\":\"banyan-schedule\",\"version\":1,\"collective\":\"allreduce\","
        "\"topology\":\"x\",\"active\":[0,1],\"whole\":12,\"cut\":[0,2,12],\"routes\":[[3,7]],"
        "\"transfers\":[[0,1,0,0,2,\"reduce\",0,-1],[1,0,1,0,2,\"copy\",0,0]]}";
    banyan_schedule *s;

    assert_int_equal(banyan_schedule_parse(text, sizeof text - 1, &s, NULL), 0);
    assert_int_equal(s->node_count, 2);
    assert_int_equal(s->transfers[1].action, BANYAN_ACTION_COPY);
    banyan_schedule_destroy(s);
}

#define HEAD "{\"format\":\"banyan-schedule\",\"version\":1,\"collective\":\"allreduce\","
#define BODY "\"active\":[0,1],\"whole\":2,\"cut\":[0,1,2],"

TEST(says_what_is_wrong_in_a_file)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\n\"a\"", "line 2"},
        {"7", "a schedule is an object, not a number"},
        {"{\"format\":\"x\"}", "\"format\" should be"},
        {"{\"format\":\"banyan-schedule\",\"version\":1,\"collective\":\"alltosome\"}",
         "\"collective\" should be"},
        {HEAD "\"whole\":2}", "lacks \"active\""},
        {HEAD "\"active\":[],\"whole\":1,\"cut\":[0,1],\"transfers\":[]}", "nodes are not between"},
        {HEAD "\"active\":[1,0],\"whole\":1,\"cut\":[0,1],\"transfers\":[]}", "not ascending at 0"},
        {HEAD BODY "\"transfers\":[[0,1,0,0,3,\"reduce\",0,-1]]}",
         "transfer 0: 3 pieces from 0 are not within 2"},
        {HEAD BODY "\"transfers\":[[0,1,1,0,1,\"reduce\",0,-1]]}", "node 1 sends to itself"},
        {HEAD BODY "\"transfers\":[[0,1,0,0,1,\"add\",0,-1]]}", "action should be"},
        {HEAD BODY "\"transfers\":[[0,1,0,0,1,\"reduce\",0,2]]}", "route 2 is not below"},
        {HEAD BODY "\"transfers\":[[0,1,0,0,1,\"reduce\",0]]}", "transfer 0 should be [round"},
        {HEAD BODY "\"transfers\":[[0,1,0,0.5,1,\"reduce\",0,-1]]}", "first_piece should be an integer"},
        {HEAD BODY "\"nodes\":1,\"transfers\":[]}", "more active workers than nodes"},
        {HEAD BODY "\"root\":2,\"transfers\":[]}", "root 2 is not a rank from 0 to 1"},
        {HEAD BODY "\"transfer\":[]}", "unknown field \"transfer\""},
        {HEAD "\"active\":[0,1],\"whole\":2,\"cut\":[0,2,1,2],\"transfers\":[]}", "cut point 2"},
        {HEAD "\"active\":[0,1],\"whole\":2,\"cut\":[0,1],\"transfers\":[]}", "from 0 to the whole"},
        {HEAD "\"active\":[0,1],\"whole\":0,\"cut\":[0,0],\"transfers\":[]}", "\"whole\" should be"},
        {HEAD "\"active\":[0,1],\"whole\":2,\"cut\":[0],\"transfers\":[]}", "two cut points"},
        {HEAD BODY "\"owner\":[0],\"transfers\":[]}", "one rank for each of the 2 pieces"},
        {HEAD BODY "\"owner\":[0,2],\"transfers\":[]}", "owner 2 of piece 1"},
        {HEAD BODY "\"routes\":[3],\"transfers\":[]}", "\"routes\" should be"},
        {HEAD "\"active\":[0,1],\"nodes\":99999999999,\"whole\":2,\"cut\":[0,2],\"transfers\":[]}", "2^20"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        banyan_schedule *schedule;
        banyan_error err = {""};

        assert_int_equal(banyan_schedule_parse(cases[i].text, strlen(cases[i].text), &schedule, &err),
                         BANYAN_INVALID_ARGUMENT);
        assert_null(schedule);
        CHECK_SAYS(err, cases[i].says);
    }
}

TEST(cuts_elements_by_floor_without_overflow_or_gap)
{
    static const size_t counts[] = {0, 1, 5, 12, 1000003, (size_t)1 << 33, SIZE_MAX / 2};
    banyan_schedule *s = make_chain();

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t begin, middle, again, end;

        banyan_schedule_elements(s, counts[i], 0, 1, &begin, &middle);
        banyan_schedule_elements(s, counts[i], 1, 1, &again, &end);
        assert_true(begin == 0 && middle == again && end == counts[i]);
        assert_true(middle == counts[i] / 6);
    }
    banyan_schedule_destroy(s);
}

TEST(gives_pieces_to_the_rank_whose_share_holds_them)
{
    banyan_schedule *s;
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_REDUCE_SCATTER, 0, 4, ranks, 2);
    banyan_builder_cut_evenly(&b, 4);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    assert_true(s->owner[0] == 0 && s->owner[1] == 0 && s->owner[2] == 1 && s->owner[3] == 1);
    banyan_schedule_destroy(s);
}

static void check_list(const banyan_dependency_list *list, int transfer, int count, const int *items)
{
    assert_int_equal(list->first[transfer + 1] - list->first[transfer], count);
    for (int i = 0; i < count; i++)
        assert_int_equal(list->item[list->first[transfer] + (size_t)i], items[i]);
}

TEST(waits_for_what_shares_a_piece_and_for_nothing_else)
{
    banyan_schedule *s = make_chain();
    banyan_dependencies *d;

    assert_int_equal(banyan_dependencies_derive(s, &d, NULL), 0);
    /* 0: 2->1 add   1: 1->0 add   2: 0->1 copy   3: 1->2 copy */
    check_list(&d->send_after_apply, 0, 0, NULL);
    check_list(&d->send_after_apply, 1, 1, (int[]){0});
    check_list(&d->send_after_apply, 2, 1, (int[]){1});
    check_list(&d->send_after_apply, 3, 1, (int[]){2});
    check_list(&d->apply_after_apply, 2, 1, (int[]){0});
    check_list(&d->apply_after_send, 2, 1, (int[]){1});
    check_list(&d->apply_after_send, 3, 1, (int[]){0});
    banyan_dependencies_destroy(d);
    banyan_schedule_destroy(s);
}

TEST(reads_before_it_changes_within_a_round)
{
    banyan_schedule *s;
    banyan_dependencies *d;
    banyan_builder b;

    /* An exchange: both read, then both add. */
    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 2, ranks, 2);
    banyan_builder_cut_evenly(&b, 1);
    banyan_builder_reduce(&b, 0, 0, 1, 0, 1, 0);
    banyan_builder_reduce(&b, 0, 1, 0, 0, 1, 0);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    assert_int_equal(banyan_dependencies_derive(s, &d, NULL), 0);
    check_list(&d->send_after_apply, 0, 0, NULL);
    check_list(&d->send_after_apply, 1, 0, NULL);
    check_list(&d->apply_after_send, 0, 1, (int[]){1});
    check_list(&d->apply_after_send, 1, 1, (int[]){0});
    banyan_dependencies_destroy(d);
    banyan_schedule_destroy(s);
}

typedef struct {
    char text[64]; /* '+n' for a send, '-n' for what it changes */
    int fails_at;
} diary;

static void note(diary *d, char sign, size_t transfer)
{
    size_t used = strlen(d->text);

    snprintf(d->text + used, sizeof d->text - used, "%c%zu", sign, transfer);
}

static banyan_status note_send(void *context, size_t transfer, banyan_error *err)
{
    diary *d = context;

    if ((int)transfer == d->fails_at)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "transfer %zu goes nowhere", transfer);
    note(d, '+', transfer);
    return BANYAN_SUCCESS;
}

static void note_apply(void *context, size_t transfer)
{
    note(context, '-', transfer);
}

TEST(a_walk_sends_all_of_a_round_before_it_applies_any)
{
    static const banyan_walk_steps steps = {note_send, note_apply};
    banyan_schedule *s;
    banyan_builder b;
    banyan_error err;
    diary whole = {.fails_at = -1}, cut = {.fails_at = 2};

    /* Rounds need not follow one another. */
    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLREDUCE, 0, 2, ranks, 2);
    banyan_builder_cut_evenly(&b, 1);
    banyan_builder_copy(&b, 5, 0, 1, 0, 1, 0);
    banyan_builder_reduce(&b, 0, 0, 1, 0, 1, 0);
    banyan_builder_reduce(&b, 0, 1, 0, 0, 1, 0);
    assert_int_equal(banyan_builder_finish(&b, &s, NULL), 0);
    assert_int_equal(banyan_schedule_walk(s, &steps, &whole, NULL), 0);
    assert_string_equal(whole.text, "+0+1-0-1+2-2");
    assert_int_equal(banyan_schedule_walk(s, &steps, &cut, &err), BANYAN_UNSUPPORTED);
    assert_string_equal(cut.text, "+0+1-0-1");
    assert_string_equal(err.text, "transfer 2 goes nowhere");
    banyan_schedule_destroy(s);
}

TEST(survives_the_failure_of_each_allocation)
{
    banyan_schedule *s = NULL;
    banyan_dependencies *d = NULL;
    banyan_schedule *made = make_chain();
    char *text = NULL;

    for (long calls = 0; !text; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_schedule_format(made, &text, NULL);
    }
    for (long calls = 0; !s; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_schedule_parse(text, strlen(text), &s, NULL);
    }
    for (long calls = 0; !d; calls++) {
        banyan_alloc_fail_after(calls);
        banyan_dependencies_derive(s, &d, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_free(text);
    banyan_schedule_destroy(s);
    banyan_schedule_destroy(made);
    banyan_dependencies_destroy(d);
}

TEST(knows_collectives_by_all_their_spellings)
{
    assert_int_equal(banyan_collective_find("allreduce"), BANYAN_COLLECTIVE_ALLREDUCE);
    assert_int_equal(banyan_collective_find("all-reduce"), BANYAN_COLLECTIVE_ALLREDUCE);
    assert_int_equal(banyan_collective_find("reduce_scatter"), BANYAN_COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(banyan_collective_find("all-to-all"), BANYAN_COLLECTIVE_ALLTOALL);
    assert_int_equal(banyan_collective_find("allreduces"), -1);
    assert_int_equal(banyan_collective_find("all"), -1);
    assert_int_equal(banyan_collective_find("-"), -1);
    assert_int_equal(banyan_collective_find(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_collectives_by_all_their_spellings),
        cmocka_unit_test(sorts_transfers_by_round_and_counts_rounds_and_flows),
        cmocka_unit_test(keeps_the_order_within_a_round),
        cmocka_unit_test(writes_what_it_read),
        cmocka_unit_test(reads_the_form_of_the_design_without_the_newer_fields),
        cmocka_unit_test(says_what_is_wrong_in_a_file),
        cmocka_unit_test(cuts_elements_by_floor_without_overflow_or_gap),
        cmocka_unit_test(gives_pieces_to_the_rank_whose_share_holds_them),
        cmocka_unit_test(waits_for_what_shares_a_piece_and_for_nothing_else),
        cmocka_unit_test(reads_before_it_changes_within_a_round),
        cmocka_unit_test(a_walk_sends_all_of_a_round_before_it_applies_any),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    json_set_alloc_funcs(banyan_malloc, banyan_free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
