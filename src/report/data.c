/* SPDX-License-Identifier: Apache-2.0 */
/* report/data.c: the page's data as JSON. Times of moves are whole ticks, a millionth of the longest timeline
 * each, because they are most of the file. */
#include <math.h>

#include "core/alloc.h"
#include "core/text.h"
#include "report/moves.h"
#include "report/report.h"
#include "report/use.h"
#include "topology/layout.h"

enum { MAX_NODES = 4096, MAX_LINKS = 20000 };

static const double ticks_per_total = 1e6;

/* Six digits are more than an eye can tell apart. */
static void add_number(banyan_text *text, double value)
{
    if (isfinite(value))
        banyan_text_add(text, "%.6g", value);
    else
        banyan_text_add(text, "null");
}

static void add_field(banyan_text *text, const char *key, double value)
{
    banyan_text_add(text, ",\"%s\":", key);
    add_number(text, value);
}

/* All its digits: the other verbs have them, too. */
static void add_share(banyan_text *text, double share)
{
    if (isfinite(share))
        banyan_text_add(text, ",\"share_of_bound\":%.15g", share);
    else
        add_field(text, "share_of_bound", share);
}

static void add_string(banyan_text *text, const char *key, const char *value)
{
    banyan_text_add(text, "\"%s\":", key);
    banyan_text_add_json_string(text, value);
}

static void add_node(banyan_text *text, const banyan_layout *layout, int b, int i)
{
    const banyan_layout_box *box = &layout->boxes[b];
    const banyan_topology *topology = layout->cables->topology;
    int id = layout->members[box->first + i];
    const banyan_node *node = &topology->nodes[id];
    double inset = box->count > 1 ? 2 : 0, x, y;

    banyan_layout_place_member(layout, box, i, &x, &y);
    banyan_text_add(text, "\n{\"id\":%d,", id);
    add_string(text, "name", banyan_topology_node_name(topology, id));
    banyan_text_add(text,
                    ",\"kind\":\"%s\",\"host\":%d,\"group\":%d,\"box\":%d,\"row\":%d,\"x\":%.1f,\"y\":%.1f,"
                    "\"w\":%.1f,\"h\":%.1f}",
                    node->kind == BANYAN_NODE_SWITCH ? "switch" : "worker", node->host,
                    layout->cables->group_of[id], b, box->row, x, y, layout->cell_width - inset,
                    layout->cell_height - inset);
}

static void add_nodes(banyan_text *text, const banyan_layout *layout)
{
    static const char *const kinds[] = {"grid", "layers", "circle"};
    int is_first = 1;

    banyan_text_add(text, ",\n\"layout\":{\"kind\":\"%s\",\"width\":%.1f,\"height\":%.1f,\"font\":%.1f,",
                    kinds[layout->kind], layout->width, layout->height, layout->font);
    banyan_text_add(text, "\"gap\":%.1f,\"slices\":%d},\n\"nodes\":[", layout->gap,
                    layout->slice_count > 0 ? layout->slice_count : 1);
    for (int b = 0; b < layout->box_count; b++)
        for (int i = 0; i < layout->boxes[b].count; i++, is_first = 0) {
            banyan_text_add(text, is_first ? "" : ",");
            add_node(text, layout, b, i);
        }
    banyan_text_add(text, "]");
}

static void add_link(banyan_text *text, int is_first, int src, int dst, double first, double second)
{
    banyan_text_add(text, "%s[%d,%d,", is_first ? "" : ",", src, dst);
    add_number(text, first);
    banyan_text_add(text, ",");
    add_number(text, second);
    banyan_text_add(text, "]");
}

static void add_links(banyan_text *text, const banyan_topology *topology)
{
    banyan_text_add(text, ",\n\"hosts\":[");
    for (int i = 0; i < topology->host_count; i++) {
        banyan_text_add(text, i ? "," : "");
        banyan_text_add_json_string(text, banyan_topology_host_name(topology, i));
    }
    banyan_text_add(text, "],\n\"links\":[");
    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];

        add_link(text, i == 0, link->src, link->dst, link->bytes_per_s, link->latency_s);
    }
    banyan_text_add(text, "]");
}

