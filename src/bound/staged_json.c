/* SPDX-License-Identifier: Apache-2.0 */
/* bound/staged_json.c: a sum of chi is a claim; prices of the links in each stage prove it. Whatever trees carry a byte to a
 * root in the first stage and out again, they pay at least some sum, and all links together can be paid only so much. */
#include "bound/staged_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "core/text.h"

#define NAMED_LINKS 4 /* before the rest is only counted */

static const char *const relay_names[] = {"add", "forward", "none"};
static const char *const stage_names[] = {"pipelined", "sequential", "overlap"};

static void write_prices(banyan_text *text, const char *name, const banyan_graph *graph, const int64_t *price)
{
    int written = 0;

    banyan_text_add(text, "\"%s\":[", name);
    for (int i = 0; i < graph->arc_count; i++)
        if (price[i])
            banyan_text_add(text, "%s[%d,%" PRId64 "]", written++ ? "," : "", graph->arcs[i].link, price[i]);
    banyan_text_add(text, "]");
}

static void write_certificate(banyan_text *text, const banyan_staged_question *question,
                              const banyan_graph *graph, const banyan_staged *staged)
{
    if (!staged->price) {
        banyan_text_add(text, "null");
        return;
    }
    banyan_text_add(text, "{");
    write_prices(text, "prices", graph, staged->price);
    if (question->stages != BANYAN_STAGES_PIPELINED) {
        banyan_text_add(text, ",");
        write_prices(text, "second_stage_prices", graph, staged->price + graph->arc_count);
    }
    banyan_text_add(text, "}");
}

banyan_status banyan_staged_format(const banyan_staged_question *question, const banyan_graph *graph,
                                   const banyan_staged *staged, char **out, banyan_error *err)
{
    double chi = banyan_staged_sum(graph, question->stages, staged),
           rate = question->stages == BANYAN_STAGES_PIPELINED ? chi : chi / 2;
    banyan_text text = BANYAN_TEXT_EMPTY;
    char digest[17], *words;
    banyan_status status = banyan_staged_explain(question, graph, staged, &words, err);

    if (status)
        return status;
    banyan_topology_digest(question->topology, digest);
    banyan_text_add(&text, "{\"format\":\"banyan-bound\",\"version\":1,\"topology\":");
    banyan_text_add_json_string(&text, question->topology->name);
    banyan_text_add(&text, ",\"topology_digest\":\"%s\",\"relays\":\"%s\",\"active\":[", digest,
                    relay_names[question->relays]);
    for (int i = 0; i < question->active_count; i++)
        banyan_text_add(&text, "%s%d", i ? "," : "", question->active[i]);
    banyan_text_add(
        &text,
        "], \"stages\": \"%s\", \"sum_of_chi_bytes_per_s\": %.17g, \"reached_bytes_per_s\": %.17g, "
        "\"bytes_per_s\": %.17g, \"seconds\": %.17g, \"proven\": %s, \"prices_of_stages\":",
        stage_names[question->stages], chi, staged->reached * graph->unit, rate, question->bytes / rate,
        staged->proven ? "true" : "false");
    write_certificate(&text, question, graph, staged);
    banyan_text_add(&text, ", \"certificate\":");
    banyan_text_add_json_string(&text, words);
    banyan_text_add(&text, "}\n");
    banyan_free(words);
    return banyan_text_take(&text, out, err);
}

/* «links g0->g1 and g2->g3», in the order of the arcs. 0: none has a price. */
static int list_links(banyan_text *text, const banyan_topology *topology, const banyan_graph *graph,
                      const int64_t *price)
{
    int count = 0, named = 0;
    char name[128];

    for (int i = 0; i < graph->arc_count; i++)
        count += price[i] > 0;
    banyan_text_add(text, count == 1 ? "link " : count ? "links " : "");
    for (int i = 0; i < graph->arc_count && named < NAMED_LINKS; i++)
        if (price[i]) {
            banyan_text_add(text, "%s%s",
                            named == 0           ? ""
                            : named + 1 == count ? " and "
                                                 : ", ",
                            banyan_topology_link_name(topology, graph->arcs[i].link, name, sizeof name));
            if (price[i] > 1)
                banyan_text_add(text, " (counted %" PRId64 " times)", price[i]);
            named++;
        }
    if (count > named)
        banyan_text_add(text, " and %d more", count - named);
    return count;
}

