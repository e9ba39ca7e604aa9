/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_authors.c: tables in the order of flows, and ports in turn where messages leave the
 * network.
 *
 * A flow is a tree, or in rings the piece that travels. In a step a free port takes the first entry that
 * is ready, and so another cable in every step; at the other end messages get ports in turn in the same
 * order, whatever cable they come over. What a port still buffers for one cable then holds up the next
 * step's message for another, on both sides.
 *
 * Paper: J. Huang et al., Communication Algorithm-Architecture Co-Design for Distributed Deep Learning,
 * 2021; its simulator is public. */
#include "simulate/flit_authors.h"

#include <stdlib.h>

#include "core/alloc.h"

typedef struct {
    int node, round, piece, flow, transfer;
} entry;

static int compare(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    if (x->piece != y->piece)
        return x->piece < y->piece ? -1 : 1;
    if (x->flow != y->flow)
        return x->flow < y->flow ? -1 : 1;
    return x->transfer < y->transfer ? -1 : x->transfer > y->transfer;
}

/* All transfers by node, step and flow; by destination where arrivals are meant. */
static void sort(const flit_job *job, int by_destination, entry *entries)
{
    for (size_t i = 0; i < job->schedule->transfer_count; i++) {
        const banyan_transfer *t = &job->schedule->transfers[i];

        entries[i] = (entry){by_destination ? t->dst : t->src, t->round, t->first_piece, t->flow, (int)i};
    }
    qsort(entries, job->schedule->transfer_count, sizeof *entries, compare);
}

static int spread_paths(flit_job *job, const entry *arrivals)
{
    banyan_paths *paths = job->paths;
    int ports = job->settings.ports, count = paths->path_count, links = paths->first[count], at = 0, turn = 0;
    int *first = banyan_alloc((size_t)count * (size_t)ports + 1, sizeof *first);
    int *link = banyan_alloc((size_t)links * (size_t)ports + 1, sizeof *link);

    if (!first || !link) {
        banyan_free(first);
        banyan_free(link);
        return 0;
    }
    for (int p = 0; p < count; p++)
        for (int k = 0; k < ports; k++) {
            for (int i = paths->first[p]; i < paths->first[p + 1]; i++)
                link[at++] = paths->link[i];
            first[p * ports + k + 1] = at;
        }
    for (size_t i = 0; i < job->schedule->transfer_count; i++) {
        int *path = &paths->path_of[arrivals[i].transfer];

        if (i == 0 || arrivals[i].node != arrivals[i - 1].node)
            turn = 0;
        *path = *path * ports + turn++ % ports;
    }
    banyan_free(paths->first);
    banyan_free(paths->link);
    paths->first = first;
    paths->link = link;
    paths->path_count = count * ports;
    return 1;
}

int flit_authors_arrange(flit_job *job)
{
    entry *entries = banyan_alloc(job->schedule->transfer_count + 1, sizeof *entries);
    int fits = entries != NULL;

    if (fits) {
        sort(job, 0, entries);
        for (size_t i = 0; i < job->schedule->transfer_count; i++)
            job->send[i] = entries[i].transfer;
        sort(job, 1, entries);
        fits = spread_paths(job, entries);
    }
    banyan_free(entries);
    return fits;
}