/* What down= and degrade= took: from, to, bytes per second before, and the share that is left. */
static void add_damaged(banyan_text *text, const banyan_topology *topology)
{
    banyan_text_add(text, ",\n\"damaged\":[");
    for (int i = 0; i < topology->damaged_count; i++) {
        const banyan_damaged_link *link = &topology->damaged[i];

        add_link(text, i == 0, link->src, link->dst, link->whole_bytes_per_s, link->left);
    }
    banyan_text_add(text, "]");
}

static banyan_status add_network(banyan_text *text, const banyan_topology *topology, banyan_error *err)
{
    banyan_text title = BANYAN_TEXT_EMPTY;
    banyan_cables cables;
    banyan_layout layout;
    banyan_status status = banyan_cables_find(topology, &cables, err);

    if (status)
        return status;
    status = banyan_layout_find(&cables, &layout, err);
    if (!status) {
        banyan_cables_add_title(&title, topology);
        banyan_text_add(text, "\"network\":{");
        add_string(text, "name", topology->name);
        banyan_text_add(text, ",");
        add_string(text, "title", title.bytes && !title.failed ? title.bytes : "");
        text->failed |= title.failed;
        add_nodes(text, &layout);
        add_links(text, topology);
        add_damaged(text, topology);
        banyan_text_add(text, "}");
        banyan_text_fini(&title);
        banyan_layout_fini(&layout);
    }
    banyan_cables_fini(&cables);
    return status;
}

static void add_curve(banyan_text *text, const banyan_report *report, const banyan_report_result *result)
{
    if (!result->curve_s)
        return;
    banyan_text_add(text, ",\"curve_model\":[");
    for (int i = 0; i < report->size_count; i++)
        banyan_text_add(text, "%s\"%s\"", i ? "," : "", result->is_walked[i] ? "walk" : "fluid");
    banyan_text_add(text, "],\"curve_s\":[");
    for (int i = 0; i < report->size_count; i++) {
        banyan_text_add(text, i ? "," : "");
        add_number(text, result->curve_s[i]);
    }
    banyan_text_add(text, "]");
}

static void add_result(banyan_text *text, const banyan_report *report, const banyan_report_result *result)
{
    banyan_text_add(text, "{");
    add_string(text, "algorithm", result->algorithm);
    banyan_text_add(text, ",");
    add_string(text, "summary", result->summary);
    if (result->why_not) {
        banyan_text_add(text, ",\"applies\":false,");
        add_string(text, "why_not", result->why_not);
    } else {
        banyan_text_add(
            text,
            ",\"applies\":true,\"rounds\":%d,\"trees\":%d,\"depth\":%d,\"transfers\":%zu,\"model\":\"%s\"",
            result->rounds, result->flows, result->depth, result->transfers, result->model);
        add_field(text, "predicted_s", result->predicted_s);
        add_field(text, "bytes_per_s", result->bytes_per_s);
        add_share(text, result->bytes_per_s / report->bound.bytes_per_s);
        add_field(text, "volume_per_worker", result->volume);
        add_curve(text, report, result);
    }
    banyan_text_add(text, "}");
}

static void add_results(banyan_text *text, const banyan_report *report)
{
    banyan_text_add(text, ",\n\"chosen\":%d,\n\"sizes\":[", report->chosen);
    for (int i = 0; i < report->size_count; i++)
        banyan_text_add(text, "%s%zu", i ? "," : "", report->sizes[i]);
    banyan_text_add(text, "],\n\"results\":[");
    for (int i = 0; i < report->result_count; i++) {
        banyan_text_add(text, i ? ",\n" : "\n");
        add_result(text, report, &report->results[i]);
    }
    banyan_text_add(text, "]");
}

static void add_bound(banyan_text *text, const banyan_report *report)
{
    const banyan_report_bound *bound = &report->bound;

    if (isnan(bound->bytes_per_s) || !bound->part || !bound->price) {
        banyan_text_add(text, ",\n\"bound\":null");
        return;
    }
    banyan_text_add(text, ",\n\"bound\":{");
    add_string(text, "kind", bound->kind);
    banyan_text_add(text, ",");
    add_string(text, "words", bound->words);
    add_field(text, "bytes_per_s", bound->bytes_per_s);
    banyan_text_add(text, ",\"parts\":%d,\"part\":[", bound->part_count);
    for (int i = 0; i < report->topology->node_count; i++)
        banyan_text_add(text, "%s%d", i ? "," : "", bound->part[i]);
    banyan_text_add(text, "],\"price\":[");
    for (int i = 0; i < report->topology->link_count; i++)
        banyan_text_add(text, "%s%lld", i ? "," : "", (long long)bound->price[i]);
    banyan_text_add(text, "]}");
}

