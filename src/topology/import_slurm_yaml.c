/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_slurm_yaml.c: Slurm's topology.yaml (Slurm 25.05 and later).
 *
 *     - topology: fabric               the one with cluster_default: true, or else the first, is read
 *       cluster_default: true
 *       tree:
 *         switches:
 *           - switch: core             core
 *             children: leaf[0-1]     /    \
 *           - switch: leaf0       leaf0    leaf1
 *             nodes: tux[0-15]
 *
 * A block of topology/block is a switch with its nodes; several blocks hang on one more switch, net. The file
 * tells no speeds: every cable has 100 Gbit/s and 1 us. */
#include <string.h>

#include "core/yaml.h"
#include "topology/import.h"
#include "topology/switch_tree.h"

typedef struct {
    const banyan_yaml *document;
    banyan_switch_tree *tree;
    banyan_error *err;
} reader;

static banyan_word word_of(const char *text)
{
    return (banyan_word){text, strlen(text)};
}

static const banyan_yaml_value *value_at(const reader *in, int value)
{
    return &in->document->values[value];
}

/* The scalar that the mapping has under the key; NULL where it is absent or no scalar. */
static const char *scalar_of(const reader *in, int mapping, const char *key)
{
    int value = banyan_yaml_find(in->document, mapping, key);

    return value < 0 ? NULL : value_at(in, value)->text;
}

static banyan_status check_keys(const reader *in, int mapping, const char *const *known, const char *expected)
{
    const banyan_yaml_value *values = in->document->values;

    if (values[mapping].kind != BANYAN_YAML_MAPPING)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: expected a mapping with %s",
                           values[mapping].line, expected);
    for (int i = mapping + 1; i < values[mapping].next; i = values[values[i].next].next) {
        int is_known = 0;

        for (const char *const *key = known; *key; key++)
            is_known |= !strcmp(*key, values[i].text);
        if (!is_known)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: unknown key %.60s, not one of %s",
                               values[i].line, values[i].text, expected);
        if (values[values[i].next].kind != BANYAN_YAML_SCALAR)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: the value of %.60s is not a text",
                               values[i].line, values[i].text);
    }
    return BANYAN_SUCCESS;
}

typedef banyan_status add_children(banyan_switch_tree *tree, banyan_word list, int line, banyan_error *err);

/* What hangs on the switch just begun, if the entry has that key. */
static banyan_status add_list(reader *in, int entry, const char *key, add_children *add)
{
    int value = banyan_yaml_find(in->document, entry, key);

    return value < 0 || !*value_at(in, value)->text
               ? BANYAN_SUCCESS
               : add(in->tree, word_of(value_at(in, value)->text), value_at(in, value)->line, in->err);
}

/* One switch or block: name_key says what it is called. */
static banyan_status read_entry(reader *in, int entry, const char *name_key, const char *const *known,
                                const char *expected)
{
    int line = value_at(in, entry)->line;
    banyan_status status = check_keys(in, entry, known, expected);
    const char *name;

    if (status)
        return status;
    name = scalar_of(in, entry, name_key);
    if (!name)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: a %s needs a name", line, name_key);
    status = banyan_switch_tree_begin(in->tree, word_of(name), line, BANYAN_SWITCH_TREE_GBPS, in->err);
    if (!status)
        status = add_list(in, entry, "children", banyan_switch_tree_add_switches);
    return status ? status : add_list(in, entry, "nodes", banyan_switch_tree_add_nodes);
}

static banyan_status find_list(const reader *in, int plugin, const char *key, int *out)
{
    *out = banyan_yaml_find(in->document, plugin, key);
    if (*out < 0 || value_at(in, *out)->kind != BANYAN_YAML_SEQUENCE || value_at(in, *out)->next == *out + 1)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: there is no list of %s",
                           value_at(in, plugin)->line, key);
    return BANYAN_SUCCESS;
}

static banyan_status read_tree(reader *in, int plugin)
{
    static const char *const known[] = {"switch", "children", "nodes", NULL};
    int list;
    banyan_status status = find_list(in, plugin, "switches", &list);

    for (int i = list + 1; !status && i < value_at(in, list)->next; i = value_at(in, i)->next)
        status = read_entry(in, i, "switch", known, "switch, children, nodes");
    return status;
}

