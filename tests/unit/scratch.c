/* SPDX-License-Identifier: Apache-2.0 */
/* core/scratch.h: what is taken is zeroed, a failure is remembered, and freeing makes it as new. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above first */
#include <cmocka.h>

#include "core/alloc.h"
#include "core/scratch.h"

enum { BLOCKS = 40 }; /* more than are made room for at first */

static void blocks_are_zeroed_and_apart(void **state)
{
    banyan_scratch scratch = {0};
    int *block[BLOCKS];

    (void)state;
    for (int k = 0; k < BLOCKS; k++) {
        block[k] = banyan_scratch_take(&scratch, 3, sizeof **block);
        assert_non_null(block[k]);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(block[k][i], 0);
            block[k][i] = 3 * k + i;
        }
    }
    for (int k = 0; k < BLOCKS; k++)
        assert_int_equal(block[k][2], 3 * k + 2);
    assert_int_equal(banyan_scratch_check(&scratch, NULL), BANYAN_SUCCESS);
    banyan_scratch_free(&scratch);
}

static void nothing_can_be_taken(void **state)
{
    banyan_scratch scratch = {0};

    (void)state;
    assert_non_null(banyan_scratch_take(&scratch, 0, sizeof(int)));
    assert_int_equal(scratch.failed, 0);
    banyan_scratch_free(&scratch);
    banyan_scratch_free(&scratch);
}

/* Whichever allocation fails: what came before it is there and is freed (under ASan leaks show). */
static void every_failure_is_remembered(void **state)
{
    banyan_error err;
    int failed = 1;

    (void)state;
    for (long calls = 0; failed; calls++) {
        banyan_scratch scratch = {0};
        int missing = 0;

        banyan_alloc_fail_after(calls);
        for (int k = 0; k < BLOCKS; k++)
            missing += banyan_scratch_take(&scratch, 3, sizeof(int)) == NULL;
        banyan_alloc_fail_after(-1);
        failed = scratch.failed;
        assert_int_equal(missing > 0, failed);
        assert_int_equal(banyan_scratch_check(&scratch, &err), failed ? BANYAN_SYSTEM_ERROR : BANYAN_SUCCESS);
        assert_true(failed || calls > BLOCKS);
        banyan_scratch_free(&scratch);
    }
}

static void a_freed_one_begins_anew(void **state)
{
    banyan_scratch scratch = {0};
    unsigned char *block;

    (void)state;
    banyan_alloc_fail_after(0);
    assert_null(banyan_scratch_take(&scratch, 1, 1));
    banyan_alloc_fail_after(-1);
    assert_non_null(banyan_scratch_take(&scratch, 1, 1));
    assert_int_equal(scratch.failed, 1); /* still */
    banyan_scratch_free(&scratch);
    assert_int_equal(scratch.failed, 0);
    block = banyan_scratch_take(&scratch, 5, 1);
    assert_non_null(block);
    assert_int_equal(block[4], 0);
    assert_int_equal(scratch.count, 1);
    banyan_scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_zeroed_and_apart),
        cmocka_unit_test(nothing_can_be_taken),
        cmocka_unit_test(every_failure_is_remembered),
        cmocka_unit_test(a_freed_one_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
