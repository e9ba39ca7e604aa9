/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/roster.c: what survivors tell each other comes back as it was sent, and nothing else is taken.
 * */
#include "bootstrap/roster.h"

#include <string.h>

#include "test.h"
#include "transport/bytes.h"

TEST(a_list_of_members_comes_back)
{
    const int members[] = {0, 3, 4, 9};
    unsigned char bytes[64];
    int back[10], count = 0;
    uint64_t number = 0;
    size_t length = banyan_roster_write(bytes, 0x123456789abcdef0u, members, 4);

    assert_true(length == banyan_roster_bytes(4));
    assert_true(banyan_roster_read(bytes, length, 10, &number, back, &count));
    assert_true(number == 0x123456789abcdef0u && count == 4 && !memcmp(back, members, sizeof members));
}

TEST(a_list_that_is_none_is_refused)
{
    const int twice[] = {1, 1}, falling[] = {2, 1}, beyond[] = {1, 4};
    const int *const wrong[] = {twice, falling, beyond};
    unsigned char bytes[64];
    int back[4], count;
    uint64_t number;

    for (int i = 0; i < 3; i++)
        assert_true(
            !banyan_roster_read(bytes, banyan_roster_write(bytes, 1, wrong[i], 2), 4, &number, back, &count));
    banyan_roster_write(bytes, 1, beyond, 1);
    assert_true(banyan_roster_read(bytes, banyan_roster_bytes(1), 4, &number, back, &count));
    assert_true(!banyan_roster_read(bytes, banyan_roster_bytes(0), 4, &number, back, &count));
    assert_true(!banyan_roster_read(bytes, banyan_roster_bytes(1) + 1, 4, &number, back, &count));
    assert_true(!banyan_roster_read(bytes, banyan_roster_bytes(5), 4, &number, back, &count));
}

TEST(changes_and_records_name_ranks_that_exist)
{
    unsigned char change[BANYAN_ROSTER_CHANGE_BYTES], record[BANYAN_RANK_RECORD_BYTES] = {7},
                                                      entry[BANYAN_ROSTER_RECORD_BYTES];
    int rank = -1, is_there = -1;

    banyan_roster_write_change(change, 5, 1);
    assert_true(banyan_roster_read_change(change, 6, &rank, &is_there) && rank == 5 && is_there == 1);
    assert_true(!banyan_roster_read_change(change, 5, &rank, &is_there));
    banyan_roster_write_change(change, 5, 0);
    assert_true(banyan_roster_read_change(change, 6, &rank, &is_there) && rank == 5 && is_there == 0);
    banyan_roster_write_record(entry, 3, record);
    assert_true(banyan_roster_read_record(entry, 4) == 3 && !memcmp(entry + 4, record, sizeof record));
    assert_true(banyan_roster_read_record(entry, 3) == -1);
    banyan_put32(entry, UINT32_MAX);
    assert_true(banyan_roster_read_record(entry, 4096) == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_members_comes_back),
        cmocka_unit_test(a_list_that_is_none_is_refused),
        cmocka_unit_test(changes_and_records_name_ranks_that_exist),
    };

    return cmocka_run_group_tests_name("roster", tests, NULL, NULL);
}
