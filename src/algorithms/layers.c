/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/layers.c: reading shapes, and the search for the best one.
 *
 * A layer's time depends only on its stride (the product of the layers before it) and its extent: all its
 * rings send n / (stride extent) in each of 2 (extent - 1) steps, each step as long as its busiest link
 * needs. So strides are the stops of a journey from 1 to p, layers its legs, and the best of all ordered
 * factorisations is the shortest way, found without trying them all. */
#include "algorithms/layers.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "topology/routes.h"

banyan_status banyan_layers_parse(const char *text, const char *option, banyan_layers *out, banyan_error *err)
{
    banyan_layers shape = {0};
    const char *at = text;

    for (;;) {
        char *end;
        long extent = strtol(at, &end, 10);

        if (!isdigit((unsigned char)*at) || extent < 1 || extent > 1000000)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "option '%s' must be a shape such as 4x8x4, not '%s'", option, text);
        if (shape.layer_count == BANYAN_MAX_LAYERS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "option '%s' has more than %d layers", option,
                               BANYAN_MAX_LAYERS);
        shape.extent[shape.layer_count++] = (int)extent;
        if (!*end)
            break;
        if (*end != 'x')
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "option '%s' must be a shape such as 4x8x4, not '%s'", option, text);
        at = end + 1;
    }
    *out = shape;
    return BANYAN_SUCCESS;
}

void banyan_layers_format(const banyan_layers *shape, char *buffer, size_t size)
{
    size_t used = 0;

    if (size > 0)
        buffer[0] = '\0';
    for (int i = 0; i < shape->layer_count && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, i ? "x%d" : "%d", shape->extent[i]);
}

double banyan_layers_transfers(const banyan_layers *shape, banyan_collective collective)
{
    double steps = 0, size = banyan_layers_size(shape);

    if (collective != BANYAN_COLLECTIVE_ALLREDUCE)
        return size * (size - 1);
    for (int i = 0; i < shape->layer_count; i++)
        steps += 2.0 * (shape->extent[i] - 1);
    return steps * size;
}

typedef struct {
    const banyan_topology *topology;
    const int *nodes;
    int count, ways;
    double bytes;
    banyan_routes *routes;
    double *load;  /* flows on each link in one step of a layer, per byte and second */
    double *best;  /* least time from stride 1 to this stride */
    int *previous; /* the stride before it on that way */
} search;

static banyan_status load_route(search *s, int src, int dst, double *latency_s, banyan_error *err)
{
    const banyan_link *links = s->topology->links;
    const int *route;
    int count;
    double sum = 0;
    banyan_status status = banyan_routes_find(s->routes, s->nodes[src], s->nodes[dst], &route, &count, err);

    if (status)
        return status;
    for (int i = 0; i < count; i++) {
        s->load[route[i]] += 1 / links[route[i]].bytes_per_s / s->ways;
        sum += links[route[i]].latency_s;
    }
    *latency_s = fmax(*latency_s, sum);
    return BANYAN_SUCCESS;
}

/* Seconds of one layer, reduce-scatter and all-gather. */
static banyan_status time_layer(search *s, int stride, int extent, double *seconds, banyan_error *err)
{
    double latency_s = 0, busiest = 0;

    for (int i = 0; i < s->topology->link_count; i++)
        s->load[i] = 0;
    for (int node = 0; node < s->count; node++) {
        int place = node / stride % extent, next = node - place * stride + (place + 1) % extent * stride;
        banyan_status status = load_route(s, node, next, &latency_s, err);

        if (!status && s->ways == 2)
            status = load_route(s, next, node, &latency_s, err);
        if (status)
            return status;
    }
    for (int i = 0; i < s->topology->link_count; i++)
        busiest = fmax(busiest, s->load[i]);
    *seconds = 2.0 * (extent - 1) * (latency_s + s->bytes / ((double)stride * extent) * busiest);
    return BANYAN_SUCCESS;
}

/* All legs from a stride that is already reached by the best way. */
static banyan_status leave(search *s, int stride, banyan_error *err)
{
    for (int extent = 2; extent <= s->count / stride; extent++) {
        double seconds;
        banyan_status status;

        if (s->count / stride % extent)
            continue;
        status = time_layer(s, stride, extent, &seconds, err);
        if (status)
            return status;
        if (s->best[stride] + seconds < s->best[stride * extent] * (1 - 1e-12)) {
            s->best[stride * extent] = s->best[stride] + seconds;
            s->previous[stride * extent] = stride;
        }
    }
    return BANYAN_SUCCESS;
}

static banyan_status run_search(search *s, banyan_layers *out, banyan_error *err)
{
    banyan_layers shape = {0};

    for (int i = 2; i <= s->count; i++)
        s->best[i] = HUGE_VAL;
    for (int stride = 1; stride < s->count; stride++)
        if (s->count % stride == 0 && s->best[stride] < HUGE_VAL) {
            banyan_status status = leave(s, stride, err);

            if (status)
                return status;
        }
    for (int stride = s->count; stride > 1; stride = s->previous[stride])
        shape.layer_count++;
    for (int stride = s->count, i = shape.layer_count; stride > 1; stride = s->previous[stride])
        shape.extent[--i] = stride / s->previous[stride];
    *out = shape;
    return BANYAN_SUCCESS;
}

static void search_fini(search *s)
{
    banyan_routes_destroy(s->routes);
    banyan_free(s->load);
    banyan_free(s->best);
    banyan_free(s->previous);
}

static banyan_status search_init(search *s, const banyan_topology *topology, const int *nodes, int count,
                                 int ways, double bytes, banyan_error *err)
{
    banyan_status status;

    *s = (search){.topology = topology, .nodes = nodes, .count = count, .ways = ways, .bytes = bytes};
    status = banyan_routes_create(topology, &s->routes, err);
    if (status)
        return status;
    s->load = banyan_alloc((size_t)topology->link_count, sizeof *s->load);
    s->best = banyan_alloc((size_t)count + 1, sizeof *s->best);
    s->previous = banyan_alloc((size_t)count + 1, sizeof *s->previous);
    return s->load && s->best && s->previous ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

banyan_status banyan_layers_time(const banyan_topology *topology, const int *nodes,
                                 const banyan_layers *shape, int ways, double bytes, double *seconds,
                                 banyan_error *err)
{
    search s;
    double sum = 0;
    banyan_status status = search_init(&s, topology, nodes, banyan_layers_size(shape), ways, bytes, err);

    for (int i = 0, stride = 1; !status && i < shape->layer_count; stride *= shape->extent[i++]) {
        double layer_s;

        status = time_layer(&s, stride, shape->extent[i], &layer_s, err);
        sum += status ? 0 : layer_s;
    }
    search_fini(&s);
    if (!status)
        *seconds = sum;
    return status;
}

banyan_status banyan_layers_search(const banyan_topology *topology, const int *nodes, int count, int ways,
                                   double bytes, banyan_layers *out, banyan_error *err)
{
    search s;
    banyan_status status = search_init(&s, topology, nodes, count, ways, bytes, err);

    if (!status)
        status = run_search(&s, out, err);
    search_fini(&s);
    return status;
}
