/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/nccl_ring.c: bytes come out of a ring as they went in, and an offer leads to its ring alone. */
#include "nccl/ring.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/random.h"
#include "test.h"

enum { WHOLE = 5000001, PORTION = 300000 };

static void open_ring(banyan_nccl_ring **writer, banyan_nccl_ring **reader)
{
    unsigned char offer[BANYAN_NCCL_OFFER_BYTES];

    *writer = banyan_nccl_ring_create(offer);
    assert_non_null(*writer);
    *reader = banyan_nccl_ring_join(offer);
    assert_non_null(*reader);
}

static char byte_at(size_t i)
{
    return (char)(i * 31 + i / 251);
}

TEST(bytes_come_out_in_portions_of_any_size_as_they_went_in)
{
    banyan_random random = {.state = 3};
    banyan_nccl_ring *writer, *reader;
    char *from = malloc(WHOLE), *into = calloc(1, WHOLE);
    size_t written = 0, read = 0;

    open_ring(&writer, &reader);
    for (size_t i = 0; i < WHOLE; i++)
        from[i] = byte_at(i);
    while (read < WHOLE) {
        size_t left = WHOLE - written, some = (size_t)banyan_random_below(&random, PORTION);

        written += banyan_nccl_ring_write(writer, from + written, some < left ? some : left);
        left = WHOLE - read;
        some = (size_t)banyan_random_below(&random, PORTION);
        read += banyan_nccl_ring_read(reader, into + read, some < left ? some : left);
        assert_true(read <= written);
    }
    assert_memory_equal(from, into, WHOLE);
    banyan_nccl_ring_destroy(writer);
    banyan_nccl_ring_destroy(reader);
    free(from);
    free(into);
}

TEST(a_full_ring_takes_nothing_and_an_empty_one_gives_nothing)
{
    banyan_nccl_ring *writer, *reader;
    char *from = calloc(1, WHOLE);
    size_t room;

    open_ring(&writer, &reader);
    assert_int_equal(banyan_nccl_ring_read(reader, from, 100), 0);
    room = banyan_nccl_ring_write(writer, from, WHOLE);
    assert_true(room > 0 && room < WHOLE);
    assert_int_equal(banyan_nccl_ring_write(writer, from, 1), 0);
    assert_int_equal(banyan_nccl_ring_read(reader, from, 10), 10);
    assert_int_equal(banyan_nccl_ring_write(writer, from, WHOLE), 10);
    banyan_nccl_ring_destroy(writer);
    banyan_nccl_ring_destroy(reader);
    free(from);
}

TEST(what_was_written_can_be_read_after_the_writer_is_gone)
{
    banyan_nccl_ring *writer, *reader;
    char into[6] = "";

    open_ring(&writer, &reader);
    assert_int_equal(banyan_nccl_ring_write(writer, "bytes", 6), 6);
    banyan_nccl_ring_destroy(writer);
    assert_int_equal(banyan_nccl_ring_read(reader, into, sizeof into), 6);
    assert_string_equal(into, "bytes");
    assert_int_equal(banyan_nccl_ring_read(reader, into, sizeof into), 0);
    banyan_nccl_ring_destroy(reader);
}

/* Host, process, descriptor and file all have to be right. */
TEST(an_offer_with_any_byte_changed_leads_nowhere)
{
    unsigned char offer[BANYAN_NCCL_OFFER_BYTES], other[BANYAN_NCCL_OFFER_BYTES];
    banyan_random random = {.state = 4};
    banyan_nccl_ring *writer = banyan_nccl_ring_create(offer);

    assert_non_null(writer);
    for (size_t i = 0; i < sizeof offer; i++)
        for (int time = 0; time < 20; time++) {
            memcpy(other, offer, sizeof offer);
            other[i] = (unsigned char)(other[i] + 1 + (unsigned)banyan_random_below(&random, 255));
            assert_null(banyan_nccl_ring_join(other));
        }
    memset(other, 0, sizeof other);
    assert_null(banyan_nccl_ring_join(other));
    banyan_nccl_ring_destroy(writer);
    assert_null(banyan_nccl_ring_join(offer)); /* its descriptor is closed */
}

TEST(a_failing_allocation_leaves_nothing)
{
    unsigned char offer[BANYAN_NCCL_OFFER_BYTES];

    banyan_alloc_fail_after(0);
    assert_null(banyan_nccl_ring_create(offer));
    banyan_alloc_fail_after(-1);
    assert_null(banyan_nccl_ring_join(offer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_out_in_portions_of_any_size_as_they_went_in),
        cmocka_unit_test(a_full_ring_takes_nothing_and_an_empty_one_gives_nothing),
        cmocka_unit_test(what_was_written_can_be_read_after_the_writer_is_gone),
        cmocka_unit_test(an_offer_with_any_byte_changed_leads_nowhere),
        cmocka_unit_test(a_failing_allocation_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
