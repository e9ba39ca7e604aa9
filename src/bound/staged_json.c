/* SPDX-License-Identifier: Apache-2.0 */
/* bound/staged_json.c: a sum of chi is a claim; prices of the links in each stage prove it. Whatever trees
 * carry a byte to a root in the first stage and out again, they pay at least some sum, and all links together
 * can be paid only that much. */
#include "bound/staged_json.h"

#include <inttypes.h>
#include <math.h>

#include "bound/read.h"
#include "bound/stated.h"
#include "core/alloc.h"
#include "core/gcd.h"
#include "core/text.h"

#define NAMED_LINKS 4 /* before the rest is only counted */

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
    char *words;
    banyan_status status = banyan_staged_explain(question, graph, staged, &words, err);

    if (status)
        return status;
    banyan_bound_write_question(&text, question->topology, question->relays, question->active,
                                question->active_count);
    banyan_text_add(
        &text,
        ", \"stages\": \"%s\", \"sum_of_chi_bytes_per_s\": %.17g, \"bytes_per_s\": %.17g, \"bytes\": %.17g, "
        "\"seconds\": %.17g, \"proven\": %s, \"prices_of_stages\":",
        banyan_stages_name(question->stages), chi, rate, question->bytes, question->bytes / rate,
        staged->proven ? "true" : "false");
    write_certificate(&text, question, graph, staged);
    banyan_text_add(&text, ", \"certificate\":");
    banyan_text_add_json_string(&text, words);
    banyan_text_add(&text, "}\n");
    banyan_free(words);
    return banyan_text_take(&text, out, err);
}

/* 'links g0->g1 and g2->g3', in the order of the arcs. 0: none has a price. */
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
            banyan_text_add(text, "%s%s", banyan_text_separator(named, count),
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

/* What the file claims. */
typedef struct {
    banyan_stages stages;
    banyan_bound_question who;
    double bytes;
    int64_t *price; /* by link, then by link of the second stage */
} claim;

static banyan_status read_claim(const banyan_json *root, const banyan_topology *topology, claim *out,
                                banyan_error *err)
{
    const banyan_json *prices = banyan_json_field(root, "prices_of_stages");
    const char *stages = "";
    banyan_status status = banyan_bound_read_question(root, topology, &out->who, err);

    if (!status && out->who.active_count < 2)
        status = banyan_fail(err, BANYAN_PLAN_INVALID, "one active worker: there is nothing to bound");
    banyan_json_get_string(banyan_json_field(root, "stages"), &stages);
    if (!status)
        status = banyan_stages_parse(stages, &out->stages, err);
    if (!status && (!banyan_json_get_number(banyan_json_field(root, "bytes"), &out->bytes) || out->bytes < 0))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"bytes\" should be a number from 0 on");
    out->price = banyan_alloc(2 * (size_t)topology->link_count, sizeof *out->price);
    if (!status && !out->price)
        status = banyan_fail_memory(err);
    if (!status && (!prices || banyan_json_kind(prices) != BANYAN_JSON_OBJECT))
        status = banyan_fail(err, BANYAN_PLAN_INVALID,
                             "the bound has no \"prices_of_stages\", so nothing proves it");
    if (!status)
        status = banyan_bound_read_prices(banyan_json_field(prices, "prices"), topology, "prices", out->price,
                                          err);
    if (!status && out->stages != BANYAN_STAGES_PIPELINED)
        status = banyan_bound_read_prices(banyan_json_field(prices, "second_stage_prices"), topology,
                                          "second_stage_prices", out->price + topology->link_count, err);
    return status;
}

/* The claimed prices by arc, and what they prove. */
static banyan_status derive(const claim *c, const banyan_topology *topology, const banyan_graph *graph,
                            banyan_staged *out, banyan_error *err)
{
    int rows = graph->arc_count * (c->stages == BANYAN_STAGES_PIPELINED ? 1 : 2);
    int64_t common = 0;
    banyan_status status;

    out->price = banyan_alloc((size_t)rows, sizeof *out->price);
    if (!out->price)
        return banyan_fail_memory(err);
    for (int r = 0; r < rows; r++) {
        out->price[r] = c->price[graph->arcs[r % graph->arc_count].link +
                                 (r < graph->arc_count ? 0 : topology->link_count)];
        common = banyan_gcd(common, out->price[r]);
    }
    for (int r = 0; common && r < rows; r++)
        out->price[r] /= common;
    status = banyan_staged_prove(graph, c->stages, out->price, &out->chi, &out->proven, err);
    if (!status && !out->proven)
        status = banyan_fail(err, BANYAN_PLAN_INVALID,
                             "the cheapest trees cannot be searched fully here: nothing is proven");
    if (!status && !isfinite(out->chi))
        status = banyan_fail(err, BANYAN_PLAN_INVALID, "the prices prove nothing: some tree costs nothing");
    return status;
}

static banyan_status judge(const banyan_json *root, const claim *c, const banyan_topology *topology,
                           banyan_error *err)
{
    banyan_staged_question question = {topology,      c->who.active, c->who.active_count,
                                       c->who.relays, c->stages,     c->bytes};
    banyan_staged proven = {0};
    banyan_graph *graph = NULL;
    char *text = NULL;
    banyan_status status =
        banyan_network_graph(topology, c->who.active, c->who.active_count, c->who.relays, &graph, err);

    if (!status)
        status = derive(c, topology, graph, &proven, err);
    if (!status)
        status = banyan_staged_format(&question, graph, &proven, &text, err);
    if (!status)
        status = banyan_stated_compare(root, text, err);
    banyan_free(text);
    banyan_staged_fini(&proven);
    banyan_graph_destroy(graph);
    return status;
}

banyan_status banyan_staged_check(const banyan_json *root, const banyan_topology *topology, banyan_error *err)
{
    claim c = {0};
    banyan_status status = read_claim(root, topology, &c, err);

    if (!status)
        status = judge(root, &c, topology, err);
    banyan_free(c.who.active);
    banyan_free(c.price);
    return status;
}
