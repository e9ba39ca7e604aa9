/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/paces.c: loads of links and paths, stage by stage, as in simulate/limit.c. */
#include "simulate/paces.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

/* Transfers begin .. end-1: the load of links and paths, in vectors. Returns seconds per byte of the fullest
 * link. */
static double load_stage(const banyan_schedule *schedule, const banyan_topology *topology,
                         const banyan_paths *paths, size_t begin, size_t end, double *of_links,
                         double *of_paths)
{
    double most = 0;

    memset(of_links, 0, (size_t)topology->link_count * sizeof *of_links);
    memset(of_paths, 0, (size_t)paths->path_count * sizeof *of_paths);
    for (size_t i = begin; i < end; i++) {
        const banyan_transfer *t = &schedule->transfers[i];

        of_paths[paths->path_of[i]] += banyan_schedule_share(schedule, t->first_piece, t->piece_count);
    }
    for (int p = 0; p < paths->path_count; p++)
        for (int j = paths->first[p]; j < paths->first[p + 1]; j++)
            of_links[paths->link[j]] += of_paths[p];
    for (int i = 0; i < topology->link_count; i++)
        most = fmax(most, of_links[i] / topology->links[i].bytes_per_s);
    return most;
}

banyan_status banyan_paces_of_paths(const banyan_schedule *schedule, const banyan_topology *topology,
                                    const banyan_paths *paths, double **out, banyan_error *err)
{
    double *paces = banyan_alloc((size_t)paths->path_count + 1, sizeof *paces);
    double *of_paths = banyan_alloc((size_t)paths->path_count + 1, sizeof *of_paths);
    double *of_links = banyan_alloc((size_t)topology->link_count + 1, sizeof *of_links);
    int has_memory = paces && of_paths && of_links;
    size_t count = has_memory ? schedule->transfer_count : 0;

    for (size_t begin = 0, end; begin < count; begin = end) {
        int is_before = schedule->transfers[begin].round < schedule->barrier;
        double s_per_byte;

        for (end = begin; end < count && (schedule->transfers[end].round < schedule->barrier) == is_before;)
            end++;
        s_per_byte = load_stage(schedule, topology, paths, begin, end, of_links, of_paths);
        for (int p = 0; s_per_byte > 0 && p < paths->path_count; p++)
            paces[p] = fmax(paces[p], of_paths[p] / s_per_byte);
    }
    banyan_free(of_links);
    banyan_free(of_paths);
    if (!has_memory)
        banyan_free(paces);
    *out = has_memory ? paces : NULL;
    return has_memory ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

banyan_status banyan_paces_find(const banyan_schedule *schedule, const banyan_topology *topology, int src,
                                double **out, banyan_error *err)
{
    double *by_node = banyan_alloc((size_t)topology->node_count, sizeof *by_node), *of_paths = NULL;
    banyan_paths *paths = NULL;
    banyan_status status =
        by_node ? banyan_paths_find(schedule, topology, &paths, err) : banyan_fail_memory(err);

    *out = NULL;
    if (!status)
        status = banyan_paces_of_paths(schedule, topology, paths, &of_paths, err);
    for (size_t i = 0; i < schedule->transfer_count && !status; i++)
        if (schedule->transfers[i].src == src) {
            by_node[schedule->transfers[i].dst] += of_paths[paths->path_of[i]];
            of_paths[paths->path_of[i]] = 0; /* each path counts once */
        }
    banyan_paths_destroy(paths);
    banyan_free(of_paths);
    if (status)
        banyan_free(by_node);
    else
        *out = by_node;
    return status;
}

static double narrowest(const banyan_topology *topology, const banyan_paths *paths, int path)
{
    double least = HUGE_VAL;

    for (int j = paths->first[path]; j < paths->first[path + 1]; j++)
        least = fmin(least, topology->links[paths->link[j]].bytes_per_s);
    return least;
}

banyan_status banyan_paces_matter(const banyan_schedule *schedule, const banyan_topology *topology, int *out,
                                  banyan_error *err)
{
    double *paces = NULL;
    banyan_paths *paths = NULL;
    banyan_status status = banyan_paths_find(schedule, topology, &paths, err);

    *out = 0;
    if (!status)
        status = banyan_paces_of_paths(schedule, topology, paths, &paces, err);
    for (int p = 0; !status && p < paths->path_count; p++)
        *out |= BANYAN_PACE_HEADROOM * paces[p] < narrowest(topology, paths, p);
    banyan_free(paces);
    banyan_paths_destroy(paths);
    return status;
}

/* Paths of links within the original, each with its own link at the end; those without links stay so. */
static void extend(banyan_paced_network *out, const banyan_paths *paths, const double *paces)
{
    banyan_topology *topology = &out->topology;
    int filled = 0;

    for (int p = 0; p < paths->path_count; p++) {
        int begin = paths->first[p], count = paths->first[p + 1] - begin;

        out->paths.first[p] = filled;
        memcpy(out->paths.link + filled, paths->link + begin, (size_t)count * sizeof(int));
        filled += count;
        if (!count || !(paces[p] > 0))
            continue;
        topology->links[topology->link_count] =
            (banyan_link){.bytes_per_s = BANYAN_PACE_HEADROOM * paces[p], .latency_s = 0};
        out->paths.link[filled++] = topology->link_count++;
    }
    out->paths.first[paths->path_count] = filled;
}

banyan_status banyan_paced_network_init(banyan_paced_network *out, const banyan_schedule *schedule,
                                        const banyan_topology *topology, const banyan_paths *paths,
                                        banyan_error *err)
{
    size_t path_count = (size_t)paths->path_count, hops = (size_t)paths->first[path_count];
    size_t links = (size_t)topology->link_count;
    double *paces = NULL;
    banyan_status status;

    *out = (banyan_paced_network){.topology = *topology, .paths = *paths};
    out->topology.links = banyan_alloc(links + path_count + 1, sizeof *out->topology.links);
    out->paths.first = banyan_alloc(path_count + 1, sizeof *out->paths.first);
    out->paths.link = banyan_alloc(hops + path_count + 1, sizeof *out->paths.link);
    status = out->topology.links && out->paths.first && out->paths.link
                 ? banyan_paces_of_paths(schedule, topology, paths, &paces, err)
                 : banyan_fail_memory(err);
    if (status) {
        banyan_paced_network_fini(out);
        return status;
    }
    memcpy(out->topology.links, topology->links, links * sizeof *topology->links);
    extend(out, paths, paces);
    banyan_free(paces);
    return BANYAN_SUCCESS;
}

void banyan_paced_network_fini(banyan_paced_network *network)
{
    banyan_free(network->topology.links);
    banyan_free(network->paths.first);
    banyan_free(network->paths.link);
}
