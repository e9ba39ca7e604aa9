/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/reproduce.c: the frame of banyan reproduce, with a paper of our own. */
#include "unit/test.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/json.h"
#include "reproduce/internal.h"

static double offset; /* what a rerun differs by */

static banyan_status square(void *context, int i, banyan_error *err)
{
    ((double *)context)[i] = (double)i * i;
    return i == 97 ? banyan_fail(err, BANYAN_INTERNAL_ERROR, "job 97 fails") : BANYAN_SUCCESS;
}

static banyan_status run(banyan_reproduction *r, banyan_error *err)
{
    double squares[5];
    banyan_status status = banyan_reproduce_jobs(r, 5, square, squares, err);
    banyan_figure *lines = banyan_figure_open(r, &(banyan_figure_head){.name = "lines",
                                                                       .title = "a < b & c",
                                                                       .setting = "none",
                                                                       .kind = BANYAN_FIGURE_LINES,
                                                                       .x = "size",
                                                                       .y = "ms",
                                                                       .is_log_x = 1,
                                                                       .is_log_y = 1,
                                                                       .tolerance = 0.01});
    banyan_figure *stacks = banyan_figure_open(
        r, &(banyan_figure_head){.name = "stacks", .kind = BANYAN_FIGURE_STACKS, .tolerance = 0.01});
    banyan_figure *bars = banyan_figure_open(
        r, &(banyan_figure_head){.name = "bars", .kind = BANYAN_FIGURE_BARS, .tolerance = -1});
    banyan_figure *table = banyan_figure_open(
        r, &(banyan_figure_head){.name = "table", .kind = BANYAN_FIGURE_TABLE, .tolerance = 0});

    for (int i = 1; i < 5; i++) {
        banyan_figure_add(lines, BANYAN_OURS, "ring, both ways", i, NULL, squares[i] + offset);
        banyan_figure_add(lines, BANYAN_PAPERS, "printed", i, NULL, squares[i] + 1);
        banyan_figure_add(lines, BANYAN_OTHERS, "bound", i, NULL, 1);
        banyan_figure_add(bars, BANYAN_OURS, "measured", i, NULL, squares[i] + offset);
    }
    banyan_figure_compare(lines, "ring at 4", BANYAN_PAPERS, 17, squares[4] + offset, "because");
    banyan_figure_state(lines, "the ring is below 20", squares[4] + offset < 20, NULL);
    banyan_figure_claim(lines, "we are below 20", 1, NULL);
    banyan_figure_cannot_test(lines, "users like it", "there are no users here");
    banyan_figure_add(stacks, BANYAN_OURS, "ring/compute", 0, "net", 3);
    banyan_figure_add(stacks, BANYAN_OURS, "ring/exposed", 0, "net", 2);
    banyan_figure_add(stacks, BANYAN_OURS, "tree/compute", 0, "net", 3);
    banyan_figure_add_word(table, BANYAN_PAPERS, "latency", "ring", "high");
    banyan_figure_add_word(table, BANYAN_OURS, "ours", "ring", offset > 5 ? "low" : "high");
    return status;
}

static const banyan_paper paper = {"multitree", "A title & more", "About it.", run};

static banyan_reproduction *rerun(double by)
{
    banyan_reproduction *r;

    offset = by;
    assert_int_equal(banyan_reproduction_create(NULL, NULL, &r, NULL), 0);
    assert_int_equal(banyan_reproduction_run(r, &paper, NULL), 0);
    for (size_t i = 0; i < r->figure_count; i++) /* the writers go by the list of papers */
        r->figures[i]->paper = banyan_paper_find("multitree");
    return r;
}

static char folder_name[64];

static char *folder(void)
{
    snprintf(folder_name, sizeof folder_name, "/tmp/banyan-reproduce-XXXXXX");
    assert_non_null(mkdtemp(folder_name));
    return folder_name;
}

/* A test that fails does not come to its end, but leaves nothing behind either. */
static int sweep(void **state)
{
    DIR *all = *folder_name ? opendir(folder_name) : NULL;
    const struct dirent *entry;

    (void)state;
    while (all && (entry = readdir(all)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(all), entry->d_name, 0);
    if (all) {
        closedir(all);
        rmdir(folder_name);
    }
    *folder_name = '\0';
    return 0;
}

static char *load(const char *where, const char *name)
{
    char path[200], *text;
    banyan_error err;

    snprintf(path, sizeof path, "%s/%s", where, name);
    if (banyan_file_load(path, &text, NULL, &err))
        fail_msg("%s", err.text);
    return text;
}

static void clean(const char *where)
{
    static const char *const names[] = {"index.html",           "multitree.json",      "multitree.txt",
                                        "multitree-lines.csv",  "multitree-lines.svg", "multitree-stacks.csv",
                                        "multitree-stacks.svg", "multitree-bars.csv",  "multitree-bars.svg",
                                        "multitree-table.csv"};
    char path[200];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", where, names[i]);
        if (unlink(path))
            fail_msg("%s was not written", path);
    }
    assert_int_equal(rmdir(where), 0);
}

