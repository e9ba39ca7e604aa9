/* SPDX-License-Identifier: Apache-2.0 */
/* bound/family_json.c: [{"weight": 2, "nodes": [0, 3]}, ...] and [[node, potential], ...]. */
#include "bound/family_json.h"

#include <inttypes.h>

void banyan_family_write(banyan_text *text, const banyan_cut_family *family, int node_count)
{
    int written = 0;

    banyan_text_add(text, ",\"cuts\":[");
    for (int k = 0; k < family->count; k++) {
        banyan_text_add(text, "%s{\"weight\":%" PRId64 ",\"nodes\":[", k ? "," : "", family->weight[k]);
        for (int i = family->first[k]; i < family->first[k + 1]; i++)
            banyan_text_add(text, "%s%d", i > family->first[k] ? "," : "", family->node[i]);
        banyan_text_add(text, "]}");
    }
    banyan_text_add(text, "],\"potentials\":[");
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

banyan_status banyan_family_read(const banyan_json *object, const banyan_topology *topology,
                                 banyan_cut_family *out, banyan_error *err)
{
    const banyan_json *cuts = banyan_json_field(object, "cuts");
    size_t count = is_array(cuts) ? banyan_json_count(cuts) : 0, members = 0;
    banyan_status status;

    /* The best weights are a vertex of a program with a row for each link and one more. */
    if (count == 0 || count > (size_t)topology->link_count + 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"cuts\" should be an array of 1 to %d cuts",
                           topology->link_count + 1);
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
        status = read_potentials(banyan_json_field(object, "potentials"), topology->node_count,
                                 out->potential, err);
    return status;
}