banyan_status banyan_staged_explain(const banyan_staged_question *question, const banyan_graph *graph,
                                    const banyan_staged *staged, char **out, banyan_error *err)
{
    int is_single = question->stages == BANYAN_STAGES_PIPELINED;
    banyan_text text = BANYAN_TEXT_EMPTY;
    double worth = 0;

    *out = NULL;
    if (!staged->price) {
        banyan_text_add(&text, "no certificate: the cheapest trees could not be searched fully");
        return banyan_text_take(&text, out, err);
    }
    for (int r = 0; r < graph->arc_count * (is_single ? 1 : 2); r++)
        worth += (double)graph->arcs[r % graph->arc_count].capacity * (double)staged->price[r];
    for (int stage = 0; stage < (is_single ? 1 : 2); stage++) {
        size_t begin = text.length;

        banyan_text_add(&text, "%s%s", text.length ? "; " : "",
                        is_single ? ""
                        : stage   ? "second stage, "
                                  : "first stage, ");
        if (!list_links(&text, question->topology, graph, staged->price + stage * graph->arc_count) &&
            !text.failed)
            text.bytes[text.length = begin] = 0;
    }
    banyan_text_add(&text,
                    ": whatever trees take it to a root and out again, a byte must cross them %.6g times",
                    worth / staged->chi);
    return banyan_text_take(&text, out, err);
}

static banyan_status read_prices(const banyan_json *array, const banyan_topology *topology, const char *name,
                                 int64_t *by_link, banyan_error *err)
{
    if (!array || banyan_json_kind(array) != BANYAN_JSON_ARRAY)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%s\" should be an array of [link, price]", name);
    for (size_t i = 0; i < banyan_json_count(array); i++) {
        const banyan_json *item = banyan_json_item(array, i);
        int64_t link, price;

        if (banyan_json_kind(item) != BANYAN_JSON_ARRAY || banyan_json_count(item) != 2 ||
            !banyan_json_get_integer(banyan_json_item(item, 0), &link) || link < 0 ||
            link >= topology->link_count || !banyan_json_get_integer(banyan_json_item(item, 1), &price) ||
            price < 0 || price > INT64_MAX >> 16)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%s\" item %zu is not [link, price]", name, i);
        by_link[link] = price;
    }
    return BANYAN_SUCCESS;
}

/* What the file claims. */
typedef struct {
    banyan_stages stages;
    banyan_relays relays;
    double chi;
    int *active, active_count;
    int64_t *price; /* by link, then by link of the second stage */
} claim;

static banyan_status read_active(const banyan_json *root, const banyan_topology *topology, claim *out,
                                 banyan_error *err)
{
    const banyan_json *array = banyan_json_field(root, "active");
    size_t items = array && banyan_json_kind(array) == BANYAN_JSON_ARRAY ? banyan_json_count(array) : 0;

    if (!items || items > (size_t)topology->worker_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"active\" should name the active workers of %.60s",
                           topology->name);
    out->active = banyan_alloc(items, sizeof *out->active);
    if (!out->active)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < items; i++) {
        int64_t node;

        if (!banyan_json_get_integer(banyan_json_item(array, i), &node) || node < 0 ||
            node >= topology->node_count || topology->nodes[node].kind != BANYAN_NODE_WORKER ||
            (i && node <= out->active[i - 1]))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "\"active\" item %zu is not the next worker of %.60s", i, topology->name);
        out->active[i] = (int)node;
    }
    out->active_count = (int)items;
    return BANYAN_SUCCESS;
}

