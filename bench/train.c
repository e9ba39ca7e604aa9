/* SPDX-License-Identifier: Apache-2.0 */
/* bench/train.c: how long it takes to plan an iteration: the policy optimal on every model that comes along,
 * for networks that one all-reduce fills and others, with cheap and with dear start-ups; CPU time, the median
 * of five. The promise is 100 ms for DenseNet-201's 604 tensors. */
#include <stdio.h>

#include "train/observe.h"
#include "train/train.h"

enum { RUNS = 5 };

static double planning_time(const banyan_model *model, const banyan_cost *cost, int streams,
                            banyan_error *err)
{
    const banyan_train_problem problem = {.model = model, .cost = cost, .streams = streams};
    double seconds[RUNS];

    for (int i = 0; i < RUNS; i++) {
        banyan_grouping *grouping = NULL;

        if (banyan_policy_plan(banyan_policy_find("optimal"), &problem, &grouping, err))
            return -1;
        seconds[i] = grouping->planning_s;
        banyan_grouping_destroy(grouping);
    }
    return banyan_median(seconds, RUNS);
}

static int print_model(const char *name, const char *text)
{
    static const int streams[] = {1, 2, 4, 0};
    banyan_error err = {""};
    banyan_model *model = NULL;
    banyan_cost cost;

    if (banyan_cost_parse(text, &cost, &err) || banyan_model_load(name, 4, &model, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%-14s %7d  %-28s", name, model->tensor_count, text);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        printf(" %9.2f", 1e3 * planning_time(model, &cost, streams[i], &err));
    printf("\n");
    banyan_model_destroy(model);
    return 0;
}

int main(void)
{
    static const char *const models[] = {"resnet152", "densenet201", "inceptionv4", "bert_base",
                                         "resnet50",  "vgg16",       "gpt2_small"};
    static const char *const costs[] = {"linear:1.4e-3,1.7e-9,1.5", "linear:1.4e-3,1.7e-9,1.5,none",
                                        "linear:5e-3,1.7e-9,1.1,none", "linear:1e-5,1e-10,1.5,none"};
    int failures = 0;

    printf("%-14s %7s  %-28s %9s %9s %9s %9s  ms of CPU\n", "model", "tensors", "cost", "1 stream", "2", "4",
           "as it likes");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (size_t k = 0; k < sizeof costs / sizeof *costs; k++)
            failures += print_model(models[i], costs[k]);
    return failures > 0;
}
