/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_print.c: what banyan train found, as a table and as JSON. */
#include "train_print.h"

#include <stdio.h>

#include "core/alloc.h"
#include "train_figures.h"

static double total_bytes(const banyan_model *model)
{
    double bytes = 0;

    for (int i = 0; i < model->tensor_count; i++)
        bytes += (double)model->tensors[i].bytes;
    return bytes;
}

static double gap(const banyan_grouping *g)
{
    return g->iteration_s > g->bound_s ? g->iteration_s / g->bound_s - 1 : 0; /* but for rounding */
}

static double best_of(const cli_trainings *r)
{
    double best_s = r->groupings[0]->iteration_s;

    for (int i = 1; i < r->count; i++)
        if (r->groupings[i]->iteration_s < best_s)
            best_s = r->groupings[i]->iteration_s;
    return best_s;
}

static void print_lives(const cli_trainings *r)
{
    char a[32], b[32], c[32], d[32];

    printf("\nthe same on these ranks:\n%-18s %7s %7s %12s %12s %12s %12s %9s %8s\n", "policy", "streams",
           "groups", "predicted", "measured", "exposed", "measured", "off by", "hidden");
    for (int i = 0; i < r->live_count; i++) {
        const cli_live *live = &r->lives[i];

        printf("%-18s %7d %7d %12s %12s %12s %12s %+7.1f %% %6.1f %%\n", r->names[i], live->streams,
               live->groups, banyan_show_seconds(live->predicted_s, a, sizeof a),
               banyan_show_seconds(live->measured_s, b, sizeof b),
               banyan_show_seconds(live->predicted_exposed_s, c, sizeof c),
               banyan_show_seconds(live->measured_exposed_s, d, sizeof d),
               live->predicted_exposed_s > 0
                   ? 100 * (live->measured_exposed_s / live->predicted_exposed_s - 1)
                   : 0,
               100 * live->hidden);
    }
}

void cli_trainings_print(const cli_trainings *r)
{
    char bytes[32], forward[32], backward[32], start[32], rate[32];
    const banyan_cost *cost = &r->cost.cost;

    printf("%s: %d tensors, %s; forward %s, backward %s\n", r->model->name, r->model->tensor_count,
           banyan_show_bytes(total_bytes(r->model), bytes, sizeof bytes),
           banyan_show_seconds(r->model->forward_s, forward, sizeof forward),
           banyan_show_seconds(r->model->backward_s, backward, sizeof backward));
    printf("an all-reduce (%s): %s and %s; two at a time each at %.3g of that\n", r->cost.source,
           banyan_show_seconds(cost->start_s, start, sizeof start),
           banyan_show_rate(1 / cost->s_per_byte, rate, sizeof rate), cost->speed[2]);
    if (cost->point_count)
        printf("that is the line nearest to a table of %d sizes, which is what counts; they differ by up to "
               "%.0f %%\n",
               cost->point_count, 100 * r->cost.worst_error);
    printf("\n%-18s %7s %7s %12s %12s %8s %9s %7s\n", "policy", "streams", "groups", "iteration", "exposed",
           "hidden", "to bound", "x best");
    for (int i = 0; i < r->count; i++) {
        const banyan_grouping *g = r->groupings[i];
        double sent_s = 0;

        for (int k = 0; k < g->group_count; k++)
            sent_s += banyan_cost_seconds(cost, (double)g->groups[k].bytes);
        printf("%-18s %7d %7d %12s %12s %6.1f %% %7.2f %% %7.3f\n", r->names[i], g->streams, g->group_count,
               banyan_show_seconds(g->iteration_s, forward, sizeof forward),
               banyan_show_seconds(g->exposed_comm_s, backward, sizeof backward),
               g->exposed_comm_s < sent_s ? 100 * (1 - g->exposed_comm_s / sent_s) : 0, 100 * gap(g),
               g->iteration_s / best_of(r));
    }
    printf(
        "\nexposed: what neither forward nor backward hides; to bound: above what no grouping with as many "
        "streams beats\n");
    if (r->live_count)
        print_lives(r);
}

