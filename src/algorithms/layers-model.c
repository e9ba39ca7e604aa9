/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers-model.c: see layers-model.h. */
#include "algorithms/layers-model.h"

/* A layer within the node has its links; one that leaves it shares the adapters with as many rings as there
 * are workers of the node in different ones. */
static double layer_bytes_per_s(const banyan_layers_model *model, int stride, int extent)
{
    int rings = stride < model->node_size ? stride : model->node_size;

    if ((long)stride * extent <= model->node_size)
        return model->inside_bytes_per_s;
    return model->outside_bytes_per_s / rings;
}

static double layer_s(const banyan_layers_model *model, int stride, int extent, double bytes)
{
    double step_bytes = bytes / ((double)stride * extent);

    return 2.0 * (extent - 1) *
           (model->slices * model->latency_s + step_bytes / layer_bytes_per_s(model, stride, extent));
}

double banyan_layers_model_s(const banyan_layers_model *model, const banyan_layers *shape, double bytes)
{
    double sum = 0;

    for (int i = 0, stride = 1; i < shape->layer_count; stride *= shape->extent[i++])
        sum += layer_s(model, stride, shape->extent[i], bytes);
    return sum;
}

typedef struct {
    const banyan_layers_model *model;
    int ranks, most_layers;
    double bytes;
    banyan_ranked_layers *out;
    int count, most;
    long tried;
    banyan_layers shape;
} contest;

/* Shapes come in the order of their extents, so an equal one that comes later stands behind. */
static void enter(contest *c, double seconds)
{
    int place = c->count < c->most ? c->count++ : c->most - 1;

    if (place == c->most - 1 && c->tried >= c->most && seconds >= c->out[place].seconds * (1 - 1e-12))
        return;
    while (place > 0 && seconds < c->out[place - 1].seconds * (1 - 1e-12)) {
        c->out[place] = c->out[place - 1];
        place--;
    }
    c->out[place] = (banyan_ranked_layers){c->shape, seconds};
}

static void try_all(contest *c, int stride, double seconds)
{
    int left = c->ranks / stride;

    if (left == 1) {
        if (c->most > 0)
            enter(c, seconds);
        c->tried++;
        return;
    }
    if (c->shape.layer_count == c->most_layers)
        return;
    for (int extent = 2; extent <= left; extent++)
        if (left % extent == 0) {
            c->shape.extent[c->shape.layer_count++] = extent;
            try_all(c, stride * extent, seconds + layer_s(c->model, stride, extent, c->bytes));
            c->shape.layer_count--;
        }
}

int banyan_layers_rank(const banyan_layers_model *model, int ranks, int most_layers, double bytes,
                       banyan_ranked_layers *out, int most, long *tried)
{
    contest c = {.model = model, .ranks = ranks, .bytes = bytes, .out = out, .most = most};

    c.most_layers = most_layers < BANYAN_MOST_LAYERS ? most_layers : BANYAN_MOST_LAYERS;
    if (ranks > 1)
        try_all(&c, 1, 0);
    if (tried)
        *tried = c.tried;
    return c.count;
}