static void expect(const char *where, const char *name, const char *words)
{
    char *text = load(where, name);

    if (!strstr(text, words))
        fail_msg("%s does not say '%s':\n%s", name, words, text);
    banyan_free(text);
}

TEST(every_figure_is_written_as_text_json_csv_svg_and_on_the_page)
{
    banyan_reproduction *r = rerun(0);
    const char *where = folder();

    assert_int_equal(banyan_reproduction_write(r, where, NULL), 0);
    expect(where, "multitree.txt", "ring at 4                     17        16    0.941");
    expect(where, "multitree.txt", "paper  the ring is below 20");
    expect(where, "multitree.txt", "ours   we are below 20");
    expect(where, "multitree.txt", "printed (paper)");
    expect(where, "multitree.txt", "not testable here\n         there are no users here");
    expect(where, "multitree.json", "\"holds\":null,\"reason\":\"there are no users here\"");
    expect(where, "multitree.json", "\"series\":\"ring, both ways\",\"origin\":\"ours\",\"label\":\"4\"");
    expect(where, "multitree-lines.csv", "\"ring, both ways\",ours,4,4,16");
    expect(where, "multitree-lines.svg", "a &lt; b &amp; c");
    expect(where, "multitree-lines.svg", "dashed");
    expect(where, "multitree-stacks.svg", ">exposed</text>");
    expect(where, "index.html", "id=\"multitree-table\"");
    expect(where, "index.html", "<td>high</td>");
    clean(where);
    banyan_reproduction_destroy(r);
}

TEST(what_is_written_can_be_read_and_comes_again)
{
    banyan_reproduction *r = rerun(0);
    banyan_reproduce_verdict verdict;
    const char *where = folder();

    assert_int_equal(banyan_reproduction_write(r, where, NULL), 0);
    assert_int_equal(banyan_reproduction_check(r, where, &verdict, NULL), 0);
    assert_int_equal(verdict.missed, 0);
    assert_int_equal(verdict.held, 4 + 4 + 3 + 1); /* points, comparisons, parts, words; bars are measured */
    assert_string_equal(verdict.text, "");
    banyan_free(verdict.text);
    clean(where);
    banyan_reproduction_destroy(r);
}

TEST(claims_of_the_paper_are_counted_and_those_of_our_own_are_not)
{
    banyan_reproduction *r = rerun(0), *far = rerun(6);
    const char *where = folder();
    char text[256];

    banyan_reproduction_format_claims(r, text, sizeof text);
    assert_string_equal(
        text, "1 statements of papers hold, 0 do not, 1 are not testable here; 1 of 1 numbers of papers "
              "are met within 10 %");
    banyan_reproduction_format_claims(far, text, sizeof text);
    assert_string_equal(
        text, "0 statements of papers hold, 1 do not, 1 are not testable here; 0 of 1 numbers of papers "
              "are met within 10 %");
    assert_int_equal(banyan_reproduction_write(r, where, NULL), 0);
    expect(
        where, "index.html",
        "<tr><td>multitree</td><td data-is=\"statements that hold\">1</td><td data-is=\"do not hold\">0</td>"
        "<td data-is=\"not testable here\">1</td><td data-is=\"numbers met\">1</td>"
        "<td data-is=\"not met\">0</td><td data-is=\"off by, median\">");
    clean(where);
    banyan_reproduction_destroy(r);
    banyan_reproduction_destroy(far);
}

