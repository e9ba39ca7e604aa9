/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of models: any bytes give a model that can be planned, or a sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "train/train.h"

static void plan(const banyan_model *model)
{
    banyan_cost cost;

    if (banyan_cost_parse("linear:1e-3,1e-9,1.5", &cost, NULL))
        abort();
    for (int i = 0; i < banyan_policy_count(); i++) {
        banyan_train_problem problem = {model, &cost, 2, 0};
        banyan_grouping *grouping;

        if (banyan_policy_plan(banyan_policy_at(i), &problem, &grouping, NULL) ||
            !(grouping->iteration_s >= grouping->bound_s * (1 - 1e-9)))
            abort();
        banyan_grouping_destroy(grouping);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_model *model;
    banyan_error err = {{0}};

    if (banyan_model_parse((const char *)data, size, "fuzz", 4, &model, &err) ? !*err.text || model : !model)
        abort();
    if (model && model->tensor_count <= 32)
        plan(model);
    banyan_model_destroy(model);
    return 0;
}
