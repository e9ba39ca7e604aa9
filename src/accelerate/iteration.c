/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/iteration.c: plays an iteration: layers forward, layers backward, and the queue of
 * all-reduces. */
#include "accelerate/iteration.h"

double banyan_time_at(const banyan_time_by_size *times, double bytes)
{
    int i = 1;
    double slope;

    if (times->count == 1 || bytes <= times->bytes[0])
        return times->seconds[0];
    while (i < times->count - 1 && times->bytes[i] < bytes)
        i++;
    slope = (times->seconds[i] - times->seconds[i - 1]) / (times->bytes[i] - times->bytes[i - 1]);
    return times->seconds[i - 1] + slope * (bytes - times->bytes[i - 1]);
}

static double backward_seconds(const banyan_accelerator *accelerator, const banyan_layer *layer, int samples)
{
    banyan_layer_cycles cycles = banyan_accelerate_layer(accelerator, layer);

    return banyan_accelerate_seconds(accelerator, cycles.input_gradient + cycles.weight_gradient, samples);
}

static double layer_bytes(const banyan_accelerator *accelerator, const banyan_layer *layer)
{
    return (double)banyan_layer_parameters(layer) * accelerator->bytes_per_value;
}

void banyan_iterate(const banyan_accelerator *accelerator, const banyan_dnn *dnn, int samples,
                    int is_overlapped, const banyan_time_by_size *times, banyan_iteration *out)
{
    double now_s = 0, free_s = 0, end_s;

    *out = (banyan_iteration){0};
    for (int i = 0; i < dnn->layer_count; i++)
        out->forward_s += banyan_accelerate_seconds(
            accelerator, banyan_accelerate_layer(accelerator, &dnn->layers[i]).forward, samples);
    for (int i = dnn->layer_count - 1; i >= 0; i--) {
        double bytes = layer_bytes(accelerator, &dnn->layers[i]), seconds;

        now_s += backward_seconds(accelerator, &dnn->layers[i], samples);
        out->gradient_bytes += bytes;
        if (!is_overlapped)
            continue;
        seconds = banyan_time_at(times, bytes);
        free_s = (free_s > now_s ? free_s : now_s) + seconds;
        out->communication_s += seconds;
        out->reduce_count++;
    }
    out->backward_s = now_s;
    if (!is_overlapped) {
        out->communication_s = banyan_time_at(times, out->gradient_bytes);
        out->reduce_count = 1;
        free_s = now_s + out->communication_s;
    }
    end_s = free_s > now_s ? free_s : now_s;
    out->exposed_s = is_overlapped ? end_s - now_s : out->communication_s;
    out->overlapped_s = out->communication_s - out->exposed_s;
    if (out->overlapped_s < 0)
        out->overlapped_s = 0; /* but for rounding */
    out->iteration_s = out->forward_s + end_s;
}
