/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_slurm.c: Slurm's topology.conf (topology/tree).
 *
 *     SwitchName=s0 Nodes=tux[0-15]             core
 *     SwitchName=s1 Nodes=tux[16-31]           /    \          every node is a worker and a host of its own,
 *     SwitchName=core Switches=s[0-1]        s0      s1        every line a switch, every child one cable
 *
 * The file says nothing about bandwidths but an optional LinkSpeed, whose unit Slurm leaves open. We take it
 * for Gbit/s and for the cables to the children of its switch; without it they have 100 Gbit/s. Every cable
 * has 1 us. A switch above switches often stands for a whole layer of spines in these files: its LinkSpeed
 * should then be that of all uplinks together. Routes go up and down the tree.
 *
 * Workers come first, in the order in which the file names them, then the switches in the order of their
 * lines. */
#include <string.h>

#include "core/alloc.h"
#include "core/near.h"
#include "topology/import.h"
#include "topology/switch_tree.h"

static const double highest_gbps = 1e9;

typedef struct {
    banyan_word name, switches, nodes, speed;
    int line;
} statement;

static banyan_status read_speed(banyan_word speed, int line, double *gbps, banyan_error *err)
{
    *gbps = BANYAN_SWITCH_TREE_GBPS;
    if (!speed.at)
        return BANYAN_SUCCESS;
    if (!banyan_word_number(speed, gbps) || *gbps < 1e-6 || *gbps > highest_gbps)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: LinkSpeed=%s is not a number from 1e-6 to %g (Gbit/s)", line,
                           banyan_word_show(speed).text, highest_gbps);
    return BANYAN_SUCCESS;
}

static banyan_status add_switch(banyan_switch_tree *tree, const statement *said, banyan_error *err)
{
    double gbps;
    banyan_status status = BANYAN_SUCCESS;

    if (memchr(said->name.at, '[', said->name.length))
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: SwitchName=%s must be one name",
                             said->line, banyan_word_show(said->name).text);
    if (!status && !said->nodes.at && !said->switches.at)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: switch %s has neither Nodes nor Switches",
                        said->line, banyan_word_show(said->name).text);
    if (!status)
        status = read_speed(said->speed, said->line, &gbps, err);
    if (!status)
        status = banyan_switch_tree_begin(tree, said->name, said->line, gbps, err);
    if (!status && said->switches.at)
        status = banyan_switch_tree_add_switches(tree, said->switches, said->line, err);
    if (!status && said->nodes.at)
        status = banyan_switch_tree_add_nodes(tree, said->nodes, said->line, err);
    return status;
}

static banyan_status read_pair(statement *said, banyan_word pair, int line, banyan_error *err)
{
    static const char *const keys[] = {"SwitchName", "Switches", "Nodes", "LinkSpeed"};
    banyan_word *const values[] = {&said->name, &said->switches, &said->nodes, &said->speed};
    const char *equals = memchr(pair.at, '=', pair.length);
    banyan_word key = {pair.at, equals ? (size_t)(equals - pair.at) : pair.length};
    int near;

    if (!equals)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: expected KEY=VALUE, not %s", line,
                           banyan_word_show(pair).text);
    for (int i = 0; i < 4; i++) {
        if (!banyan_word_is_like(key, keys[i]))
            continue;
        if (values[i]->at)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s is given twice", line, keys[i]);
        *values[i] = (banyan_word){equals + 1, pair.length - key.length - 1};
        return BANYAN_SUCCESS;
    }
    if (banyan_word_is_like(key, "BlockName") || banyan_word_is_like(key, "BlockSizes"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: this is a file of topology/block; only topology/tree is read", line);
    near = banyan_near_find(banyan_word_show(key).text, keys, 4);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: unknown key %s%s%s", line,
                       banyan_word_show(key).text, near < 0 ? "" : ", did you mean ",
                       near < 0 ? "" : keys[near]);
}

static banyan_status read_statement(banyan_switch_tree *tree, banyan_word text, int line, banyan_error *err)
{
    statement said = {.line = line};
    banyan_word pair;
    banyan_status status = BANYAN_SUCCESS;

    while (!status && banyan_word_take(&text, &pair)) {
        if (banyan_word_is_like(pair, "include"))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "line %d: include is not followed; put the other file's lines here", line);
        status = read_pair(&said, pair, line, err);
    }
    if (!status && !said.name.at)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: a line needs SwitchName", line);
    return status ? status : add_switch(tree, &said, err);
}

static banyan_word without_comment(banyan_word line)
{
    const char *hash = line.length ? memchr(line.at, '#', line.length) : NULL;

    if (hash)
        line.length = (size_t)(hash - line.at);
    return banyan_word_trim(line);
}

/* Lines that end in a backslash go on; such a statement is put together in joined. */
static banyan_status read_lines(banyan_switch_tree *tree, banyan_scan *scan, banyan_text *joined, int *count,
                                banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int begin = 0;

    while (!status && banyan_scan_next_line(scan)) {
        banyan_word line = without_comment(scan->line);
        int goes_on = line.length && line.at[line.length - 1] == '\\' && scan->at < scan->end;

        if (line.length && line.at[line.length - 1] == '\\')
            line.length--;
        if (goes_on || joined->length) {
            begin = joined->length ? begin : scan->number;
            banyan_text_add(joined, " ");
            banyan_text_add_bytes(joined, line.at, line.length);
            if (joined->failed)
                return banyan_fail_memory(err);
            line = banyan_word_trim((banyan_word){joined->bytes, joined->length});
        } else {
            begin = scan->number;
        }
        if (goes_on)
            continue;
        if (line.length) {
            status = read_statement(tree, line, begin, err);
            ++*count;
        }
        joined->length = 0;
    }
    return status;
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_text joined = BANYAN_TEXT_EMPTY;
    banyan_error problem;
    banyan_scan scan;
    banyan_switch_tree *tree = banyan_switch_tree_create();
    banyan_status status =
        tree ? banyan_scan_check_text(text, length, &problem) : banyan_fail_memory(&problem);
    int count = 0;

    banyan_scan_init(&scan, text, length);
    banyan_topology_builder_init(&builder, "slurm");
    if (!status)
        status = read_lines(tree, &scan, &joined, &count, &problem);
    if (!status && !count)
        status = banyan_fail(&problem, BANYAN_INVALID_ARGUMENT, "there is no SwitchName line");
    if (!status)
        status = banyan_switch_tree_check(tree, &problem);
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    else
        banyan_switch_tree_build(tree, &builder);
    banyan_text_fini(&joined);
    banyan_switch_tree_destroy(tree);
    return banyan_topology_builder_finish(&builder, out, err);
}

static int looks_like(const char *text, size_t length)
{
    banyan_scan scan;

    banyan_scan_init(&scan, text, length < 65536 ? length : 65536);
    while (banyan_scan_next_line(&scan)) {
        banyan_word line = without_comment(scan.line);

        if (line.length >= 11 && banyan_word_is_like((banyan_word){line.at, 11}, "SwitchName="))
            return 1;
        if (line.length)
            return line.length >= 7 && banyan_word_is_like((banyan_word){line.at, 7}, "include");
    }
    return 0;
}

const banyan_importer banyan_import_slurm = {.name = "slurm",
                                             .summary = "Slurm's topology.conf",
                                             .extension = "topology.conf",
                                             .looks_like = looks_like,
                                             .parse = parse};
