/* SPDX-License-Identifier: Apache-2.0 */
/* solve/coupled-cuts.c: pipelined trees where every node is active: cuts divide the arcs between reduce and broadcast
 * (solve/divide.h), which gives the bound. Shallow trees are tried first (solve/shallow.h); where these fall short, trees fill
 * each part (solve/branch.h), and reach the bound however deep they must be for that. */
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/branch.h"
#include "solve/coupled.h"
#include "solve/divide.h"
#include "solve/shallow.h"

#define ENOUGH 0.9995 /* of the bound: then shallow trees are taken */

static banyan_status take(const banyan_branches *branches, banyan_tree_kind kind, banyan_coupled *out,
                          banyan_error *err)
{
    for (size_t t = 0; t < branches->trees.tree_count; t++) {
        size_t tree = out->trees.tree_count;

        banyan_trees_copy(&out->trees, &branches->trees, t);
        if (out->trees.failed)
            return banyan_fail_memory(err);
        out->kind[tree] = kind;
        out->root[tree] = branches->root[t];
        out->weight[tree] = branches->weight[t];
    }
    return BANYAN_SUCCESS;
}

static banyan_status take_both(const banyan_branches *in, const banyan_branches *sent, banyan_coupled *out,
                               banyan_error *err)
{
    size_t count = in->trees.tree_count + sent->trees.tree_count;
    banyan_status status;

    banyan_trees_fini(&out->trees);
    banyan_trees_init(&out->trees);
    banyan_free(out->kind);
    banyan_free(out->root);
    banyan_free(out->weight);
    out->kind = banyan_alloc(count, sizeof *out->kind);
    out->root = banyan_alloc(count, sizeof *out->root);
    out->weight = banyan_alloc(count, sizeof *out->weight);
    if (!out->kind || !out->root || !out->weight)
        return banyan_fail_memory(err);
    status = take(in, BANYAN_TREE_IN, out, err);
    out->total = fmin(in->total, sent->total);
    return status ? status : take(sent, BANYAN_TREE_OUT, out, err);
}

static banyan_status fill(const banyan_graph *graph, const banyan_division *division, banyan_coupled *out,
                          banyan_error *err)
{
    banyan_branch_problem part = {.capacity = division->sent, .root = division->root};
    banyan_branches in = {0}, sent = {0};
    banyan_status status = banyan_branch(graph, &part, &sent, err);

    part.towards = 1;
    part.capacity = division->summed;
    if (!status)
        status = banyan_branch(graph, &part, &in, err);
    if (!status)
        status = take_both(&in, &sent, out, err);
    banyan_branches_fini(&in);
    banyan_branches_fini(&sent);
    return status;
}

banyan_status banyan_coupled_by_cuts(const banyan_graph *graph, const banyan_coupled_problem *problem,
                                     banyan_coupled *out, banyan_error *err)
{
    banyan_division division;
    banyan_status status = banyan_divide(graph, problem->tolerance, problem->round_limit, &division, err);

    memset(out, 0, sizeof *out);
    if (status)
        return status;
    out->price = division.price;
    division.price = NULL;
    out->bound = division.bound;
    out->bound_value = division.bound_value;
    out->rounds = division.rounds;
    out->proven = 1;
    status = banyan_shallow_pairs(graph, problem->depth_limit, ENOUGH * out->bound_value, out, err);
    if (!status && out->total < ENOUGH * out->bound_value && !problem->depth_limit)
        status = fill(graph, &division, out, err);
    banyan_division_fini(&division);
    if (status)
        banyan_coupled_fini(out);
    return status;
}
