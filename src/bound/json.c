/* SPDX-License-Identifier: Apache-2.0 */
/* bound/json.c: the text form of a bound. Rates are claims; a reader trusts only what the certificates prove
 * (banyan_bound_check_certificate). */
#include "bound/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "core/text.h"

static const char *const relay_names[] = {"add", "forward", "none"};
static const char *const kind_names[] = {"none", "cut", "partition", "prices"};

static void write_certificate(banyan_text *text, const banyan_certificate *certificate)
{
    int written = 0;

    banyan_text_add(text, "{\"kind\":\"%s\",\"parts\":[", kind_names[certificate->kind]);
    for (int i = 0; certificate->part && i < certificate->node_count; i++)
        banyan_text_add(text, "%s%d", i ? "," : "", certificate->part[i]);
    banyan_text_add(text, "],\"prices\":[");
    for (int i = 0; certificate->price && i < certificate->link_count; i++)
        if (certificate->price[i])
            banyan_text_add(text, "%s[%d,%" PRId64 "]", written++ ? "," : "", i, certificate->price[i]);
    banyan_text_add(text, "]}");
}

static void write_rate(banyan_text *text, const char *name, const banyan_rate *rate)
{
    banyan_text_add(text, "\"%s\":{\"bytes_per_s\":", name);
    if (isfinite(rate->bytes_per_s))
        banyan_text_add_number(text, rate->bytes_per_s);
    else
        banyan_text_add(text, "null");
    if (rate->fraction.den)
        banyan_text_add(text, ",\"fraction\":\"%" PRId64 "/%" PRId64 "\"", rate->fraction.num,
                        rate->fraction.den);
    else
        banyan_text_add(text, ",\"fraction\":null");
    banyan_text_add(text, ",\"unit_bytes_per_s\":");
    banyan_text_add_number(text, rate->unit);
    banyan_text_add(text, ",\"exact\":%s,\"certificate\":", rate->exact ? "true" : "false");
    write_certificate(text, &rate->certificate);
    banyan_text_add(text, "}");
}

banyan_status banyan_bound_format(const banyan_topology *topology, const int *active, int active_count,
                                  const banyan_bound *bound, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    char *words, digest[17];
    banyan_status status = banyan_bound_explain(topology, active, active_count, bound, &words, err);

    *out = NULL;
    if (status)
        return status;
    banyan_topology_digest(topology, digest);
    banyan_text_add(&text, "{\"format\":\"banyan-bound\",\"version\":1,\"topology\":");
    banyan_text_add_json_string(&text, topology->name);
    banyan_text_add(&text, ",\"topology_digest\":\"%s\",\"relays\":\"%s\",\"active\":[", digest,
                    relay_names[bound->relays]);
    for (int i = 0; i < active_count; i++)
        banyan_text_add(&text, "%s%d", i ? "," : "", active[i]);
    banyan_text_add(&text, "],\n");
    write_rate(&text, "allreduce", &bound->allreduce);
    banyan_text_add(&text, ",\n");
    write_rate(&text, "allgather", &bound->allgather);
    banyan_text_add(&text, ",\n");
    write_rate(&text, "reducescatter", &bound->reducescatter);
    banyan_text_add(&text, ",\n\"certificate\":");
    banyan_text_add_json_string(&text, words);
    banyan_text_add(&text, "}\n");
    banyan_free(words);
    return banyan_text_take(&text, out, err);
}

static banyan_status read_parts(const banyan_json *array, banyan_certificate *out, banyan_error *err)
{
    if (!array || banyan_json_kind(array) != BANYAN_JSON_ARRAY ||
        (banyan_json_count(array) && banyan_json_count(array) != (size_t)out->node_count))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"parts\" should have one number for each of the %d nodes", out->node_count);
    for (size_t i = 0; i < banyan_json_count(array); i++) {
        int64_t part;

        if (!banyan_json_get_integer(banyan_json_item(array, i), &part) || part < -1 ||
            part > out->node_count)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"parts\" item %zu is not the number of a part",
                               i);
        out->part[i] = (int)part;
        if (part >= out->part_count)
            out->part_count = (int)part + 1;
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_prices(const banyan_json *array, banyan_certificate *out, banyan_error *err)
{
    if (!array || banyan_json_kind(array) != BANYAN_JSON_ARRAY)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"prices\" should be an array of [link, price]");
    for (size_t i = 0; i < banyan_json_count(array); i++) {
        const banyan_json *item = banyan_json_item(array, i);
        int64_t link, price;

        if (banyan_json_kind(item) != BANYAN_JSON_ARRAY || banyan_json_count(item) != 2 ||
            !banyan_json_get_integer(banyan_json_item(item, 0), &link) || link < 0 ||
            link >= out->link_count || !banyan_json_get_integer(banyan_json_item(item, 1), &price) ||
            price < 0 || price > INT64_MAX >> 16)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"prices\" item %zu is not [link, price]", i);
        out->price[link] = price;
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_certificate(const banyan_json *object, const banyan_topology *topology,
                                      banyan_certificate *out, banyan_error *err)
{
    const char *kind = "";
    banyan_status status;
    int i = 0;

    if (!object || banyan_json_kind(object) != BANYAN_JSON_OBJECT ||
        !banyan_json_get_string(banyan_json_field(object, "kind"), &kind))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a rate lacks its \"certificate\"");
    while (i < 4 && strcmp(kind, kind_names[i]) != 0)
        i++;
    if (i == 4)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "certificate kind \"%.40s\" is not cut, partition or prices", kind);
    out->kind = (banyan_certificate_kind)i;
    out->node_count = topology->node_count;
    out->link_count = topology->link_count;
    out->part = banyan_alloc((size_t)topology->node_count, sizeof *out->part);
    out->price = banyan_alloc((size_t)topology->link_count, sizeof *out->price);
    if (!out->part || !out->price)
        return banyan_fail_memory(err);
    status = read_parts(banyan_json_field(object, "parts"), out, err);
    return status ? status : read_prices(banyan_json_field(object, "prices"), out, err);
}

