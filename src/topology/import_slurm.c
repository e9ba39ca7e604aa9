/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_slurm.c: Slurm's topology.conf: topology/tree, and the blocks of topology/block.
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
    banyan_word block, sizes; /* of topology/block */
    int line;
} statement;

typedef struct {
    banyan_switch_tree *tree;
    int count;          /* of statements */
    banyan_text blocks; /* their names, with commas between */
    int block_count, block_line;
} reader;

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

/* A block is a switch with its nodes; BlockSizes are for the scheduler. */
static banyan_status add_block(reader *in, statement *said, banyan_error *err)
{
    if (said->sizes.at && !said->block.at)
        return BANYAN_SUCCESS;
    said->name = said->block;
    in->block_line = said->line;
    banyan_text_add(&in->blocks, "%s", in->block_count++ ? "," : "");
    banyan_text_add_bytes(&in->blocks, said->block.at, said->block.length);
    return in->blocks.failed ? banyan_fail_memory(err) : add_switch(in->tree, said, err);
}

/* Several blocks hang on one more switch. */
static banyan_status join_blocks(reader *in, banyan_error *err)
{
    banyan_status status;

    if (in->block_count < 2)
        return BANYAN_SUCCESS;
    status = banyan_switch_tree_begin(in->tree, (banyan_word){"net", 3}, in->block_line,
                                      BANYAN_SWITCH_TREE_GBPS, err);
    return status ? status
                  : banyan_switch_tree_add_switches(
                        in->tree, (banyan_word){in->blocks.bytes, in->blocks.length}, in->block_line, err);
}

static banyan_status read_pair(statement *said, banyan_word pair, int line, banyan_error *err)
{
    static const char *const keys[] = {"SwitchName", "Switches",  "Nodes",
                                       "LinkSpeed",  "BlockName", "BlockSizes"};
    banyan_word *const values[] = {&said->name,  &said->switches, &said->nodes,
                                   &said->speed, &said->block,    &said->sizes};
    const int count = (int)(sizeof keys / sizeof *keys);
    const char *equals = memchr(pair.at, '=', pair.length);
    banyan_word key = {pair.at, equals ? (size_t)(equals - pair.at) : pair.length};
    int near;

    if (!equals)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: expected KEY=VALUE, not %s", line,
                           banyan_word_show(pair).text);
    for (int i = 0; i < count; i++) {
        if (!banyan_word_is_like(key, keys[i]))
            continue;
        if (values[i]->at)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s is given twice", line, keys[i]);
        *values[i] = (banyan_word){equals + 1, pair.length - key.length - 1};
        return BANYAN_SUCCESS;
    }
    near = banyan_near_find(banyan_word_show(key).text, keys, count);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: unknown key %s%s%s", line,
                       banyan_word_show(key).text, near < 0 ? "" : ", did you mean ",
                       near < 0 ? "" : keys[near]);
}

static banyan_status read_statement(reader *in, banyan_word text, int line, banyan_error *err)
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
    if (status)
        return status;
    if (said.block.at || said.sizes.at)
        return add_block(in, &said, err);
    if (!said.name.at)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: a line needs SwitchName or BlockName",
                           line);
    return add_switch(in->tree, &said, err);
}

static banyan_word without_comment(banyan_word line)
{
    const char *hash = line.length ? memchr(line.at, '#', line.length) : NULL;

    if (hash)
        line.length = (size_t)(hash - line.at);
    return banyan_word_trim(line);
}

/* Lines that end in a backslash go on; such a statement is put together in joined. */
static banyan_status read_lines(reader *in, banyan_scan *scan, banyan_text *joined, banyan_error *err)
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
            status = read_statement(in, line, begin, err);
            in->count++;
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
    reader in = {.tree = banyan_switch_tree_create()};
    banyan_status status =
        in.tree ? banyan_scan_check_text(text, length, &problem) : banyan_fail_memory(&problem);

    banyan_scan_init(&scan, text, length);
    banyan_topology_builder_init(&builder, "slurm");
    if (!status)
        status = read_lines(&in, &scan, &joined, &problem);
    if (!status && !in.count)
        status = banyan_fail(&problem, BANYAN_INVALID_ARGUMENT, "there is no SwitchName line");
    if (!status)
        status = join_blocks(&in, &problem);
    if (!status)
        status = banyan_switch_tree_check(in.tree, &problem);
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    else
        banyan_switch_tree_build(in.tree, &builder);
    banyan_text_fini(&joined);
    banyan_text_fini(&in.blocks);
    banyan_switch_tree_destroy(in.tree);
    return banyan_topology_builder_finish(&builder, out, err);
}

static int looks_like(const char *text, size_t length)
{
    banyan_scan scan;

    banyan_scan_init(&scan, text, length < 65536 ? length : 65536);
    while (banyan_scan_next_line(&scan)) {
        banyan_word line = without_comment(scan.line);

        if (line.length >= 11 && (banyan_word_is_like((banyan_word){line.at, 11}, "SwitchName=") ||
                                  banyan_word_is_like((banyan_word){line.at, 10}, "BlockName=") ||
                                  banyan_word_is_like((banyan_word){line.at, 11}, "BlockSizes=")))
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
