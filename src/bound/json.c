/* SPDX-License-Identifier: Apache-2.0 */
/* bound/json.c: the text form of a bound. Everything in it but question and certificates is a claim, and is
 * compared with what a text says that is made anew from these; what is said to be tight follows from no
 * certificate and is taken over. */
#include "bound/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bound/family_json.h"
#include "bound/rate.h"
#include "bound/read.h"
#include "bound/staged_json.h"
#include "bound/stated.h"
#include "core/alloc.h"
#include "core/json.h"
#include "core/text.h"

static const char *const kind_names[] = {"none", "cut", "partition", "prices", "cuts"};

enum { KIND_COUNT = sizeof kind_names / sizeof *kind_names };

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
    banyan_text_add(text, "]");
    if (certificate->family.count)
        banyan_family_write(text, "", &certificate->family, certificate->node_count);
    if (certificate->reduce.count)
        banyan_family_write(text, "reduce_", &certificate->reduce, certificate->node_count);
    banyan_text_add(text, "}");
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
    banyan_text_add(text, ",\"exact\":%s,\"tight\":\"%s\",\"certificate\":", rate->exact ? "true" : "false",
                    banyan_rate_tightness(rate));
    write_certificate(text, &rate->certificate);
    banyan_text_add(text, "}");
}

banyan_status banyan_bound_format(const banyan_topology *topology, const int *active, int active_count,
                                  const banyan_bound *bound, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    char *words;
    banyan_status status = banyan_bound_explain(topology, active, active_count, bound, &words, err);

    *out = NULL;
    if (status)
        return status;
    banyan_bound_write_question(&text, topology, bound->relays, active, active_count);
    banyan_text_add(&text, ",\n");
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

static banyan_status read_certificate(const banyan_json *object, const banyan_topology *topology,
                                      banyan_certificate *out, banyan_error *err)
{
    const char *kind = "";
    banyan_status status;
    int i = 0;

    if (!object || banyan_json_kind(object) != BANYAN_JSON_OBJECT ||
        !banyan_json_get_string(banyan_json_field(object, "kind"), &kind))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a rate lacks its \"certificate\"");
    while (i < KIND_COUNT && strcmp(kind, kind_names[i]) != 0)
        i++;
    if (i == KIND_COUNT)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "certificate kind \"%.40s\" is not cut, cuts, partition or prices", kind);
    status = banyan_certificate_init(out, topology, err);
    out->kind = (banyan_certificate_kind)i;
    if (!status)
        status = read_parts(banyan_json_field(object, "parts"), out, err);
    if (!status)
        status = banyan_family_read(object, "", topology, &out->family, err);
    if (!status)
        status = banyan_family_read(object, "reduce_", topology, &out->reduce, err);
    if (!status && out->kind == BANYAN_CERTIFICATE_CUTS && !out->family.count)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a certificate of kind \"cuts\" lacks its \"cuts\"");
    return status ? status
                  : banyan_bound_read_prices(banyan_json_field(object, "prices"), topology, "prices",
                                             out->price, err);
}

static banyan_status read_rate(const banyan_json *root, const char *name, const banyan_topology *topology,
                               banyan_rate *out, banyan_error *err)
{
    const banyan_json *object = banyan_json_field(root, name), *rate;
    const char *tight = "";

    if (!object || banyan_json_kind(object) != BANYAN_JSON_OBJECT)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the bound lacks \"%s\"", name);
    rate = banyan_json_field(object, "bytes_per_s");
    out->bytes_per_s = HUGE_VAL;
    if (rate && banyan_json_kind(rate) != BANYAN_JSON_NULL &&
        (!banyan_json_get_number(rate, &out->bytes_per_s) || out->bytes_per_s <= 0))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"%s\": \"bytes_per_s\" should be a positive number", name);
    banyan_json_get_string(banyan_json_field(object, "tight"), &tight);
    out->is_tight = !strcmp(tight, "proven");
    if (!out->is_tight && strcmp(tight, "unknown"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"%s\": \"tight\" should be \"proven\" or \"unknown\"", name);
    return read_certificate(banyan_json_field(object, "certificate"), topology, &out->certificate, err);
}

static banyan_status read_bound(const banyan_json *root, const banyan_topology *topology, int **active,
                                int *count, banyan_bound *out, banyan_error *err)
{
    banyan_bound_question question;
    banyan_status status = banyan_bound_read_question(root, topology, &question, err);

    memset(out, 0, sizeof *out);
    *active = NULL;
    out->relays = question.relays;
    if (!status)
        status = read_rate(root, "allreduce", topology, &out->allreduce, err);
    if (!status)
        status = read_rate(root, "allgather", topology, &out->allgather, err);
    if (!status)
        status = read_rate(root, "reducescatter", topology, &out->reducescatter, err);
    if (status) {
        banyan_free(question.active);
        banyan_bound_fini(out);
        return status;
    }
    *active = question.active;
    *count = question.active_count;
    return BANYAN_SUCCESS;
}

banyan_status banyan_bound_parse(const char *text, size_t length, const banyan_topology *topology,
                                 int **active, int *active_count, banyan_bound *out, banyan_error *err)
{
    banyan_json *root;
    banyan_status status = banyan_json_parse(text, length, &root, err);

    *active = NULL;
    if (status)
        return status;
    status = read_bound(root, topology, active, active_count, out, err);
    banyan_json_destroy(root);
    return status;
}

static banyan_status judge(const banyan_json *root, const banyan_topology *topology, int *claims_tight,
                           banyan_error *err)
{
    banyan_bound claimed, proven;
    char *text = NULL;
    int *active, count;
    banyan_status status = read_bound(root, topology, &active, &count, &claimed, err);

    if (status)
        return status;
    *claims_tight =
        claimed.allreduce.is_tight || claimed.allgather.is_tight || claimed.reducescatter.is_tight;
    status = banyan_bound_derive(topology, active, count, &claimed, &proven, err);
    if (!status) {
        status = banyan_bound_format(topology, active, count, &proven, &text, err);
        banyan_bound_fini(&proven);
    }
    if (!status)
        status = banyan_stated_compare(root, text, err);
    banyan_free(text);
    banyan_free(active);
    banyan_bound_fini(&claimed);
    return status;
}

banyan_status banyan_bound_check(const char *text, size_t length, const banyan_topology *topology,
                                 int *claims_tight, banyan_error *err)
{
    banyan_json *root;
    banyan_status status = banyan_json_parse(text, length, &root, err);

    *claims_tight = 0;
    if (status)
        return status;
    status = banyan_json_kind(root) == BANYAN_JSON_OBJECT && banyan_json_field(root, "stages")
                 ? banyan_staged_check(root, topology, err)
                 : judge(root, topology, claims_tight, err);
    banyan_json_destroy(root);
    return status;
}
