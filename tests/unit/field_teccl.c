/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules that TE-CCL published, as bench/teccl.py found them: each is a proven all-gather, and takes here
 * as long as its file says. */
#include <math.h>
#include <string.h>

#include "reproduce/field_networks.h"
#include "reproduce/internal.h"
#include "unit/test.h"

#define TOLERANCE 0.03

enum { NETWORKS = 3 }; /* NDv2 x2 and x4, DGX-2 x2 */

/* How far the published time is from ours, in whole chunks or in slices. */
static double apart(const banyan_figure *f, const char *label)
{
    const figure_point *theirs = figure_find(f, "theirs, as published", label);
    const figure_point *whole = figure_find(f, "theirs, in whole chunks", label);
    const figure_point *sliced = figure_find(f, "theirs, in slices", label);

    assert_true(theirs && whole && sliced);
    return fmin(fabs(whole->value / theirs->value - 1), fabs(sliced->value / theirs->value - 1));
}

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
        print_message("%s: %g, here %g (%s)\n", c->what, c->theirs, c->ours, c->reason ? c->reason : "-");
    }
    for (size_t i = 0; i < f->point_count; i++)
        if (!strcmp(f->points[i].series, "theirs, as published"))
            near += apart(f, f->points[i].label) < TOLERANCE;
    assert_int_equal(holding, NETWORKS);
    assert_int_equal(near, NETWORKS);
    banyan_reproduction_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_schedules_are_proven_and_take_as_long_as_their_files_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
