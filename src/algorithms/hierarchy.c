/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hierarchy.c: reading the tree from the option, and choosing where it comes from. */
#include "algorithms/hierarchy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/hierarchy_sources.h"
#include "core/alloc.h"

#define DEEPEST_OPTION 64

typedef struct {
    const char *text;
    int rank_count;
    char *taken;
    banyan_hierarchy *hierarchy;
    banyan_error *err;
} reader;

static banyan_status expected(const reader *r, const char *what)
{
    return banyan_fail(r->err, BANYAN_INVALID_ARGUMENT,
                       "option 'tree' must be ranks in brackets such as ((0,1),(2,3,4)): expected %s at '%s'",
                       what, r->text);
}

static banyan_status read_leaf(reader *r)
{
    char *end;
    long rank = strtol(r->text, &end, 10);

    if (!isdigit((unsigned char)*r->text))
        return expected(r, "a rank or a bracket");
    if (rank >= r->rank_count)
        return banyan_fail(r->err, BANYAN_INVALID_ARGUMENT,
                           "option 'tree' names rank %ld, but ranks are 0 to %d", rank, r->rank_count - 1);
    if (r->taken[rank])
        return banyan_fail(r->err, BANYAN_INVALID_ARGUMENT, "option 'tree' names rank %ld twice", rank);
    r->taken[rank] = 1;
    r->text = end;
    return banyan_hierarchy_leaf(r->hierarchy, (int)rank) ? BANYAN_SUCCESS : banyan_fail_memory(r->err);
}

static banyan_status read_branch(reader *r, int depth)
{
    banyan_status status = BANYAN_SUCCESS;

    if (*r->text != '(')
        return read_leaf(r);
    if (depth == DEEPEST_OPTION)
        return banyan_fail(r->err, BANYAN_INVALID_ARGUMENT,
                           "option 'tree' has more than %d brackets inside "
                           "one another",
                           DEEPEST_OPTION);
    if (!banyan_hierarchy_open(r->hierarchy))
        return banyan_fail_memory(r->err);
    do {
        r->text++;
        status = read_branch(r, depth + 1);
    } while (!status && *r->text == ',');
    if (status)
        return status;
    if (*r->text != ')')
        return expected(r, "',' or ')'");
    r->text++;
    banyan_hierarchy_close(r->hierarchy);
    return BANYAN_SUCCESS;
}

static banyan_status read_option(const banyan_problem *problem, const char *text, banyan_hierarchy *hierarchy,
                                 banyan_error *err)
{
    reader r = {text, problem->active_count, banyan_alloc((size_t)problem->active_count, 1), hierarchy, err};
    banyan_status status;

    if (!r.taken)
        return banyan_fail_memory(err);
    status = *text == '(' ? read_branch(&r, 0) : expected(&r, "'('");
    if (!status && *r.text)
        status = expected(&r, "the end");
    for (int rank = 0; !status && rank < problem->active_count; rank++)
        if (!r.taken[rank])
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "option 'tree' leaves out rank %d", rank);
    banyan_free(r.taken);
    return status;
}

static banyan_status build_flat(const banyan_problem *problem, banyan_hierarchy *hierarchy, banyan_error *err)
{
    int fits = banyan_hierarchy_open(hierarchy);

    for (int rank = 0; fits && rank < problem->active_count; rank++)
        fits = banyan_hierarchy_leaf(hierarchy, rank);
    if (!fits)
        return banyan_fail_memory(err);
    banyan_hierarchy_close(hierarchy);
    return BANYAN_SUCCESS;
}

/* The sources in order of preference; each leaves the hierarchy empty where it has nothing to say. */
static const struct {
    const char *name;
    banyan_status (*build)(const banyan_problem *problem, banyan_hierarchy *hierarchy, banyan_error *err);
    const char *lack;
} sources[] = {
    {"switches", banyan_hierarchy_from_switches, "its switches and workers are no tree"},
    {"hosts", banyan_hierarchy_from_hosts, "its active workers are not in several hosts"},
    {"bandwidth", banyan_hierarchy_from_bandwidth, "no links of different speeds set its workers apart"},
    {"flat", build_flat, ""},
};

#define SOURCE_COUNT (sizeof sources / sizeof *sources)

static banyan_status build_named(const banyan_problem *problem, const char *name, banyan_hierarchy *hierarchy,
                                 banyan_error *err)
{
    for (size_t i = 0; i < SOURCE_COUNT; i++)
        if (!strcmp(name, sources[i].name)) {
            banyan_status status = sources[i].build(problem, hierarchy, err);

            if (!status && hierarchy->node_count == 0)
                status = banyan_fail(err, BANYAN_UNSUPPORTED, "option 'tree' cannot be '%s' on %s: %s", name,
                                     problem->topology->name, sources[i].lack);
            return status;
        }
    return read_option(problem, name, hierarchy, err);
}

banyan_status banyan_hierarchy_find(const banyan_problem *problem, banyan_hierarchy *out, banyan_error *err)
{
    const char *text = banyan_problem_parameter(problem, "tree", NULL);
    banyan_hierarchy hierarchy = {.open_node = -1};
    banyan_status status = BANYAN_SUCCESS;

    if (text)
        status = build_named(problem, text, &hierarchy, err);
    for (size_t i = 0; !text && !status && hierarchy.node_count == 0 && i < SOURCE_COUNT; i++)
        status = sources[i].build(problem, &hierarchy, err);
    if (status) {
        banyan_hierarchy_fini(&hierarchy);
        return status;
    }
    *out = hierarchy;
    return BANYAN_SUCCESS;
}