static banyan_status read_claim(const banyan_json *root, const banyan_topology *topology, claim *out,
                                banyan_error *err)
{
    const banyan_json *prices = banyan_json_field(root, "prices_of_stages");
    const char *stages = "", *relays = "add";
    banyan_status status;

    banyan_json_get_string(banyan_json_field(root, "stages"), &stages);
    banyan_json_get_string(banyan_json_field(root, "relays"), &relays);
    status = banyan_stages_parse(stages, &out->stages, err);
    if (!status)
        status = banyan_relays_parse(relays, &out->relays, err);
    if (!status && (!banyan_json_get_number(banyan_json_field(root, "sum_of_chi_bytes_per_s"), &out->chi) ||
                    out->chi <= 0))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                             "\"sum_of_chi_bytes_per_s\" should be a positive number");
    if (!status)
        status = read_active(root, topology, out, err);
    out->price = banyan_alloc(2 * (size_t)topology->link_count, sizeof *out->price);
    if (!status && !out->price)
        status = banyan_fail_memory(err);
    if (!status && (!prices || banyan_json_kind(prices) != BANYAN_JSON_OBJECT))
        status = banyan_fail(err, BANYAN_PLAN_INVALID,
                             "the bound has no \"prices_of_stages\", so nothing proves it");
    if (!status)
        status = read_prices(banyan_json_field(prices, "prices"), topology, "prices", out->price, err);
    if (!status && out->stages != BANYAN_STAGES_PIPELINED)
        status = read_prices(banyan_json_field(prices, "second_stage_prices"), topology,
                             "second_stage_prices", out->price + topology->link_count, err);
    return status;
}

static banyan_status judge(const claim *c, const banyan_topology *topology, banyan_error *err)
{
    banyan_graph *graph = NULL;
    int64_t *price = NULL;
    double value = 0;
    int proven = 0;
    banyan_status status = banyan_network_graph(topology, c->active, c->active_count, c->relays, &graph, err);

    if (!status) {
        price = banyan_alloc(2 * (size_t)graph->arc_count, sizeof *price);
        status = price ? BANYAN_SUCCESS : banyan_fail_memory(err);
    }
    for (int r = 0; !status && r < 2 * graph->arc_count; r++)
        price[r] = c->price[graph->arcs[r % graph->arc_count].link +
                            (r < graph->arc_count ? 0 : topology->link_count)];
    if (!status)
        status = banyan_staged_prove(graph, c->stages, price, &value, &proven, err);
    if (!status)
        value *=
            graph->unit * banyan_graph_rounding(graph, price, c->stages == BANYAN_STAGES_PIPELINED ? 1 : 2);
    if (!status && !proven)
        status = banyan_fail(err, BANYAN_PLAN_INVALID,
                             "the cheapest trees cannot be searched fully here: nothing is proven");
    if (!status && value > c->chi * (1 + 1e-9))
        status = banyan_fail(
            err, BANYAN_PLAN_INVALID,
            "the prices prove that the sum of chi cannot pass %.6g bytes/s, but the bound claims %.6g", value,
            c->chi);
    banyan_free(price);
    banyan_graph_destroy(graph);
    return status;
}

banyan_status banyan_staged_check(const char *text, size_t length, const banyan_topology *topology,
                                  int *is_staged, banyan_error *err)
{
    claim c = {0};
    banyan_json *root;
    banyan_status status = banyan_json_parse(text, length, &root, err);

    *is_staged = 0;
    if (status)
        return status;
    *is_staged = banyan_json_kind(root) == BANYAN_JSON_OBJECT && banyan_json_field(root, "stages") != NULL;
    if (*is_staged)
        status = read_claim(root, topology, &c, err);
    if (*is_staged && !status)
        status = judge(&c, topology, err);
    banyan_free(c.active);
    banyan_free(c.price);
    banyan_json_destroy(root);
    return status;
}