static void add_live(banyan_text *text, const char *name, const cli_live *live)
{
    banyan_text_add(text, "{\"policy\":");
    banyan_text_add_json_string(text, name);
    banyan_text_add(text, ",\"streams\":%d,\"groups\":%d,", live->streams, live->groups);
    cli_add_figures(text, (cli_figure[]){{"predicted_iteration_s", live->predicted_s},
                                         {"measured_iteration_s", live->measured_s},
                                         {"predicted_exposed_s", live->predicted_exposed_s},
                                         {"measured_exposed_s", live->measured_exposed_s},
                                         {"hidden", live->hidden},
                                         {NULL, 0}});
    banyan_text_add(text, "}");
}

static void add_result(banyan_text *text, const char *name, const banyan_grouping *g)
{
    char digest[17];

    banyan_grouping_digest(g, digest);
    banyan_text_add(text, "{\"policy\":");
    banyan_text_add_json_string(text, name);
    banyan_text_add(text, ",\"streams\":%d,\"groups\":%d,\"parts\":%d,", g->streams, g->group_count,
                    g->part_count);
    cli_add_iteration(text, g->iteration_s, g->forward_s, g->backward_s, g->exposed_comm_s);
    banyan_text_add(text, ",");
    cli_add_figures(
        text,
        (cli_figure[]){{"bound_s", g->bound_s}, {"gap", gap(g)}, {"planning_s", g->planning_s}, {NULL, 0}});
    banyan_text_add(text, ",\"digest\":\"%s\"}", digest);
}

banyan_status cli_trainings_print_json(const cli_trainings *r, banyan_error *err)
{
    const banyan_cost *cost = &r->cost.cost;
    banyan_text text = BANYAN_TEXT_EMPTY;
    double bound_s = r->groupings[0]->bound_s;

    for (int i = 1; i < r->count; i++)
        if (r->groupings[i]->bound_s < bound_s)
            bound_s = r->groupings[i]->bound_s;
    banyan_text_add(&text, "{\"model\":");
    banyan_text_add_json_string(&text, r->model->name);
    banyan_text_add(&text, ",\"tensors\":%d,", r->model->tensor_count);
    cli_json_number(&text, "bytes", total_bytes(r->model));
    banyan_text_add(&text, ",\"cost\":{\"source\":");
    banyan_text_add_json_string(&text, r->cost.source);
    banyan_text_add(&text, ",");
    cli_add_figures(&text, (cli_figure[]){{"start_s", cost->start_s},
                                          {"s_per_byte", cost->s_per_byte},
                                          {"fit_error", r->cost.worst_error},
                                          {NULL, 0}});
    banyan_text_add(&text, ",\"speed\":[");
    for (int c = 1; c <= BANYAN_MAX_STREAMS; c++) {
        banyan_text_add(&text, "%s", c > 1 ? "," : "");
        banyan_text_add_number(&text, cost->speed[c]);
    }
    banyan_text_add(&text, "],\"points\":[");
    for (int i = 0; i < cost->point_count; i++) {
        banyan_text_add(&text, "%s[%.0f,", i ? "," : "", cost->points[i].bytes);
        banyan_text_add_number(&text, cost->start_s + cost->points[i].work_s);
        banyan_text_add(&text, "]");
    }
    banyan_text_add(&text, "]},");
    cli_json_number(&text, "bound_s", bound_s);
    banyan_text_add(&text, ",\"results\":[");
    for (int i = 0; i < r->count; i++) {
        banyan_text_add(&text, "%s\n", i ? "," : "");
        add_result(&text, r->names[i], r->groupings[i]);
    }
    banyan_text_add(&text, "]");
    for (int i = 0; i < r->live_count; i++) {
        banyan_text_add(&text, "%s\n", i ? "," : ",\"live\":[");
        add_live(&text, r->names[i], &r->lives[i]);
    }
    banyan_text_add(&text, "%s}", r->live_count ? "]" : "");
    return cli_print(&text, err);
}
