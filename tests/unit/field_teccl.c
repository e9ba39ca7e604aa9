/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules that TE-CCL published: they are proven all-gathers, and take here what their files say. */
#include <math.h>
#include <string.h>

#include "reproduce/field_networks.h"
#include "reproduce/internal.h"
#include "unit/test.h"

TEST(published_schedules_are_proven_and_take_as_long_as_their_files_say)
{
    static const banyan_paper paper = {"te-ccl", "TE-CCL", "its schedules", field_show_teccl};
    banyan_reproduction *r;
    const banyan_figure *f;
    int holding = 0, near = 0;

    assert_int_equal(banyan_reproduction_create(NULL, NULL, &r, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_reproduction_run(r, &paper, NULL), BANYAN_SUCCESS);
    f = r->figures[0];
    for (size_t i = 0; i < f->comparison_count; i++) {
        const figure_comparison *c = &f->comparisons[i];

        holding += c->is_statement && c->ours == 1;
        near += strstr(c->what, "finish of TE-CCL's schedule") && fabs(c->ours / c->theirs - 1) < 0.02;
        print_message("%s: %g, here %g (%s)\n", c->what, c->theirs, c->ours, c->reason ? c->reason : "-");
    }
    assert_int_equal(holding, 2);
    assert_int_equal(near, 2);
    banyan_reproduction_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_schedules_are_proven_and_take_as_long_as_their_files_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