TEST(what_differs_by_more_than_the_tolerance_is_named)
{
    banyan_reproduction *r = rerun(0), *again = rerun(0.05), *far = rerun(6);
    banyan_reproduce_verdict verdict;
    const char *where = folder();

    assert_int_equal(banyan_reproduction_write(r, where, NULL), 0);
    assert_int_equal(banyan_reproduction_check(again, where, &verdict, NULL), 0);
    assert_int_equal(verdict.missed, 2); /* 1 and 4; 9 and 16 stay within a per cent */
    assert_non_null(
        strstr(verdict.text, "lines: ring, both ways, 1 was 1 and is now 1.05 (1 % are allowed)"));
    banyan_free(verdict.text);
    assert_int_equal(banyan_reproduction_check(far, where, &verdict, NULL), 0);
    assert_int_equal(verdict.missed, 4 + 2 + 1);
    assert_non_null(strstr(verdict.text, "the ring is below 20 was 1 and is now 0"));
    assert_non_null(strstr(verdict.text, "was 'high' and is now 'low'"));
    banyan_free(verdict.text);
    far->figures[0]->point_count = 0;
    assert_int_equal(banyan_reproduction_check(far, where, &verdict, NULL), 0);
    assert_non_null(strstr(verdict.text, "ring, both ways, 4 is not there any more"));
    banyan_free(verdict.text);
    clean(where);
    banyan_reproduction_destroy(r);
    banyan_reproduction_destroy(again);
    banyan_reproduction_destroy(far);
}

TEST(a_paper_without_committed_results_is_told_and_a_broken_file_too)
{
    banyan_reproduction *r = rerun(0);
    banyan_reproduce_verdict verdict;
    const char *where = folder();
    char path[200];
    banyan_error err;

    assert_int_equal(banyan_reproduction_check(r, where, &verdict, NULL), 0);
    assert_string_equal(verdict.text, "multitree: no results are committed yet\n");
    banyan_free(verdict.text);
    snprintf(path, sizeof path, "%s/multitree.json", where);
    assert_int_equal(banyan_file_save(path, "{", 1, NULL), 0);
    assert_int_not_equal(banyan_reproduction_check(r, where, &verdict, &err), 0);
    CHECK_SAYS(err, "multitree.json: ");
    unlink(path);
    rmdir(where);
    banyan_reproduction_destroy(r);
}

TEST(jobs_are_all_done_and_the_first_failure_is_the_one_that_is_told)
{
    banyan_reproduction *r;
    double squares[200] = {0};
    banyan_error err;

    assert_int_equal(banyan_reproduction_create(NULL, NULL, &r, NULL), 0);
    assert_int_equal(banyan_reproduce_jobs(r, 90, square, squares, &err), 0);
    for (int i = 0; i < 90; i++)
        assert_true(squares[i] == (double)i * i);
    assert_int_equal(banyan_reproduce_jobs(r, 200, square, squares, &err), BANYAN_INTERNAL_ERROR);
    assert_string_equal(err.text, "job 97 fails");
    banyan_reproduction_destroy(r);
}

TEST(a_folder_that_cannot_be_made_is_named)
{
    banyan_reproduction *r = rerun(0);
    banyan_error err;

    assert_int_equal(banyan_reproduction_write(r, "/proc/none/such", &err), BANYAN_SYSTEM_ERROR);
    CHECK_SAYS(err, "the folder /proc/none/such cannot be made");
    banyan_reproduction_destroy(r);
}

TEST(each_failing_allocation_is_survived)
{
    const char *where = folder();
    banyan_status status = BANYAN_INTERNAL_ERROR;

    for (long calls = 0; status; calls++) {
        banyan_reproduction *r = NULL;
        banyan_reproduce_verdict verdict = {0, 0, NULL};

        banyan_alloc_fail_after(calls);
        status = banyan_reproduction_create(NULL, NULL, &r, NULL);
        if (!status)
            status = banyan_reproduction_run(r, &paper, NULL);
        for (size_t i = 0; !status && i < r->figure_count; i++)
            r->figures[i]->paper = banyan_paper_find("multitree");
        if (!status)
            status = banyan_reproduction_write(r, where, NULL);
        if (!status)
            status = banyan_reproduction_check(r, where, &verdict, NULL);
        banyan_alloc_fail_after(-1);
        banyan_free(verdict.text);
        banyan_reproduction_destroy(r);
    }
    clean(where);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_figure_is_written_as_text_json_csv_svg_and_on_the_page, sweep),
        cmocka_unit_test_teardown(what_is_written_can_be_read_and_comes_again, sweep),
        cmocka_unit_test_teardown(claims_of_the_paper_are_counted_and_those_of_our_own_are_not, sweep),
        cmocka_unit_test_teardown(what_differs_by_more_than_the_tolerance_is_named, sweep),
        cmocka_unit_test_teardown(a_paper_without_committed_results_is_told_and_a_broken_file_too, sweep),
        cmocka_unit_test_teardown(jobs_are_all_done_and_the_first_failure_is_the_one_that_is_told, sweep),
        cmocka_unit_test_teardown(a_folder_that_cannot_be_made_is_named, sweep),
        cmocka_unit_test_teardown(each_failing_allocation_is_survived, sweep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
