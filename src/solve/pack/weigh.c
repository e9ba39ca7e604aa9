/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/weigh.c: one linear program, a row for each cable and a column for each tree. */
#include "solve/pack/weigh.h"

#include "core/alloc.h"
#include "solve/net/lp.h"

struct banyan_weighing {
    const banyan_graph *graph;
    const banyan_trees *trees;
    banyan_lp *lp;
    size_t known; /* trees that have a column */
    int *row;     /* per arc: of its cable */
    double unit;  /* the largest capacity */
};

void banyan_weighing_destroy(banyan_weighing *w)
{
    if (!w)
        return;
    banyan_lp_destroy(w->lp);
    banyan_free(w->row);
    banyan_free(w);
}

static banyan_status make_program(banyan_weighing *w, banyan_error *err)
{
    const banyan_graph *graph = w->graph;
    double *upper = banyan_alloc((size_t)graph->arc_count, sizeof *upper);
    banyan_status status = upper ? BANYAN_SUCCESS : banyan_fail_memory(err);
    int rows = 0;

    for (int i = 0; !status && i < graph->arc_count; i++)
        w->unit = (double)graph->arcs[i].capacity > w->unit ? (double)graph->arcs[i].capacity : w->unit;
    for (int i = 0; !status && i < graph->arc_count; i++) {
        if (banyan_graph_cable(graph, i) != i) {
            w->row[i] = w->row[graph->arcs[i].twin];
            continue;
        }
        upper[rows] = (double)graph->arcs[i].capacity / w->unit;
        w->row[i] = rows++;
    }
    if (!status)
        status = banyan_lp_create(rows, NULL, upper, &w->lp, err);
    banyan_free(upper);
    return status;
}

banyan_status banyan_weighing_create(const banyan_graph *graph, const banyan_trees *trees,
                                     banyan_weighing **out, banyan_error *err)
{
    banyan_weighing *w = banyan_alloc(1, sizeof *w);
    banyan_status status;

    *out = NULL;
    if (!w)
        return banyan_fail_memory(err);
    w->graph = graph;
    w->trees = trees;
    w->row = banyan_alloc((size_t)graph->arc_count, sizeof *w->row);
    status = w->row ? make_program(w, err) : banyan_fail_memory(err);
    if (status)
        banyan_weighing_destroy(w);
    else
        *out = w;
    return status;
}

/* Trees in which some path comes over a cable twice use it twice. */
static int merge_rows(int *row, double *value, int count)
{
    int kept = 0;

    for (int i = 0; i < count; i++) {
        int j = 0;

        while (j < kept && row[j] != row[i])
            j++;
        if (j == kept) {
            row[kept] = row[i];
            value[kept++] = 1;
        } else {
            value[j]++;
        }
    }
    return kept;
}

static banyan_status add_columns(banyan_weighing *w, banyan_error *err)
{
    const banyan_trees *trees = w->trees;
    size_t begin = banyan_trees_arcs_begin(trees, w->known), entries = trees->arc_count - begin;
    size_t count = trees->tree_count - w->known, used = 0;
    int *row = banyan_alloc(entries + 1, sizeof *row), *start = banyan_alloc(count + 1, sizeof *start);
    double *value = banyan_alloc(entries + 1, sizeof *value);
    banyan_status status = row && start && value ? BANYAN_SUCCESS : banyan_fail_memory(err);

    for (size_t t = 0; !status && t < count; t++) {
        size_t from = banyan_trees_arcs_begin(trees, w->known + t);
        size_t to = banyan_trees_arcs_close(trees, w->known + t);

        start[t] = (int)used;
        for (size_t a = from; a < to; a++)
            row[used + (a - from)] = w->row[trees->arcs[a]];
        used += (size_t)merge_rows(row + used, value + used, (int)(to - from));
    }
    if (!status) {
        start[count] = (int)used;
        status = banyan_lp_add_columns(w->lp, (int)count, 1, start, row, value, err);
        w->known = trees->tree_count;
    }
    banyan_free(row);
    banyan_free(start);
    banyan_free(value);
    return status;
}

banyan_status banyan_weighing_solve(banyan_weighing *w, double *total, banyan_error *err)
{
    banyan_status status = w->known < w->trees->tree_count ? add_columns(w, err) : BANYAN_SUCCESS;

    if (!status)
        status = banyan_lp_solve(w->lp, err);
    if (!status)
        *total = banyan_lp_objective(w->lp) * w->unit;
    return status;
}

void banyan_weighing_drop(banyan_weighing *w, size_t tree)
{
    banyan_lp_bound_column(w->lp, (int)tree, 0, 0);
}

double banyan_weighing_weight(const banyan_weighing *w, size_t tree)
{
    double value = banyan_lp_values(w->lp)[tree];

    return value > 0 ? value * w->unit : 0;
}

double banyan_weighing_price(const banyan_weighing *w, int arc)
{
    double price = banyan_lp_price(w->lp, w->row[arc]);

    return price > 0 ? price : 0;
}
