/* SPDX-License-Identifier: Apache-2.0 */
/* train/profile.c: a model from a profile of a running job, where tensors are numbered as they were
 * registered and become ready in an order of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "train/train.h"

typedef struct {
    double ready_s;
    int tensor;
} arrival;

static int by_ready(const void *a, const void *b)
{
    const arrival *x = a, *y = b;

    if (x->ready_s != y->ready_s)
        return x->ready_s < y->ready_s ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static banyan_status check(int count, const char *const *names, const size_t *bytes, const double *ready_s,
                           double backward_s, banyan_error *err)
{
    if (count < 1 || count > BANYAN_MAX_TENSORS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%d tensors are not 1 to %d", count,
                           BANYAN_MAX_TENSORS);
    for (int i = 0; i < count; i++) {
        if (!bytes[i] || bytes[i] > (size_t)1 << 50)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "tensor %d (%.100s) has %zu bytes, not 1 to 2^50", i, names[i], bytes[i]);
        if (!(ready_s[i] >= 0) || ready_s[i] > backward_s)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "tensor %d (%.100s) is ready after %g s, not within the %g s of backward", i,
                               names[i], ready_s[i], backward_s);
    }
    return BANYAN_SUCCESS;
}

static banyan_status fill(banyan_model *model, const char *name, const arrival *arrivals, int count,
                          const char *const *names, const size_t *bytes, banyan_error *err)
{
    model->name = banyan_strdup(name);
    model->tensors = banyan_alloc((size_t)count, sizeof *model->tensors);
    if (!model->name || !model->tensors)
        return banyan_fail_memory(err);
    for (int i = 0; i < count; i++) {
        int from = arrivals[i].tensor;

        model->tensors[i] = (banyan_tensor){banyan_strdup(names[from]), bytes[from], arrivals[i].ready_s};
        model->tensor_count = i + 1;
        if (!model->tensors[i].name)
            return banyan_fail_memory(err);
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_model_create(const char *name, int count, const char *const *names, const size_t *bytes,
                                  const double *ready_s, double forward_s, double backward_s, int *order,
                                  banyan_model **out, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    banyan_model *model;
    arrival *arrivals;

    *out = NULL;
    if (!(forward_s >= 0) || !(backward_s >= 0) || forward_s > 1e9 || backward_s > 1e9)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "forward of %g s and backward of %g s", forward_s,
                           backward_s);
    status = check(count, names, bytes, ready_s, backward_s, err);
    if (status)
        return status;
    model = banyan_alloc(1, sizeof *model);
    arrivals = banyan_alloc((size_t)count, sizeof *arrivals);
    if (model && arrivals) {
        for (int i = 0; i < count; i++)
            arrivals[i] = (arrival){ready_s[i], i};
        qsort(arrivals, (size_t)count, sizeof *arrivals, by_ready);
        model->forward_s = forward_s;
        model->backward_s = backward_s;
        status = fill(model, name, arrivals, count, names, bytes, err);
    } else {
        status = banyan_fail_memory(err);
    }
    for (int i = 0; !status && order && i < count; i++)
        order[i] = arrivals[i].tensor;
    banyan_free(arrivals);
    if (status) {
        banyan_model_destroy(model);
        return status;
    }
    *out = model;
    return BANYAN_SUCCESS;
}
