/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bench_values.c: numbers whose sums and products are exact, and what must come out of them. */
#include "bench_values.h"

#include <string.h>

#include "schedule/schedule.h"

/* The number that rank r puts into element i: small, whole and positive, so that sums and products of it are
 * exact in every type that can hold them. */
static int sample(int rank, size_t i, const bench_task *task)
{
    if (task->op == BANYAN_PROD)
        return rank < 3 ? 1 + (int)((i + (size_t)rank) % 2) : 1;
    return 1 + (int)((i + (size_t)rank) % 3);
}

static uint16_t top_half(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Exact for whole numbers of magnitude 1 to 2048, which is all that we write. */
static uint16_t to_half(int value)
{
    int exponent = 31 - __builtin_clz((unsigned)value);

    return (uint16_t)((exponent + 15) << 10 |
                      ((exponent <= 10 ? value << (10 - exponent) : value >> (exponent - 10)) & 0x3ff));
}

static void store(void *buffer, size_t i, banyan_datatype type, int value)
{
    switch (type) {
    case BANYAN_INT8:
    case BANYAN_UINT8:
        ((uint8_t *)buffer)[i] = (uint8_t)value;
        break;
    case BANYAN_INT32:
    case BANYAN_UINT32:
        ((int32_t *)buffer)[i] = value;
        break;
    case BANYAN_INT64:
    case BANYAN_UINT64:
        ((int64_t *)buffer)[i] = value;
        break;
    case BANYAN_FLOAT32:
        ((float *)buffer)[i] = (float)value;
        break;
    case BANYAN_FLOAT64:
        ((double *)buffer)[i] = value;
        break;
    case BANYAN_FLOAT16:
        ((uint16_t *)buffer)[i] = to_half(value);
        break;
    case BANYAN_BFLOAT16:
        ((uint16_t *)buffer)[i] = top_half((float)value);
        break;
    }
}

/* What the op makes of all ranks' samples; 0 in *known where rounding makes it depend on the order. */
static int combine(size_t i, const bench_task *task, int *known)
{
    int sum = 0, product = 1, least = 4, most = 0;

    for (int r = 0; r < task->ranks; r++) {
        int value = sample(r, i, task);

        sum += value;
        product *= value;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    *known = 1;
    switch (task->op) {
    case BANYAN_PROD:
        return product;
    case BANYAN_MAX:
        return most;
    case BANYAN_MIN:
        return least;
    case BANYAN_AVG:
        *known = sum % task->ranks == 0;
        return sum / task->ranks;
    case BANYAN_SUM:
        break;
    }
    *known = !((task->type == BANYAN_BFLOAT16 && sum > 256) || (task->type == BANYAN_FLOAT16 && sum > 2048));
    return sum;
}

void bench_fill(const bench_task *task, int rank, void *vector, size_t count)
{
    for (size_t i = 0; i < count; i++)
        store(vector, i, task->type, sample(rank, i, task));
}

/* Elements of this rank's result, and which of the vector's they are. */
static void result_range(const bench_task *task, int rank, size_t count, size_t *begin, size_t *end)
{
    size_t share = count / (size_t)task->ranks;

    *begin = 0;
    *end = count;
    if (task->collective == BANYAN_COLLECTIVE_REDUCE_SCATTER) {
        *begin = share * (size_t)rank;
        *end = *begin + share;
    }
    if (task->collective == BANYAN_COLLECTIVE_REDUCE && rank != task->root)
        *end = 0;
}

long bench_count_wrong(const bench_task *task, int rank, const void *result, size_t count)
{
    size_t width = banyan_datatype_bytes(task->type), begin, end, share = count / (size_t)task->ranks;
    long wrong = 0;

    result_range(task, rank, count, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        uint64_t wanted = 0;
        int known = 1, value;

        if (task->collective == BANYAN_COLLECTIVE_ALLGATHER)
            value = sample((int)(share ? i / share : 0), i, task);
        else if (task->collective == BANYAN_COLLECTIVE_BROADCAST)
            value = sample(task->root, i, task);
        else
            value = combine(i, task, &known);
        store(&wanted, 0, task->type, value);
        wrong += known && memcmp((const char *)result + (i - begin) * width, &wanted, width) != 0;
    }
    return wrong;
}
