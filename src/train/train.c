/* SPDX-License-Identifier: Apache-2.0 */
/* train/train.c: the list of all policies, and the functions through which each decides and is judged. */
#include "train/train.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "train/decision.h"

#define X(name) extern const banyan_policy banyan_policy_##name;
#include "train/list.h"
#undef X

static const banyan_policy *const all[] = {
#define X(name) &banyan_policy_##name,
#include "train/list.h"
#undef X
};

int banyan_policy_count(void)
{
    return (int)(sizeof all / sizeof *all);
}

const banyan_policy *banyan_policy_at(int i)
{
    return i >= 0 && i < banyan_policy_count() ? all[i] : NULL;
}

const banyan_policy *banyan_policy_find(const char *name)
{
    for (int i = 0; i < banyan_policy_count(); i++)
        if (!strcmp(all[i]->name, name))
            return all[i];
    return NULL;
}

static banyan_status check(const banyan_train_problem *problem, banyan_error *err)
{
    const banyan_model *model = problem->model;

    if (problem->streams < 0 || problem->streams > BANYAN_MAX_STREAMS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d all-reduces at a time are not from 1 to %d",
                           problem->streams, BANYAN_MAX_STREAMS);
    if (model->tensor_count < 1 || model->tensor_count > BANYAN_MAX_TENSORS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s has %d tensors, not 1 to %d", model->name,
                           model->tensor_count, BANYAN_MAX_TENSORS);
    for (int i = 0; i < model->tensor_count; i++) {
        double ready_s = model->tensors[i].ready_s, before_s = i ? model->tensors[i - 1].ready_s : 0;

        if (!isfinite(ready_s) || ready_s < before_s)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "tensor %d is ready at %g s, before %g s", i,
                               ready_s, before_s);
    }
    return BANYAN_SUCCESS;
}

static void fill_groups(banyan_grouping *grouping, const banyan_decision *decision)
{
    const banyan_grouping_units *units = &decision->units;
    int first = 0;

    for (int g = 0; g < grouping->group_count; g++) {
        const banyan_cut *cut = &decision->cuts.cuts[g];

        grouping->groups[g] = (banyan_gradient_group){
            .first_part = first,
            .part_count = cut->end - first,
            .bytes = (size_t)(units->bytes_before[cut->end] - units->bytes_before[first]),
            .level = cut->level,
            .release_s = cut->release_s};
        first = cut->end;
    }
}

static banyan_status make_grouping(banyan_decision *decision, banyan_grouping **out, banyan_error *err)
{
    banyan_grouping *grouping = banyan_alloc(1, sizeof *grouping);

    if (grouping)
        grouping->groups = banyan_alloc((size_t)decision->cuts.count, sizeof *grouping->groups);
    if (!grouping || !grouping->groups) {
        banyan_grouping_destroy(grouping);
        return banyan_fail_memory(err);
    }
    grouping->group_count = decision->cuts.count;
    grouping->streams = decision->streams;
    fill_groups(grouping, decision);
    grouping->part_count = decision->units.count;
    grouping->parts = decision->units.parts;
    decision->units.parts = NULL; /* the grouping's now */
    *out = grouping;
    return BANYAN_SUCCESS;
}

banyan_status banyan_policy_plan(const banyan_policy *policy, const banyan_train_problem *problem,
                                 banyan_grouping **out, banyan_error *err)
{
    banyan_decision decision = {.streams = problem->streams ? problem->streams : policy->streams};
    double begin_s = banyan_clock_cpu_s();
    banyan_grouping *grouping = NULL;
    banyan_status status = check(problem, err);

    *out = NULL;
    if (!status)
        status = banyan_grouping_units_init(&decision.units, problem->model, 0, err);
    if (!status)
        status = banyan_grouping_cuts_init(&decision.cuts, &decision.units, err);
    if (!status)
        status = policy->decide(problem, &decision, err);
    if (!status)
        status = make_grouping(&decision, &grouping, err);
    if (!status)
        status = banyan_grouping_judge(grouping, problem->model, problem->cost, err);
    banyan_grouping_units_fini(&decision.units);
    banyan_grouping_cuts_fini(&decision.cuts);
    if (status) {
        banyan_grouping_destroy(grouping);
        return status;
    }
    grouping->planning_s = banyan_clock_cpu_s() - begin_s;
    *out = grouping;
    return BANYAN_SUCCESS;
}