static banyan_status read_rate(const banyan_json *root, const char *name, const banyan_topology *topology,
                               banyan_rate *out, banyan_error *err)
{
    const banyan_json *object = banyan_json_field(root, name), *rate;

    if (!object || banyan_json_kind(object) != BANYAN_JSON_OBJECT)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the bound lacks \"%s\"", name);
    rate = banyan_json_field(object, "bytes_per_s");
    out->bytes_per_s = HUGE_VAL;
    if (rate && banyan_json_kind(rate) != BANYAN_JSON_NULL &&
        (!banyan_json_get_number(rate, &out->bytes_per_s) || out->bytes_per_s <= 0))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"%s\": \"bytes_per_s\" should be a positive number", name);
    return read_certificate(banyan_json_field(object, "certificate"), topology, &out->certificate, err);
}

static banyan_status read_active(const banyan_json *root, const banyan_topology *topology, int **out,
                                 int *count, banyan_error *err)
{
    const banyan_json *array = banyan_json_field(root, "active");
    size_t items = array ? banyan_json_count(array) : 0;

    if (!array || banyan_json_kind(array) != BANYAN_JSON_ARRAY || !items ||
        items > (size_t)topology->worker_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"active\" should name the active workers of %.60s",
                           topology->name);
    *out = banyan_alloc(items, sizeof **out);
    if (!*out)
        return banyan_fail_memory(err);
    for (size_t i = 0; i < items; i++) {
        int64_t node;

        if (!banyan_json_get_integer(banyan_json_item(array, i), &node) || node < 0 ||
            node >= topology->node_count || topology->nodes[node].kind != BANYAN_NODE_WORKER ||
            (i && node <= (*out)[i - 1]))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "\"active\" item %zu is not the next worker of %.60s", i, topology->name);
        (*out)[i] = (int)node;
    }
    *count = (int)items;
    return BANYAN_SUCCESS;
}

static banyan_status read_bound(const banyan_json *root, const banyan_topology *topology, int **active,
                                int *count, banyan_bound *out, banyan_error *err)
{
    const char *format = "", *relays = "add";
    banyan_status status;
    int i = 0;

    if (banyan_json_kind(root) != BANYAN_JSON_OBJECT ||
        !banyan_json_get_string(banyan_json_field(root, "format"), &format) ||
        strcmp(format, "banyan-bound") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"format\" should be \"banyan-bound\"");
    banyan_json_get_string(banyan_json_field(root, "relays"), &relays);
    while (i < 2 && strcmp(relays, relay_names[i]) != 0)
        i++;
    if (strcmp(relays, relay_names[i]) != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"relays\" should be add, forward or none");
    out->relays = (banyan_relays)i;
    status = read_active(root, topology, active, count, err);
    if (!status)
        status = read_rate(root, "allreduce", topology, &out->allreduce, err);
    if (!status)
        status = read_rate(root, "allgather", topology, &out->allgather, err);
    if (!status)
        status = read_rate(root, "reducescatter", topology, &out->reducescatter, err);
    return status;
}

banyan_status banyan_bound_parse(const char *text, size_t length, const banyan_topology *topology,
                                 int **active, int *active_count, banyan_bound *out, banyan_error *err)
{
    banyan_json *root;
    banyan_status status = banyan_json_parse(text, length, &root, err);

    *active = NULL;
    memset(out, 0, sizeof *out);
    if (status)
        return status;
    status = read_bound(root, topology, active, active_count, out, err);
    banyan_json_destroy(root);
    if (status) {
        banyan_free(*active);
        *active = NULL;
        banyan_bound_fini(out);
    }
    return status;
}
