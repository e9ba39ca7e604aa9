/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/train_reference.h: a second opinion on groupings, written apart from src/train: a plain event
 * simulation over all groups at once, and exhaustive search on top of it. */
#ifndef BANYAN_TRAIN_REFERENCE_H
#define BANYAN_TRAIN_REFERENCE_H

#include <math.h>

#include "core/random.h"
#include "train/train.h"

enum { REFERENCE_MOST = 16 };

/* One group as the reference sees it. */
typedef struct {
    double ready_s, bytes;
    int level;
    double start_s, left_s; /* start_s < 0: not yet; left_s < 0: done */
} reference_group;

static double reference_work(const banyan_cost *cost, double bytes)
{
    double below = 0, below_s = 0, above = 0, above_s = 0;

    if (!cost->point_count)
        return bytes * cost->s_per_byte;
    for (int i = 0; i < cost->point_count; i++)
        if (i < cost->point_count - 1 && cost->points[i].bytes < bytes) {
            below = cost->points[i].bytes;
            below_s = cost->points[i].work_s;
        } else if (!(above > 0)) {
            above = cost->points[i].bytes;
            above_s = cost->points[i].work_s;
        }
    return below_s * (above - bytes) / (above - below) + above_s * (bytes - below) / (above - below);
}

/* When the last one ends. */
static double reference_end(reference_group *groups, int count, const banyan_cost *cost)
{
    double now_s = 0;
    int started = 0, done = 0;

    for (int g = 0; g < count; g++) {
        groups[g].start_s = -1;
        groups[g].left_s = reference_work(cost, groups[g].bytes);
    }
    while (done < count) {
        double next_s = INFINITY;
        int wire = 0;

        while (started < count && groups[started].ready_s <= now_s && started - done <= groups[started].level)
            groups[started++].start_s = now_s;
        for (int g = 0; g < started; g++)
            wire += groups[g].left_s >= 0 && groups[g].start_s + cost->start_s <= now_s;
        for (int g = 0; g < started; g++) {
            double wire_s = groups[g].start_s + cost->start_s;

            if (groups[g].left_s >= 0)
                next_s = fmin(next_s, wire_s > now_s ? wire_s : now_s + groups[g].left_s / cost->speed[wire]);
        }
        if (started < count && groups[started].ready_s > now_s)
            next_s = fmin(next_s, groups[started].ready_s);
        for (int g = 0; g < started; g++)
            if (groups[g].left_s >= 0 && groups[g].start_s + cost->start_s <= now_s) {
                groups[g].left_s -= (next_s - now_s) * cost->speed[wire];
                if (groups[g].left_s < 1e-15) {
                    groups[g].left_s = -1;
                    done++;
                }
            }
        now_s = next_s;
    }
    return now_s;
}

/* The best over all groupings of neighbours and all levels below streams: tensor i closes a group or not. */
static double reference_best(const banyan_model *model, const banyan_cost *cost, int streams)
{
    int choices = 1, count = model->tensor_count;
    double best_s = INFINITY;

    for (int i = 0; i < count; i++)
        choices *= streams + 1;
    for (int choice = 0; choice < choices; choice++) {
        reference_group groups[REFERENCE_MOST];
        int rest = choice, g = 0, is_open = 0;
        double bytes = 0;

        for (int i = 0; i < count; i++, rest /= streams + 1) {
            bytes += (double)model->tensors[i].bytes;
            is_open = rest % (streams + 1) == streams;
            if (is_open)
                continue;
            groups[g++] = (reference_group){
                .ready_s = model->tensors[i].ready_s, .bytes = bytes, .level = rest % (streams + 1)};
            bytes = 0;
        }
        if (!is_open)
            best_s = fmin(best_s, reference_end(groups, g, cost));
    }
    return best_s;
}

/* A model of so many tensors at the most in the caller's array: bytes from 4 KiB to 4 MiB, up to 3 ms
 * apart. */
static banyan_model random_model(banyan_random *random, banyan_tensor *tensors, int most)
{
    banyan_model model = {.name = (char *)"random", .tensors = tensors};

    model.tensor_count = 1 + banyan_random_below(random, most);
    for (int i = 0; i < model.tensor_count; i++) {
        model.backward_s += banyan_random_below(random, 4) ? 3e-3 * banyan_random_unit(random) : 0;
        tensors[i] = (banyan_tensor){
            (char *)"t", (size_t)exp(log(4096) + banyan_random_unit(random) * log(1024)), model.backward_s};
    }
    model.forward_s = model.backward_s / 2;
    return model;
}

static banyan_cost random_cost(banyan_random *random)
{
    double a = banyan_random_below(random, 8) ? 3e-3 * banyan_random_unit(random) : 0;
    double b = 2e-9 * (0.05 + banyan_random_unit(random)), gamma = 1 + 1.2 * banyan_random_unit(random);
    banyan_cost cost;

    if (banyan_cost_linear(a, b, gamma, banyan_random_below(random, 2) ? b : 0, &cost, NULL))
        abort();
    if (!banyan_random_below(random, 3)) { /* bent: a table */
        double bytes[8], seconds[8];

        for (int i = 0; i < 8; i++) {
            bytes[i] = 2048 << (2 * i);
            seconds[i] = (a + 1e-6 + b * bytes[i]) * (0.8 + 0.4 * banyan_random_unit(random));
        }
        if (banyan_cost_table(bytes, seconds, 8, &cost, NULL, NULL) ||
            banyan_cost_set_speeds(&cost, (double[]){1, 1 / gamma}, 2, NULL))
            abort();
    }
    return cost;
}

#endif
