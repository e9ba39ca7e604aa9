/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_normal.c: paths of other traffic, and picking one.
 *
 * Routes are the topology's, but where a grid wraps and the two ways round a dimension are equally long there
 * is a path for either, and a packet takes one at random, as is usual: always the same way would load half
 * the links more than the others. */
#include "simulate/flit_normal.h"

#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "topology/routes.h"

enum { MAX_WORKERS = 512 };

typedef struct {
    const banyan_topology *topology;
    int *first, *links, *dst;
    uint8_t *is_normal;
    size_t first_capacity, link_capacity, dst_capacity, flag_capacity, link_count;
    int path_count;
} path_list;

static int grow_int(int **array, size_t count, size_t *capacity)
{
    void *memory = *array;
    int fits = banyan_grow(&memory, count, capacity, sizeof(int));

    *array = memory;
    return fits;
}

static int add_link(path_list *l, int link)
{
    if (l->link_count >= INT32_MAX || !grow_int(&l->links, l->link_count, &l->link_capacity))
        return 0;
    l->links[l->link_count++] = link;
    return 1;
}

static int end_path(path_list *l, int dst, int is_normal)
{
    void *flags = l->is_normal;
    int fits = grow_int(&l->first, (size_t)l->path_count + 1, &l->first_capacity) &&
               grow_int(&l->dst, (size_t)l->path_count, &l->dst_capacity) &&
               banyan_grow(&flags, (size_t)l->path_count, &l->flag_capacity, 1);

    l->is_normal = flags;
    if (!fits)
        return 0;
    l->dst[l->path_count] = dst;
    l->is_normal[l->path_count] = (uint8_t)is_normal;
    l->first[++l->path_count] = (int)l->link_count;
    return 1;
}

static int add_job(path_list *l, const banyan_paths *paths)
{
    for (int p = 0; p < paths->path_count; p++) {
        int last = -1;

        for (int i = paths->first[p]; i < paths->first[p + 1]; i++)
            if (!add_link(l, last = paths->link[i]))
                return 0;
        if (!end_path(l, last < 0 ? 0 : l->topology->links[last].dst, 0))
            return 0;
    }
    return 1;
}

static int coordinate(const banyan_grid *grid, int worker, int d, int *stride)
{
    *stride = 1;
    for (int k = grid->dimension_count - 1; k > d; k--)
        *stride *= grid->extent[k];
    return worker / *stride % grid->extent[d];
}

static int is_tie(const banyan_grid *grid, int d, int from, int to)
{
    return grid->wraps[d] && grid->extent[d] > 2 && 2 * abs(from - to) == grid->extent[d];
}

/* Dimension by dimension; the bits of ways turn the dimensions whose two ways are equally long. 0: memory,
 * -1: a link is missing, so that the default route must do. */
static int walk_grid(path_list *l, int from, int to, int ways)
{
    const banyan_topology *t = l->topology;
    const banyan_grid *grid = &t->grid;

    for (int d = 0, tie = 0; d < grid->dimension_count; d++) {
        int stride, end_stride, a = coordinate(grid, from, d, &stride),
                                b = coordinate(grid, to, d, &end_stride);
        int extent = grid->extent[d], ahead = (b - a + extent) % extent, step = 1;

        if (is_tie(grid, d, a, b))
            step = ways >> tie++ & 1 ? -1 : 1;
        else if (grid->wraps[d] ? 2 * ahead > extent : b < a)
            step = -1;
        for (; a != b; a = (a + step + extent) % extent) {
            int next = from + ((a + step + extent) % extent - a) * stride;
            int link = banyan_topology_find_link(t, t->workers[from], t->workers[next]);

            if (link < 0)
                return -1;
            if (!add_link(l, link))
                return 0;
            from = next;
        }
    }
    return 1;
}

static int count_ties(const banyan_grid *grid, int from, int to)
{
    int ties = 0, stride;

    for (int d = 0; d < grid->dimension_count; d++)
        ties += is_tie(grid, d, coordinate(grid, from, d, &stride), coordinate(grid, to, d, &stride));
    return ties;
}

