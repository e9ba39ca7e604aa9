/* SPDX-License-Identifier: Apache-2.0 */
/* How a staged call is cut into chunks. */
#include "device/staging_internal.h"
#include "unit/test.h"

static banyan_staging staged;

static banyan_staging_cut cut_vector(const banyan_staging_call *call, int lanes, size_t chunk_bytes)
{
    staged.options.lane_count = lanes;
    staged.options.chunk_bytes = chunk_bytes;
    return banyan_staging_cut_call(&staged, call);
}

static void check_cover(const banyan_staging_cut *cut)
{
    size_t at = 0;

    for (size_t chunk = 0; chunk < cut->chunk_count; chunk++) {
        size_t elements = banyan_staging_elements(cut, chunk);

        assert_int_equal(banyan_staging_first(cut, chunk), at);
        assert_in_range(elements, 1, cut->elements);
        at += elements;
    }
    assert_int_equal(at, cut->call->count);
    assert_true(cut->lane_count > 0 || !cut->call->count);
}

TEST(chunks_hold_each_element_once)
{
    for (int lanes = 1; lanes <= BANYAN_STAGING_MAX_LANES; lanes++)
        for (size_t bytes = 64; bytes <= 4096; bytes *= 2)
            for (int parts = 1; parts < 40; parts += 6)
                for (size_t count = 0; count < 3000; count += count < 100 ? 1 : 37) {
                    banyan_staging_call call = {.count = count, .type = BANYAN_FLOAT32, .slot_parts = parts};
                    banyan_staging_cut cut = cut_vector(&call, lanes, bytes);

                    if (cut.elements)
                        check_cover(&cut);
                }
}

TEST(the_first_and_last_chunks_of_each_lane_are_half_as_long)
{
    banyan_staging_call call = {.count = 16000, .type = BANYAN_FLOAT32, .slot_parts = 1};
    banyan_staging_cut cut = cut_vector(&call, 2, 4096);

    assert_int_equal(cut.chunk_count, 18);
    for (size_t chunk = 0; chunk < cut.chunk_count - 3; chunk++)
        assert_int_equal(banyan_staging_elements(&cut, chunk), chunk < 2 ? 512 : 1024);
    assert_int_equal(banyan_staging_elements(&cut, 16), 512);
    assert_int_equal(banyan_staging_elements(&cut, 17), 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_hold_each_element_once),
        cmocka_unit_test(the_first_and_last_chunks_of_each_lane_are_half_as_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
