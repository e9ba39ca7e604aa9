/* SPDX-License-Identifier: Apache-2.0 */
/* bound/read.c: relays, active workers and prices out of a file, with every number compared with the
 * network. */
#include "bound/read.h"

#include <string.h>

#include "core/alloc.h"

/* Trees pay an arc at most twice, up and down: sums of what they cost stay within 64 bits. */
#define MOST_PRICES (INT64_MAX / 4)
#define MOST_PRICE (INT64_MAX >> 16)

void banyan_bound_write_question(banyan_text *text, const banyan_topology *topology, banyan_relays relays,
                                 const int *active, int active_count)
{
    static const char *const relay_names[] = {"add", "forward", "none"};
    char digest[17];

    banyan_topology_digest(topology, digest);
    banyan_text_add(text,
                    "{\"format\":\"banyan-bound\",\"version\":%d,\"topology\":", BANYAN_BOUND_FILE_VERSION);
    banyan_text_add_json_string(text, topology->name);
    banyan_text_add(text, ",\"topology_digest\":\"%s\",\"relays\":\"%s\",\"active\":[", digest,
                    relay_names[relays]);
    for (int i = 0; i < active_count; i++)
        banyan_text_add(text, "%s%d", i ? "," : "", active[i]);
    banyan_text_add(text, "]");
}

static banyan_status read_active(const banyan_json *root, const banyan_topology *topology,
                                 banyan_bound_question *out, banyan_error *err)
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

banyan_status banyan_bound_read_question(const banyan_json *root, const banyan_topology *topology,
                                         banyan_bound_question *out, banyan_error *err)
{
    const char *format = "", *relays = "";
    banyan_status status;

    *out = (banyan_bound_question){0};
    if (banyan_json_kind(root) != BANYAN_JSON_OBJECT ||
        !banyan_json_get_string(banyan_json_field(root, "format"), &format) ||
        strcmp(format, "banyan-bound") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"format\" should be \"banyan-bound\"");
    if (!banyan_json_get_string(banyan_json_field(root, "relays"), &relays))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"relays\" should be add, forward or none");
    status = banyan_relays_parse(relays, &out->relays, err);
    return status ? status : read_active(root, topology, out, err);
}

banyan_status banyan_bound_read_prices(const banyan_json *array, const banyan_topology *topology,
                                       const char *name, int64_t *price, banyan_error *err)
{
    int64_t total = 0;

    if (!array || banyan_json_kind(array) != BANYAN_JSON_ARRAY)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%s\" should be an array of [link, price]", name);
    for (size_t i = 0; i < banyan_json_count(array); i++) {
        const banyan_json *item = banyan_json_item(array, i);
        int64_t link, paid;

        if (banyan_json_kind(item) != BANYAN_JSON_ARRAY || banyan_json_count(item) != 2 ||
            !banyan_json_get_integer(banyan_json_item(item, 0), &link) || link < 0 ||
            link >= topology->link_count || !banyan_json_get_integer(banyan_json_item(item, 1), &paid) ||
            paid < 0 || paid > MOST_PRICE)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%s\" item %zu is not [link, price]", name, i);
        if (paid > MOST_PRICES - total)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%s\" come to more than %lld in all", name,
                               (long long)MOST_PRICES);
        total += paid;
        price[link] = paid;
    }
    return BANYAN_SUCCESS;
}
