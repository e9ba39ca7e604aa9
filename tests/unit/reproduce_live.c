/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/reproduce_live.c: measurements that came with Banyan are read and shown; a file that is missing
 * is no error. */
#include "unit/test.h"

#include "core/alloc.h"
#include "reproduce/asc.h"
#include "reproduce/flexreduce_live.h"
#include "reproduce/internal.h"

static const figure_comparison *find(const banyan_figure *f, const char *words)
{
    for (size_t i = 0; i < f->comparison_count; i++)
        if (strstr(f->comparisons[i].what, words))
            return &f->comparisons[i];
    fail_msg("%s does not compare '%s'", f->head.name, words);
    return NULL;
}

static const banyan_figure *figure(const banyan_reproduction *r, const char *name)
{
    for (size_t i = 0; i < r->figure_count; i++)
        if (!strcmp(r->figures[i]->head.name, name))
            return r->figures[i];
    fail_msg("there is no figure %s", name);
    return NULL;
}

TEST(a_file_that_is_missing_is_no_error)
{
    char about[LIVE_ABOUT];
    banyan_json *document = (banyan_json *)about;

    assert_int_equal(live_load("no-such-measurement.json", &document, about, NULL), BANYAN_SUCCESS);
    assert_null(document);
    assert_string_equal(about, "");
}

TEST(a_file_says_how_when_and_where_it_was_made)
{
    char about[LIVE_ABOUT];
    banyan_json *document;

    assert_int_equal(live_load("asc-live.json", &document, about, NULL), BANYAN_SUCCESS);
    assert_non_null(document);
    assert_non_null(strstr(about, "bench/asc_live.py, 20"));
    banyan_json_destroy(document);
}

TEST(flexreduce_was_measured_alone_and_in_training)
{
    flexreduce_live live;
    flexreduce_ddp ddp;

    assert_int_equal(flexreduce_live_load(&live, NULL), BANYAN_SUCCESS);
    assert_int_equal(flexreduce_ddp_load(&ddp, NULL), BANYAN_SUCCESS);
    assert_true(live.is_there && ddp.is_there);
    assert_int_equal((int)ddp.parameters, 11689512); /* ResNet-18 */
    for (int i = 0; i < FLEXREDUCE_LIVE_CASES; i++)
        assert_true(ddp.compute_s[i] < ddp.ring_s[i] && ddp.compute_s[i] < ddp.flexreduce_s[i]);
}

TEST(asc_wfbp_is_shown_as_measured_with_reasons)
{
    static const banyan_paper paper = {"asc", "ASC-WFBP", "measured", asc_show_live};
    banyan_reproduction *r;
    const banyan_figure *table;

    assert_int_equal(banyan_reproduction_create(NULL, NULL, &r, NULL), BANYAN_SUCCESS);
    assert_int_equal(banyan_reproduction_run(r, &paper, NULL), BANYAN_SUCCESS);
    find(figure(r, "fig4a-live"), "gamma");
    find(figure(r, "fig4b-live"), "two at a time reach nearly the link's bandwidth");
    table = figure(r, "table4-live");
    assert_true(table->head.tolerance < 0);
    for (int i = 0; i < ASC_MODELS; i++)
        assert_non_null(find(table, asc_models[i].name)->reason);
    assert_non_null(strstr(find(table, "DenseNet-201 stays furthest")->reason, "S max"));
    assert_non_null(strstr(find(table, "BERT-Base gains less")->reason, "word embeddings, 21 %"));
    banyan_reproduction_destroy(r);
}

TEST(survives_the_failure_of_each_allocation)
{
    char about[LIVE_ABOUT];
    banyan_json *document = NULL;

    for (int calls = 0; !document; calls++) {
        banyan_alloc_fail_after(calls);
        live_load("asc-live.json", &document, about, NULL);
    }
    banyan_alloc_fail_after(-1);
    banyan_json_destroy(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_missing_is_no_error),
        cmocka_unit_test(a_file_says_how_when_and_where_it_was_made),
        cmocka_unit_test(flexreduce_was_measured_alone_and_in_training),
        cmocka_unit_test(asc_wfbp_is_shown_as_measured_with_reasons),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
