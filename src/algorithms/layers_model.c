/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers_model.c: see layers_model.h. */
#include "algorithms/layers_model.h"

/* A layer within the node has its links; one that leaves it shares the adapters with as many rings as there
 * are workers of the node in different ones. */
static double layer_bytes_per_s(const banyan_layers_model *model, int stride, int extent)
{
    int rings = stride < model->node_size ? stride : model->node_size;

    if ((long)stride * extent <= model->node_size)
        return model->inside_bytes_per_s;
    return model->outside_bytes_per_s / rings;
}

static double layer_s(const banyan_layers_model *model, int stride, int extent, int ranks, double bytes)
{
    banyan_plain_ring ring = {model->slices * model->latency_s, layer_bytes_per_s(model, stride, extent)};

    if (model->measured)
        return banyan_measured_layer_s(model->measured, model->node_size, &ring, stride, extent, ranks,
                                       bytes / stride);
    return 2.0 * (extent - 1) * (ring.step_s + bytes / ((double)stride * extent) / ring.bytes_per_s);
}

double banyan_layers_model_s(const banyan_layers_model *model, const banyan_layers *shape, double bytes)
{
    int ranks = banyan_layers_size(shape);
    double sum = 0;

    for (int i = 0, stride = 1; i < shape->layer_count; stride *= shape->extent[i++])
        sum += layer_s(model, stride, shape->extent[i], ranks, bytes);
    return sum;
}

/* A race of shapes. With out it keeps the best; without, it counts those within a limit. */
typedef struct {
    const banyan_layers_model *model;
    int ranks, most_layers;
    double bytes;
    banyan_ranked_layers *out;
    int count, most;
    long tried, close;
    double close_s;
    banyan_layers shape;
} contest;

/* Shapes come in the order of their extents, so an equal one that comes later stands behind. */
static void keep(contest *c, double seconds)
{
    int place = c->count < c->most ? c->count++ : c->most;

    if (place == c->most && seconds >= c->out[--place].seconds * (1 - 1e-12))
        return;
    while (place > 0 && seconds < c->out[place - 1].seconds * (1 - 1e-12)) {
        c->out[place] = c->out[place - 1];
        place--;
    }
    c->out[place] = (banyan_ranked_layers){c->shape, seconds};
}

static void enter(contest *c, double seconds)
{
    if (c->out && c->most > 0)
        keep(c, seconds);
    c->tried++;
    c->close += seconds <= c->close_s;
}

static void try_all(contest *c, int stride, double seconds)
{
    int left = c->ranks / stride;

    if (left == 1) {
        enter(c, seconds);
        return;
    }
    if (c->shape.layer_count == c->most_layers)
        return;
    for (int extent = 2; extent <= left; extent++)
        if (left % extent == 0) {
            c->shape.extent[c->shape.layer_count++] = extent;
            try_all(c, stride * extent, seconds + layer_s(c->model, stride, extent, c->ranks, c->bytes));
            c->shape.layer_count--;
        }
}

/* The two ways to make a shape for more ranks from one for fewer. */
static void try_extensions(contest *c, const banyan_layers *shape, int factor)
{
    int last = shape->layer_count - 1;

    c->shape = *shape;
    if (shape->layer_count < c->most_layers) {
        c->shape.extent[c->shape.layer_count++] = factor;
        enter(c, banyan_layers_model_s(c->model, &c->shape, c->bytes));
    }
    c->shape = *shape;
    c->shape.extent[last] *= factor;
    enter(c, banyan_layers_model_s(c->model, &c->shape, c->bytes));
    c->shape.layer_count = 0;
}

static int smallest_factor(int number)
{
    for (int factor = 2; factor <= number / factor; factor++)
        if (number % factor == 0)
            return factor;
    return number;
}

/* One race of all shapes, or of the extensions of the winner for fewer ranks. */
static void race(contest *c, int all_up_to)
{
    int factor = smallest_factor(c->ranks);

    if (c->ranks < 2)
        return;
    if (c->ranks <= all_up_to || factor == c->ranks) {
        try_all(c, 1, 0);
    } else {
        banyan_ranked_layers best;
        contest smaller = {.model = c->model,
                           .ranks = c->ranks / factor,
                           .most_layers = c->most_layers,
                           .bytes = c->bytes,
                           .out = &best,
                           .most = 1};

        race(&smaller, all_up_to);
        c->tried += smaller.tried;
        if (smaller.count)
            try_extensions(c, &best.shape, factor);
    }
}

/* A second race tells how many were close to the first one's winner. */
int banyan_layers_rank_by_rules(const banyan_layers_model *model, int ranks, int most_layers, int all_up_to,
                                double bytes, banyan_ranked_layers *out, int most, banyan_layers_tally *tally)
{
    contest first = {.model = model, .ranks = ranks, .bytes = bytes, .out = out, .most = most}, second;

    first.most_layers = most_layers < BANYAN_MAX_LAYERS ? most_layers : BANYAN_MAX_LAYERS;
    second = first;
    race(&first, all_up_to);
    if (tally && first.count) {
        second.out = NULL;
        second.close_s = out[0].seconds * BANYAN_LAYERS_CLOSE;
        race(&second, all_up_to);
    }
    if (tally)
        *tally = (banyan_layers_tally){first.tried, second.close};
    return first.count;
}

int banyan_layers_rank(const banyan_layers_model *model, int ranks, int most_layers, double bytes,
                       banyan_ranked_layers *out, int most, banyan_layers_tally *tally)
{
    return banyan_layers_rank_by_rules(model, ranks, most_layers, ranks, bytes, out, most, tally);
}
