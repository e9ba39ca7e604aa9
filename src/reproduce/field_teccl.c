/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/field_teccl.c: schedules that TE-CCL published, imported, proven and simulated, and ours beside.
 *
 * Its files are not here: bench/teccl.py does that with a copy of them, and writes down what it found. */
#include <stdio.h>

#include "core/alloc.h"
#include "reproduce/field_networks.h"
#include "reproduce/internal.h"
#include "reproduce/live.h"

#define WHERE                                                                                                \
    "all-gather on the networks of its evaluation, whose switches copy; fluid simulator, links alone, "      \
    "theirs "                                                                                                \
    "in whole chunks; with two NDv2 its program takes node 0 for a switch, so that 15 GPUs gather and it "   \
    "only "                                                                                                  \
    "forwards"

static void add_row(banyan_figure *f, const banyan_json *row, int i)
{
    double finish_s = banyan_reproduce_number_of(row, "finish_s"),
           ours_s = banyan_reproduce_number_of(row, "ours_s");
    double simulated_s = banyan_reproduce_number_of(row, "simulated_s");
    double sliced_s = banyan_reproduce_number_of(row, "sliced_s");
    double bound_s = banyan_reproduce_number_of(row, "bound_s");
    const char *why = banyan_reproduce_string_of(row, "why");
    char label[96], what[192], reason[320];
    int is_proven = 0;

    banyan_json_get_boolean(banyan_json_field(row, "is_proven"), &is_proven);
    snprintf(label, sizeof label, "%.40s, %.40s", banyan_reproduce_string_of(row, "network"),
             banyan_reproduce_string_of(row, "label"));
    banyan_figure_add(f, BANYAN_PAPERS, "theirs, as published", i, label, finish_s * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "theirs, in whole chunks", i, label, simulated_s * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "theirs, in slices", i, label, sliced_s * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "ours, simulated", i, label, ours_s * 1e6);
    banyan_figure_add(f, BANYAN_OURS, "bytes alone, at the bound", i, label, bound_s * 1e6);
    snprintf(what, sizeof what, "%s: TE-CCL's schedule is an all-gather on its network", label);
    snprintf(reason, sizeof reason, "%.0f flows between %.0f GPUs%s%.200s",
             banyan_reproduce_number_of(row, "flows"), banyan_reproduce_number_of(row, "gpus"),
             is_proven ? ", proven" : ": ", why);
    banyan_figure_state(f, what, is_proven, reason);
    snprintf(what, sizeof what, "%s: finish of TE-CCL's schedule, us", label);
    snprintf(reason, sizeof reason,
             "in whole chunks, which links from switches to GPUs take time for, too; in sixteen slices each, "
             "which "
             "pass switches as they come, %.4g us",
             sliced_s * 1e6);
    banyan_figure_compare(f, what, BANYAN_PAPERS, finish_s * 1e6, simulated_s * 1e6, reason);
    snprintf(what, sizeof what, "%s: our plan against TE-CCL's, us", label);
    snprintf(reason, sizeof reason,
             "%.40s, planned in %.1f ms; their solver took %.0f s. Bytes alone take %.0f %% of their time at "
             "the bound, "
             "and %.0f %% of ours",
             banyan_reproduce_string_of(row, "algorithm"),
             1e3 * banyan_reproduce_number_of(row, "planning_s"), banyan_reproduce_number_of(row, "solver_s"),
             100 * bound_s / finish_s, 100 * bound_s / ours_s);
    banyan_figure_compare(f, what, BANYAN_PAPERS, finish_s * 1e6, ours_s * 1e6, reason);
}

banyan_status field_show_teccl(banyan_reproduction *r, banyan_error *err)
{
    char about[LIVE_ABOUT], setting[768];
    const banyan_json *rows;
    banyan_json *document;
    banyan_figure *f;
    banyan_status status = live_load("te-ccl.json", &document, about, err);

    if (status)
        return status;
    snprintf(setting, sizeof setting, "%s (%s)", WHERE, about);
    f = banyan_figure_open(r, &(banyan_figure_head){.name = "te-ccl",
                                                    .title = "TE-CCL: published schedules, imported",
                                                    .setting = setting,
                                                    .kind = BANYAN_FIGURE_TABLE,
                                                    .x = "network",
                                                    .y = "us",
                                                    .tolerance = 1e-6});
    rows = document ? banyan_json_field(document, "results") : NULL;
    for (size_t i = 0; rows && i < banyan_json_count(rows); i++)
        add_row(f, banyan_json_item(rows, i), (int)i);
    if (!rows || !banyan_json_count(rows))
        banyan_figure_cannot_test(f, "TE-CCL's schedules are all-gathers on their networks",
                                  "te-ccl.json, which bench/teccl.py writes, is not there");
    banyan_json_destroy(document);
    return BANYAN_SUCCESS;
}
