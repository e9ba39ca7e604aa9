/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/schedule_wire.c: schedules arrive as they were sent, and bytes that are none are refused. */
#include "unit/test.h"

#include "core/alloc.h"
#include "schedule/build.h"
#include "schedule/wire.h"

/* Everything that a schedule can have: uneven pieces, owners, routes, a barrier, labels, large numbers. */
static banyan_schedule *make_schedule(void)
{
    static const int active[] = {1, 3, 300, 70000};
    static const int64_t cut[] = {0, 1, 200, INT64_C(1) << 40, INT64_MAX};
    static const int owner[] = {3, 0, 2, 1}, links[] = {5, 0, 128, 2000000000};
    banyan_schedule *schedule = NULL;
    banyan_error err = {""};
    banyan_builder b;

    banyan_builder_init(&b, BANYAN_COLLECTIVE_ALLGATHER, 0, 70001, active, 4);
    banyan_builder_cut(&b, INT64_MAX, cut, 4);
    banyan_builder_set_owners(&b, owner);
    banyan_builder_set_barrier(&b, 130);
    banyan_builder_add_route(&b, links, 4);
    banyan_builder_add_route(&b, links + 1, 1);
    banyan_builder_add(&b, (banyan_transfer){0, 1, 70000, 0, 4, BANYAN_ACTION_COPY, 129, 1});
    banyan_builder_add(&b, (banyan_transfer){0, 3, 300, 2, 1, BANYAN_ACTION_REDUCE, 0, -1});
    banyan_builder_add(&b, (banyan_transfer){130, 70000, 2, 3, 1, BANYAN_ACTION_COPY, 1, 0});
    b.schedule->topology = banyan_strdup("torus:4x4, \"down\"");
    b.schedule->algorithm = banyan_strdup("");
    if (banyan_builder_finish(&b, &schedule, &err))
        fail_msg("%s", err.text);
    return schedule;
}

static banyan_text pack(const banyan_schedule *schedule)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_schedule_pack(schedule, &text);
    assert_false(text.failed);
    return text;
}

TEST(all_of_it_arrives)
{
    banyan_schedule *sent = make_schedule(), *arrived = NULL;
    banyan_text bytes = pack(sent);
    char *one, *other;
    banyan_error err = {""};

    if (banyan_schedule_unpack(bytes.bytes, bytes.length, &arrived, &err))
        fail_msg("%s", err.text);
    assert_int_equal(banyan_schedule_format(sent, &one, NULL), 0);
    assert_int_equal(banyan_schedule_format(arrived, &other, NULL), 0);
    assert_string_equal(one, other);
    assert_in_range(bytes.length, 1, strlen(one) / 3);
    banyan_free(one);
    banyan_free(other);
    banyan_text_fini(&bytes);
    banyan_schedule_destroy(sent);
    banyan_schedule_destroy(arrived);
}

TEST(what_is_cut_off_or_has_a_tail_is_refused)
{
    banyan_schedule *sent = make_schedule(), *arrived;
    banyan_text bytes = pack(sent);
    banyan_error err = {""};

    for (size_t length = 0; length < bytes.length; length++) {
        char *part = banyan_alloc(length, 1); /* exactly as large, for the sanitizer */

        assert_non_null(part);
        memcpy(part, bytes.bytes, length);
        assert_int_equal(banyan_schedule_unpack(part, length, &arrived, &err), BANYAN_INVALID_ARGUMENT);
        assert_null(arrived);
        banyan_free(part);
    }
    CHECK_SAYS(err, "bytes are not a schedule");
    banyan_text_add_bytes(&bytes, "", 1);
    assert_int_equal(banyan_schedule_unpack(bytes.bytes, bytes.length, &arrived, &err),
                     BANYAN_INVALID_ARGUMENT);
    banyan_text_fini(&bytes);
    banyan_schedule_destroy(sent);
}

/* Whatever one byte becomes: it is refused, or it is a schedule that can be sent on. */
TEST(no_byte_does_harm)
{
    banyan_schedule *sent = make_schedule(), *arrived;
    banyan_text bytes = pack(sent);

    for (size_t i = 0; i < bytes.length; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes.bytes[i] = (char)(bytes.bytes[i] ^ 1 << bit);
            if (!banyan_schedule_unpack(bytes.bytes, bytes.length, &arrived, NULL)) {
                banyan_text again = pack(arrived);

                banyan_schedule_destroy(arrived);
                assert_int_equal(banyan_schedule_unpack(again.bytes, again.length, &arrived, NULL), 0);
                banyan_text_fini(&again);
                banyan_schedule_destroy(arrived);
            }
            bytes.bytes[i] = (char)(bytes.bytes[i] ^ 1 << bit);
        }
    banyan_text_fini(&bytes);
    banyan_schedule_destroy(sent);
}

TEST(the_failure_of_each_allocation_is_survived)
{
    banyan_schedule *sent = make_schedule(), *arrived = NULL;
    banyan_text bytes = pack(sent);
    banyan_status status = BANYAN_SYSTEM_ERROR;
    banyan_error err = {""};

    for (long calls = 0; status; calls++) {
        assert_int_equal(status, BANYAN_SYSTEM_ERROR);
        banyan_alloc_fail_after(calls);
        status = banyan_schedule_unpack(bytes.bytes, bytes.length, &arrived, &err);
    }
    banyan_alloc_fail_after(-1);
    banyan_text_fini(&bytes);
    banyan_schedule_destroy(sent);
    banyan_schedule_destroy(arrived);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_arrives),
        cmocka_unit_test(what_is_cut_off_or_has_a_tail_is_refused),
        cmocka_unit_test(no_byte_does_harm),
        cmocka_unit_test(the_failure_of_each_allocation_is_survived),
    };

    return cmocka_run_group_tests_name("schedule_wire", tests, NULL, NULL);
}
