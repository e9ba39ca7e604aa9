/* SPDX-License-Identifier: Apache-2.0 */
/* train/decision.c: units and cuts. */
#include "train/decision.h"

#include <string.h>

#include "core/alloc.h"

/* A tensor of n bytes becomes ceil(n / most) parts that differ by a few bytes at the most and begin at
 * multiples of eight, so that no element is cut. */
static size_t part_offset(size_t bytes, size_t parts, size_t i)
{
    return i == parts ? bytes : (size_t)((double)bytes / (double)parts * (double)i) / 8 * 8;
}

static size_t count_parts(const banyan_tensor *tensor, size_t most_bytes)
{
    return most_bytes && tensor->bytes > most_bytes ? (tensor->bytes + most_bytes - 1) / most_bytes : 1;
}

static void fill(banyan_grouping_units *units, const banyan_model *model, size_t most_bytes)
{
    int unit = 0;

    for (int t = 0; t < model->tensor_count; t++) {
        size_t bytes = model->tensors[t].bytes, parts = count_parts(&model->tensors[t], most_bytes);

        for (size_t i = 0; i < parts; i++, unit++) {
            size_t offset = part_offset(bytes, parts, i), next = part_offset(bytes, parts, i + 1);

            units->parts[unit] = (banyan_gradient_part){t, offset, next - offset};
            units->ready_s[unit] = model->tensors[t].ready_s;
            units->bytes_before[unit + 1] = units->bytes_before[unit] + (double)(next - offset);
        }
    }
}

banyan_status banyan_grouping_units_init(banyan_grouping_units *units, const banyan_model *model,
                                         size_t most_bytes, banyan_error *err)
{
    size_t count = 0;

    memset(units, 0, sizeof *units);
    for (int t = 0; t < model->tensor_count; t++) {
        count += count_parts(&model->tensors[t], most_bytes);
        if (count > BANYAN_MAX_TENSORS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "split at %zu bytes, %s has more than %d parts",
                               most_bytes, model->name, BANYAN_MAX_TENSORS);
    }
    units->count = (int)count;
    units->parts = banyan_alloc(count, sizeof *units->parts);
    units->ready_s = banyan_alloc(count, sizeof *units->ready_s);
    units->bytes_before = banyan_alloc(count + 1, sizeof *units->bytes_before);
    if (!units->parts || !units->ready_s || !units->bytes_before) {
        banyan_grouping_units_fini(units);
        return banyan_fail_memory(err);
    }
    fill(units, model, most_bytes);
    return BANYAN_SUCCESS;
}

void banyan_grouping_units_fini(banyan_grouping_units *units)
{
    banyan_free(units->parts);
    banyan_free(units->ready_s);
    banyan_free(units->bytes_before);
    memset(units, 0, sizeof *units);
}

banyan_status banyan_grouping_cuts_init(banyan_grouping_cuts *cuts, const banyan_grouping_units *units,
                                        banyan_error *err)
{
    cuts->count = 0;
    cuts->cuts = banyan_alloc((size_t)units->count, sizeof *cuts->cuts);
    return cuts->cuts ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

void banyan_grouping_cuts_fini(banyan_grouping_cuts *cuts)
{
    banyan_free(cuts->cuts);
    memset(cuts, 0, sizeof *cuts);
}

void banyan_grouping_cuts_copy(banyan_grouping_cuts *to, const banyan_grouping_cuts *from)
{
    to->count = from->count;
    memcpy(to->cuts, from->cuts, (size_t)from->count * sizeof *from->cuts);
}

void banyan_grouping_cuts_add(banyan_grouping_cuts *cuts, int end, int level)
{
    cuts->cuts[cuts->count++] = (banyan_cut){end, level, 0};
}
