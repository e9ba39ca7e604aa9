/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of groupings: any bytes give a grouping that holds the model, or a sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "train/train.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static banyan_tensor tensors[] = {
        {(char *)"a", 4000, 1e-3}, {(char *)"b", 8192, 2e-3}, {(char *)"c", 8388608, 3e-3}};
    const banyan_model model = {
        .name = (char *)"three", .tensor_count = 3, .tensors = tensors, .backward_s = 3e-3};
    banyan_cost cost;
    banyan_grouping *grouping;
    banyan_error err = {{0}};
    size_t bytes = 0;

    if (banyan_cost_parse("linear:1e-3,1e-9,1.5", &cost, NULL))
        abort();
    if (banyan_grouping_parse((const char *)data, size, &model, &cost, &grouping, &err)) {
        if (!*err.text || grouping)
            abort();
        return 0;
    }
    for (int i = 0; i < grouping->group_count; i++)
        bytes += grouping->groups[i].bytes;
    if (bytes != 4000 + 8192 + 8388608 || !(grouping->iteration_s >= grouping->bound_s * (1 - 1e-9)))
        abort();
    banyan_grouping_destroy(grouping);
    return 0;
}