static banyan_status add_route(path_list *l, banyan_routes *routes, int from, int to, banyan_error *err)
{
    const int *links;
    int count;
    banyan_status status = banyan_routes_find(routes, from, to, &links, &count, err);

    if (status)
        return status;
    for (int i = 0; i < count; i++)
        if (!add_link(l, links[i]))
            return banyan_fail_memory(err);
    return end_path(l, to, 1) ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

static banyan_status add_pair(path_list *l, banyan_routes *routes, int a, int b, banyan_error *err)
{
    const banyan_topology *t = l->topology;
    int variants = 1 << count_ties(&t->grid, a, b);

    if (t->policy != BANYAN_ROUTES_GRID || !t->grid.dimension_count)
        return add_route(l, routes, t->workers[a], t->workers[b], err);
    for (int ways = 0; ways < variants; ways++) {
        size_t before = l->link_count;
        int done = walk_grid(l, a, b, ways);

        if (done < 0) {
            l->link_count = before;
            return add_route(l, routes, t->workers[a], t->workers[b], err);
        }
        if (!done || !end_path(l, t->workers[b], 1))
            return banyan_fail_memory(err);
    }
    return BANYAN_SUCCESS;
}

static banyan_status add_pairs(path_list *l, flit_normal *n, banyan_error *err)
{
    const banyan_topology *t = l->topology;
    int count = t->worker_count;
    banyan_routes *routes = NULL;
    banyan_status status;

    if (count > MAX_WORKERS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "normal traffic is for at most %d workers, not %d",
                           MAX_WORKERS, count);
    n->pair_first = banyan_alloc((size_t)count * (size_t)count + 1, sizeof *n->pair_first);
    n->worker_of = banyan_alloc((size_t)t->node_count, sizeof *n->worker_of);
    if (!n->pair_first || !n->worker_of)
        return banyan_fail_memory(err);
    for (int w = 0; w < count; w++)
        n->worker_of[t->workers[w]] = w;
    n->worker_count = count;
    status = banyan_routes_create(t, &routes, err);
    for (int i = 0; !status && i < count * count; i++) {
        n->pair_first[i] = l->path_count;
        status = add_pair(l, routes, i / count, i % count, err);
    }
    n->pair_first[count * count] = l->path_count;
    banyan_routes_destroy(routes);
    return status;
}

banyan_status flit_normal_set_paths(flit_fabric *f, const flit_job *job, flit_normal **out, banyan_error *err)
{
    path_list l = {.topology = f->topology, .first_capacity = 1};
    flit_normal *n = banyan_alloc(1, sizeof *n);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    l.first = banyan_alloc(1, sizeof *l.first);
    if (!n || !l.first || (job && !add_job(&l, job->paths)))
        status = banyan_fail_memory(err);
    if (!status && f->normal_port >= 0)
        status = add_pairs(&l, n, err);
    if (!status)
        status = flit_fabric_set_paths(f, l.path_count, l.first, l.links, l.dst, l.is_normal, err);
    banyan_free(l.first);
    banyan_free(l.links);
    banyan_free(l.dst);
    banyan_free(l.is_normal);
    if (status)
        flit_normal_destroy(n);
    else
        *out = n;
    return status;
}

void flit_normal_destroy(flit_normal *n)
{
    if (!n)
        return;
    banyan_free(n->pair_first);
    banyan_free(n->worker_of);
    banyan_free(n);
}

int flit_normal_pick(flit_interface *i)
{
    const flit_normal *n = i->normal;
    int pair =
        n->worker_of[i->router->node] * n->worker_count + banyan_random_below(&i->random, n->worker_count);
    int first = n->pair_first[pair], count = n->pair_first[pair + 1] - first;

    return count > 1 ? first + banyan_random_below(&i->random, count) : first;
}

void flit_normal_start(flit_interface *i, flit_normal *normal, int64_t until)
{
    double chance = i->fabric->settings.normal_rate / i->fabric->settings.normal_flits;

    i->random.state = i->fabric->settings.seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i->router->node;
    banyan_random_next(&i->random);
    i->random.state = banyan_random_next(&i->random);
    i->normal = normal;
    i->make_below = (uint64_t)ceil(chance * 0x1p53);
    i->make_until = until;
    flit_interface_draw(i, 0);
}
