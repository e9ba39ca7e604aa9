/* SPDX-License-Identifier: Apache-2.0 */
/* bound/family_json.c: [{"weight": 2, "nodes": [0, 3]}, ...] and [[node, potential], ...]. What is read
 * names nodes of the network alone; whether it proves anything, bound/check.c says. */
#include "bound/family_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "bound/check.h"

void banyan_family_write(banyan_text *text, const char *prefix, const banyan_cut_family *family,
                         int node_count)
{
    int written = 0;

    banyan_text_add(text, ",\"%scuts\":[", prefix);
    for (int k = 0; k < family->count; k++) {
        banyan_text_add(text, "%s{\"weight\":%" PRId64 ",\"nodes\":[", k ? "," : "", family->weight[k]);
        for (int i = family->first[k]; i < family->first[k + 1]; i++)
            banyan_text_add(text, "%s%d", i > family->first[k] ? "," : "", family->node[i]);
        banyan_text_add(text, "]}");
    }
    banyan_text_add(text, "],\"%spotentials\":[", prefix);
    for (int v = 0; v < node_count; v++)
        if (family->potential[v])
            banyan_text_add(text, "%s[%d,%" PRId64 "]", written++ ? "," : "", v, family->potential[v]);
    banyan_text_add(text, "]");
}

static int is_array(const banyan_json *value)
{
    return value && banyan_json_kind(value) == BANYAN_JSON_ARRAY;
}

static banyan_status read_cut(const banyan_json *item, size_t number, int node_count, banyan_cut_family *out,
                              banyan_error *err)
{
    const banyan_json *nodes = banyan_json_field(item, "nodes");
    int before = -1, end = out->first[number];

    if (!is_array(nodes) || !banyan_json_get_integer(banyan_json_field(item, "weight"), &out->weight[number]))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"cuts\" item %zu should have a whole \"weight\" and an array of \"nodes\"",
                           number);
    for (size_t i = 0; i < banyan_json_count(nodes); i++) {
        int64_t node;

        if (!banyan_json_get_integer(banyan_json_item(nodes, i), &node) || node <= before ||
            node >= node_count)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "\"cuts\" item %zu: \"nodes\" item %zu is not the next node", number, i);
        out->node[end++] = before = (int)node;
    }
    out->first[number + 1] = end;
    return BANYAN_SUCCESS;
}

static banyan_status read_potentials(const banyan_json *array, int node_count, int64_t *potential,
                                     banyan_error *err)
{
    if (!is_array(array))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"potentials\" should be an array of [node, potential]");
    for (size_t i = 0; i < banyan_json_count(array); i++) {
        const banyan_json *item = banyan_json_item(array, i);
        int64_t node, value;

        if (!is_array(item) || banyan_json_count(item) != 2 ||
            !banyan_json_get_integer(banyan_json_item(item, 0), &node) || node < 0 || node >= node_count ||
            !banyan_json_get_integer(banyan_json_item(item, 1), &value) || value > BANYAN_CHECK_LIMIT ||
            value < -BANYAN_CHECK_LIMIT)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "\"potentials\" item %zu is not [node, potential]", i);
        potential[node] = value;
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_family_read(const banyan_json *object, const char *prefix,
                                 const banyan_topology *topology, banyan_cut_family *out, banyan_error *err)
{
    char name[2][32];
    const banyan_json *cuts;
    size_t count, members = 0, most = 2 * ((size_t)topology->link_count + (size_t)topology->node_count);
    banyan_status status;

    snprintf(name[0], sizeof name[0], "%scuts", prefix);
    snprintf(name[1], sizeof name[1], "%spotentials", prefix);
    cuts = banyan_json_field(object, name[0]);
    count = is_array(cuts) ? banyan_json_count(cuts) : 0;
    if (!cuts && !banyan_json_field(object, name[1]))
        return BANYAN_SUCCESS;
    /* The best weights are a vertex of a program with two rows for each link and node. */
    if (count == 0 || count > most)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%s\" should be an array of 1 to %zu cuts",
                           name[0], most);
    for (size_t k = 0; k < count; k++) {
        size_t nodes = banyan_json_count(banyan_json_field(banyan_json_item(cuts, k), "nodes"));

        if (nodes > (size_t)topology->node_count)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"cuts\" item %zu has more than %d nodes", k,
                               topology->node_count);
        members += nodes;
    }
    status = banyan_cut_family_init(out, (int)count, members, topology->node_count, err);
    for (size_t k = 0; !status && k < count; k++)
        status = read_cut(banyan_json_item(cuts, k), k, topology->node_count, out, err);
    if (!status)
        status =
            read_potentials(banyan_json_field(object, name[1]), topology->node_count, out->potential, err);
    return status;
}
