/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/paths.c: explicit routes first, then one path for each pair of nodes that uses its default route.
 * Pairs are found again by hashing (src, dst): a schedule of millions of transfers has few distinct pairs. */
#include "simulate/paths.h"

#include <stdint.h>

#include "core/alloc.h"
#include "topology/routes.h"
#include "topology/scale.h"

typedef struct {
    banyan_paths *paths;
    size_t first_capacity, link_capacity, link_count;
    uint64_t *key; /* (src, dst) plus one; 0: free */
    int *value;
    size_t slots, used;
    size_t most_links;
} finder;

static int append(finder *f, const int *links, int count)
{
    banyan_paths *paths = f->paths;
    void *array = paths->first;
    int fits = banyan_grow(&array, (size_t)paths->path_count + 1, &f->first_capacity, sizeof(int));

    paths->first = array;
    for (int i = 0; fits && i < count; i++) {
        array = paths->link;
        fits =
            f->link_count < INT32_MAX && banyan_grow(&array, f->link_count, &f->link_capacity, sizeof(int));
        paths->link = array;
        if (fits)
            paths->link[f->link_count++] = links[i];
    }
    if (!fits)
        return 0;
    paths->first[++paths->path_count] = (int)f->link_count;
    return 1;
}

static size_t slot_of(const finder *f, uint64_t key)
{
    size_t slot = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (f->slots - 1);

    while (f->key[slot] && f->key[slot] != key)
        slot = (slot + 1) & (f->slots - 1);
    return slot;
}

static int enlarge(finder *f)
{
    finder bigger = *f;

    bigger.slots = f->slots ? 2 * f->slots : 1024;
    bigger.key = banyan_alloc(bigger.slots, sizeof *bigger.key);
    bigger.value = banyan_alloc(bigger.slots, sizeof *bigger.value);
    if (!bigger.key || !bigger.value) {
        banyan_free(bigger.key);
        banyan_free(bigger.value);
        return 0;
    }
    for (size_t i = 0; i < f->slots; i++)
        if (f->key[i]) {
            size_t slot = slot_of(&bigger, f->key[i]);

            bigger.key[slot] = f->key[i];
            bigger.value[slot] = f->value[i];
        }
    banyan_free(f->key);
    banyan_free(f->value);
    *f = bigger;
    return 1;
}

static banyan_status find_pair(finder *f, banyan_routes *routes, const banyan_transfer *t, int *out,
                               banyan_error *err)
{
    uint64_t key = ((uint64_t)t->src << 32 | (uint64_t)t->dst) + 1;
    banyan_status status;
    const int *links;
    size_t slot;
    int count;

    if (2 * (f->used + 1) > f->slots && !enlarge(f))
        return banyan_fail_memory(err);
    slot = slot_of(f, key);
    if (!f->key[slot]) {
        status = banyan_routes_find(routes, t->src, t->dst, &links, &count, err);
        if (status)
            return status;
        if (f->link_count + (size_t)count > f->most_links)
            return banyan_fail(
                err, BANYAN_UNSUPPORTED,
                "the paths of this schedule would cross more than %zu links, and that is the most",
                f->most_links);
        if (!append(f, links, count))
            return banyan_fail_memory(err);
        f->key[slot] = key;
        f->value[slot] = f->paths->path_count - 1;
        f->used++;
    }
    *out = f->value[slot];
    return BANYAN_SUCCESS;
}

static banyan_status take_routes(finder *f, const banyan_schedule *schedule, const banyan_topology *topology,
                                 banyan_error *err)
{
    for (int i = 0; i < schedule->route_count; i++) {
        int begin = schedule->route_first[i], end = schedule->route_first[i + 1];

        for (int j = begin; j < end; j++)
            if (schedule->route_link[j] >= topology->link_count)
                return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                   "route %d names link %d, but %.60s has only %d", i,
                                   schedule->route_link[j], topology->name, topology->link_count);
        if (!append(f, schedule->route_link + begin, end - begin))
            return banyan_fail_memory(err);
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_paths_find(const banyan_schedule *schedule, const banyan_topology *topology,
                                banyan_paths **out, banyan_error *err)
{
    finder f = {.paths = banyan_alloc(1, sizeof(banyan_paths)),
                .first_capacity = 1,
                .most_links = banyan_scale_is_large(topology) ? BANYAN_SCALE_MAX_HOPS : INT32_MAX};
    banyan_routes *routes = NULL;
    banyan_status status;

    *out = NULL;
    if (!f.paths)
        return banyan_fail_memory(err);
    f.paths->first = banyan_alloc(1, sizeof(int));
    f.paths->path_of = banyan_alloc(schedule->transfer_count, sizeof(int));
    status = f.paths->first && f.paths->path_of ? BANYAN_SUCCESS : banyan_fail_memory(err);
    if (!status && schedule->node_count > topology->node_count)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the schedule is for %d nodes, but %.60s has %d",
                             schedule->node_count, topology->name, topology->node_count);
    if (!status)
        status = banyan_routes_create(topology, &routes, err);
    if (!status)
        status = take_routes(&f, schedule, topology, err);
    for (size_t i = 0; !status && i < schedule->transfer_count; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        if (t->route >= 0)
            f.paths->path_of[i] = t->route;
        else
            status = find_pair(&f, routes, t, &f.paths->path_of[i], err);
    }
    banyan_routes_destroy(routes);
    banyan_free(f.key);
    banyan_free(f.value);
    if (status)
        banyan_paths_destroy(f.paths);
    else
        *out = f.paths;
    return status;
}

void banyan_paths_destroy(banyan_paths *paths)
{
    if (!paths)
        return;
    banyan_free(paths->first);
    banyan_free(paths->link);
    banyan_free(paths->path_of);
    banyan_free(paths);
}