static void add_made(banyan_text *text, const banyan_report *report)
{
    char date[32];
    struct tm parts;

    gmtime_r(&report->made_at, &parts);
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts);
    banyan_text_add(text, "\"made\":{");
    if (report->command) {
        add_string(text, "command", report->command);
        banyan_text_add(text, ",");
    }
    banyan_text_add(text, "\"version\":\"%d.%d.%d\",\"date\":\"%s\"},\n", BANYAN_VERSION_MAJOR,
                    BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH, date);
}

static void add_active(banyan_text *text, const banyan_schedule *schedule)
{
    banyan_text_add(text, ",\n\"active\":[");
    for (int i = 0; i < schedule->active_count; i++)
        banyan_text_add(text, "%s%d", i ? "," : "", schedule->active[i]);
    banyan_text_add(text, "]");
}

/* Loads as pairs link, vectors: most links are idle in most steps. */
static void add_steps(banyan_text *text, const banyan_report *report, const banyan_report_moves *m)
{
    int links = report->topology->link_count, rounds = report->schedule->round_count;

    banyan_text_add(text, ",\n\"steps\":[");
    for (int step = 0; step < m->step_count; step++) {
        int last = (step + 1) * m->rounds_per_step, is_first = 1;

        banyan_text_add(text, "%s{\"first\":%d,\"last\":%d", step ? ",\n" : "\n", step * m->rounds_per_step,
                        (last < rounds ? last : rounds) - 1);
        add_field(text, "begin_s", m->begin_s[step]);
        add_field(text, "end_s", m->end_s[step]);
        banyan_text_add(text, ",\"load\":[");
        for (int link = 0; link < links; link++) {
            double load = m->load[(size_t)step * (size_t)links + (size_t)link];

            if (load > 0) {
                banyan_text_add(text, "%s%d,%.6g", is_first ? "" : ",", link, load);
                is_first = 0;
            }
        }
        banyan_text_add(text, "]}");
    }
    banyan_text_add(text, "]");
}

static void add_ticks(banyan_text *text, double begin_s, double end_s, double tick_s)
{
    if (isfinite(begin_s) && isfinite(end_s))
        banyan_text_add(text, ",%.0f,%.0f", begin_s / tick_s, end_s / tick_s);
    else
        banyan_text_add(text, ",null,null");
}

/* Paths are numbered anew: only those that moves take. */
static void add_paths(banyan_text *text, const banyan_report *report, const banyan_report_moves *m,
                      int *number)
{
    int used = 0;

    banyan_text_add(text, ",\n\"paths\":[");
    for (size_t i = 0; i < m->count; i++) {
        int path = report->path_of[m->transfers[i]], first = report->path_first[path];

        if (number[path])
            continue;
        banyan_text_add(text, used ? ",[" : "[");
        for (int j = first; j < report->path_first[path + 1]; j++)
            banyan_text_add(text, "%s%d", j > first ? "," : "", report->path_link[j]);
        banyan_text_add(text, "]");
        number[path] = ++used;
    }
    banyan_text_add(text, "]");
}

static void add_move(banyan_text *text, const banyan_report *report, size_t i, int path, double tick_s)
{
    const banyan_transfer *t = &report->schedule->transfers[i];
    const banyan_timeline *measured = report->measured;

    banyan_text_add(text, "[%d,%d,%d,%d,%d,%d,%d,%d,%.4g", t->round, t->src, t->dst,
                    t->action == BANYAN_ACTION_COPY, path, t->first_piece, t->piece_count, t->flow,
                    banyan_schedule_share(report->schedule, t->first_piece, t->piece_count));
    add_ticks(text, report->predicted->begin_s[i], report->predicted->end_s[i], tick_s);
    if (measured)
        add_ticks(text, measured->begin_s[i], measured->end_s[i], tick_s);
    banyan_text_add(text, "]");
}