static banyan_status join_blocks(reader *in, int list)
{
    int line = value_at(in, list)->line;
    banyan_status status =
        banyan_switch_tree_begin(in->tree, word_of("net"), line, BANYAN_SWITCH_TREE_GBPS, in->err);

    for (int i = list + 1; !status && i < value_at(in, list)->next; i = value_at(in, i)->next)
        status = banyan_switch_tree_add_switches(in->tree, word_of(scalar_of(in, i, "block")),
                                                 value_at(in, i)->line, in->err);
    return status;
}

static banyan_status read_blocks(reader *in, int plugin)
{
    static const char *const known[] = {"block", "nodes", NULL};
    int list, count = 0;
    banyan_status status = find_list(in, plugin, "blocks", &list);

    for (int i = list + 1; !status && i < value_at(in, list)->next; i = value_at(in, i)->next, count++)
        status = read_entry(in, i, "block", known, "block, nodes");
    return status || count < 2 ? status : join_blocks(in, list);
}

static int is_true(const char *text)
{
    return text && (!strcmp(text, "true") || !strcmp(text, "True") || !strcmp(text, "TRUE"));
}

static banyan_status find_default(const reader *in, int *out)
{
    const banyan_yaml_value *top = value_at(in, 0);

    *out = -1;
    if (top->kind != BANYAN_YAML_SEQUENCE || top->next == 1)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: expected a list of topologies",
                           top->line);
    for (int i = 1; i < top->next; i = value_at(in, i)->next) {
        if (!scalar_of(in, i, "topology"))
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: a topology needs a name",
                               value_at(in, i)->line);
        if (*out < 0 || (is_true(scalar_of(in, i, "cluster_default")) &&
                         !is_true(scalar_of(in, *out, "cluster_default"))))
            *out = i;
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_document(reader *in)
{
    int chosen, plugin;
    banyan_status status = find_default(in, &chosen);

    if (status)
        return status;
    if ((plugin = banyan_yaml_find(in->document, chosen, "tree")) >= 0)
        status = read_tree(in, plugin);
    else if ((plugin = banyan_yaml_find(in->document, chosen, "block")) >= 0)
        status = read_blocks(in, plugin);
    else
        status = banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                             "line %d: topology %.60s has neither a tree nor blocks, so it names no nodes",
                             value_at(in, chosen)->line, scalar_of(in, chosen, "topology"));
    return status ? status : banyan_switch_tree_check(in->tree, in->err);
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_yaml *document = NULL;
    banyan_error problem;
    reader in = {.tree = banyan_switch_tree_create(), .err = &problem};
    banyan_status status =
        in.tree ? banyan_scan_check_text(text, length, &problem) : banyan_fail_memory(&problem);

    banyan_topology_builder_init(&builder, "slurm");
    if (!status)
        status = banyan_yaml_parse(text, length, &document, &problem);
    if (!status) {
        in.document = document;
        status = read_document(&in);
    }
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    else
        banyan_switch_tree_build(in.tree, &builder);
    banyan_yaml_destroy(document);
    banyan_switch_tree_destroy(in.tree);
    return banyan_topology_builder_finish(&builder, out, err);
}

static int looks_like(const char *text, size_t length)
{
    banyan_scan scan;

    banyan_scan_init(&scan, text, length < 65536 ? length : 65536);
    while (banyan_scan_next_line(&scan)) {
        banyan_word line = banyan_word_trim(scan.line), word;

        if (!line.length || *line.at == '#' || banyan_word_is(line, "---"))
            continue;
        return banyan_word_take(&line, &word) && banyan_word_is(word, "-") &&
               banyan_word_take(&line, &word) && banyan_word_is(word, "topology:");
    }
    return 0;
}

const banyan_importer banyan_import_slurm_yaml = {.name = "slurm-yaml",
                                                  .summary = "Slurm's topology.yaml: a tree or blocks",
                                                  .extension = "topology.yaml",
                                                  .looks_like = looks_like,
                                                  .parse = parse};