static banyan_status add_moves(banyan_text *text, const banyan_report *report, const banyan_report_moves *m,
                               double tick_s, banyan_error *err)
{
    const banyan_schedule *schedule = report->schedule;
    size_t path_count = 0;
    int *number;

    for (size_t i = 0; i < m->count; i++)
        if ((size_t)report->path_of[m->transfers[i]] >= path_count)
            path_count = (size_t)report->path_of[m->transfers[i]] + 1;
    number = banyan_alloc(path_count, sizeof *number);
    if (!number)
        return banyan_fail_memory(err);
    add_paths(text, report, m, number);
    banyan_text_add(text, ",\n\"trees\":[");
    for (int i = 0; i < m->piece_count; i++)
        banyan_text_add(text, "%s[%d,%.4g]", i ? "," : "", m->pieces[i],
                        banyan_schedule_share(schedule, m->pieces[i], 1));
    banyan_text_add(text, "],\n\"moves\":[");
    for (size_t i = 0; i < m->count; i++) {
        banyan_text_add(text, i ? "," : "");
        add_move(text, report, m->transfers[i], number[report->path_of[m->transfers[i]]] - 1, tick_s);
    }
    banyan_text_add(text, "]");
    banyan_free(number);
    return BANYAN_SUCCESS;
}

static banyan_status add_plan(banyan_text *text, const banyan_report *report, banyan_error *err)
{
    const banyan_timeline *measured = report->measured;
    double total_s = fmax(report->predicted->total_s, measured ? measured->total_s : 0);
    double tick_s = total_s > 0 ? total_s / ticks_per_total : 1;
    banyan_report_moves m;
    banyan_status status = banyan_report_moves_find(report, &m, err);

    if (status)
        return status;
    banyan_text_add(text,
                    ",\n\"plan\":{\"transfers\":%zu,\"shown_transfers\":%zu,\"rounds\":%d,\"pieces\":%d,"
                    "\"flows\":%d,\"rounds_per_step\":%d",
                    report->schedule->transfer_count, m.count, report->schedule->round_count,
                    report->schedule->piece_count, report->schedule->flow_count, m.rounds_per_step);
    add_field(text, "total_s", report->predicted->total_s);
    add_field(text, "measured_s", measured ? measured->total_s : NAN);
    banyan_text_add(text, ",\"tick_s\":"); /* is multiplied by up to a million, so all its digits count */
    banyan_text_add_number(text, tick_s);
    add_steps(text, report, &m);
    status = add_moves(text, report, &m, tick_s, err);
    banyan_report_moves_fini(&m);
    if (!status) {
        banyan_text_add(text, ",\n\"use\":");
        status = banyan_report_add_use(text, report, report->predicted, total_s, err);
    }
    if (!status && measured) {
        banyan_text_add(text, ",\n\"measured_use\":");
        status = banyan_report_add_use(text, report, measured, total_s, err);
    }
    banyan_text_add(text, "}");
    return status;
}

banyan_status banyan_report_check(const banyan_topology *topology, banyan_error *err)
{
    if (topology->node_count <= MAX_NODES && topology->link_count <= MAX_LINKS)
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_UNSUPPORTED,
                       "%.200s has %d nodes and %d links; a report holds at most %d and %d", topology->name,
                       topology->node_count, topology->link_count, MAX_NODES, MAX_LINKS);
}

banyan_status banyan_report_format(const banyan_report *report, char **out, banyan_error *err)
{
    const banyan_topology *topology = report->topology;
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status = banyan_report_check(topology, err);

    *out = NULL;
    if (status)
        return status;
    banyan_text_add(&text,
                    "{\"format\":\"banyan-report\",\"version\":1,\"collective\":\"%s\",\"bytes\":%zu,\n",
                    banyan_collective_name(report->schedule->collective), report->bytes);
    add_made(&text, report);
    status = add_network(&text, topology, err);
    if (!status) {
        add_active(&text, report->schedule);
        banyan_text_add(&text, ",\n");
        add_string(&text, "why", report->why ? report->why : "");
        add_bound(&text, report);
        add_results(&text, report);
        status = add_plan(&text, report, err);
    }
    banyan_text_add(&text, "}\n");
    if (!status)
        status = banyan_text_take(&text, out, err);
    banyan_text_fini(&text);
    return status;
}
