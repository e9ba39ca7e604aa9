/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/flexreduce_shares.c: smaller shares for slower links.
 *
 * Child c of m that keeps a part p of the vector sends 1 - p of it in the reduce-scatter and p to each of m -
 * 1 others in the all-gather, 1 + (m - 2) p in all, and receives as much. With equal parts each link carries
 * 2 (m - 1) / m, and the slowest rules. So a slow child gets less, down to nothing, which leaves its link one
 * vector each way:
 *
 *     five workers at one switch, one at half speed w        equal:  8/5 / w
 *     parts 0, 1/4, 1/4, 1/4, 1/4                            1 / w for it, 7/4 / (2 w) for the others
 *
 * That pays as far as reduce-scatter and all-gather overlap, which they do piece by piece. With two children
 * nothing is to be gained, nor where children have no link in common to the rest, as in a full mesh.
 *
 * The least time T in which every link can do its part: p = min(((T w) - 1) / (m - 2), some level), all parts
 * together 1. Parts are then rounded to twelfths of an equal one. */
#include "algorithms/flexreduce_shares.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/routes.h"

#define STEPS_OF_A_PART 12
#define MAX_SIBLINGS 8

typedef struct {
    const banyan_problem *problem;
    const banyan_hierarchy *tree;
    banyan_routes *routes;
    double *load;  /* of each link, when a child sends one byte per second out, or gets it */
    int *serves;   /* of each link: the sibling that it leads to or from, + 1; -1 for several */
    int *child;    /* of the current branch */
    double *speed; /* of each child's links to the rest, in bytes_per_s */
    double *part;
} measure;

static void measure_fini(measure *m)
{
    banyan_routes_destroy(m->routes);
    banyan_free(m->load);
    banyan_free(m->serves);
    banyan_free(m->child);
    banyan_free(m->speed);
    banyan_free(m->part);
}

static banyan_status measure_init(measure *m, banyan_error *err)
{
    size_t links = (size_t)m->problem->topology->link_count, nodes = (size_t)m->tree->node_count;
    banyan_status status = banyan_routes_create(m->problem->topology, &m->routes, err);

    if (status)
        return status;
    m->load = banyan_alloc(links, sizeof *m->load);
    m->serves = banyan_alloc(links, sizeof *m->serves);
    m->child = banyan_alloc(nodes, sizeof *m->child);
    m->speed = banyan_alloc(nodes, sizeof *m->speed);
    m->part = banyan_alloc(nodes, sizeof *m->part);
    if (!m->load || !m->serves || !m->child || !m->speed || !m->part)
        return banyan_fail_memory(err);
    return BANYAN_SUCCESS;
}

static int count_leaves(const banyan_hierarchy *tree, int node)
{
    int count = 0;

    for (int below = node; below < tree->end[node]; below++)
        count += tree->rank[below] >= 0;
    return count;
}

/* The i-th rank below a node, round and round. */
static int leaf_below(const banyan_hierarchy *tree, int node, int i)
{
    int left = i % count_leaves(tree, node), below = node;

    while (tree->rank[below] < 0 || left-- > 0)
        below++;
    return tree->rank[below];
}

static banyan_status load_route(measure *m, int from, int to, int sibling, double bytes, banyan_error *err)
{
    const int *active = m->problem->active, *route;
    int count;
    banyan_status status = banyan_routes_find(m->routes, active[from], active[to], &route, &count, err);

    for (int i = 0; !status && i < count; i++) {
        int link = route[i];

        m->load[link] += bytes;
        if (m->serves[link] != sibling + 1)
            m->serves[link] = m->serves[link] == 0 ? sibling + 1 : -1;
    }
    return status;
}

/* What a child can send to its siblings, or get from them, over links that serve several of these; infinite
 * where there are none. */
static banyan_status find_speed(measure *m, int place, int count, double *speed, banyan_error *err)
{
    const banyan_topology *topology = m->problem->topology;
    int leaves = count_leaves(m->tree, m->child[place]);
    int siblings = count - 1 < MAX_SIBLINGS ? count - 1 : MAX_SIBLINGS;

    memset(m->load, 0, (size_t)topology->link_count * sizeof *m->load);
    memset(m->serves, 0, (size_t)topology->link_count * sizeof *m->serves);
    for (int i = 0; i < leaves; i++)
        for (int k = 1; k <= siblings; k++) {
            int sibling = (place + k) % count, own = leaf_below(m->tree, m->child[place], i);
            int other = leaf_below(m->tree, m->child[sibling], i);
            double bytes = 1.0 / leaves / siblings;
            banyan_status status = load_route(m, own, other, sibling, bytes, err);

            if (!status)
                status = load_route(m, other, own, sibling, bytes, err);
            if (status)
                return status;
        }
    *speed = HUGE_VAL;
    for (int i = 0; i < topology->link_count; i++)
        if (m->serves[i] < 0)
            *speed = fmin(*speed, topology->links[i].bytes_per_s / m->load[i]);
    return BANYAN_SUCCESS;
}

/* The most that a child may keep if its link is to be done in time. */
static double largest_part(const measure *m, int place, int count, double seconds)
{
    return fmax(0, (seconds * m->speed[place] - 1) / (count - 2));
}

static double sum_parts(const measure *m, int count, double seconds, double level)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += fmin(level, largest_part(m, i, count, seconds));
    return sum;
}

/* The least time, then the least level, at which the parts fill the vector. */
static void find_parts(measure *m, int count)
{
    double slowest = HUGE_VAL, low, high, seconds, level = 1;

    for (int i = 0; i < count; i++)
        slowest = fmin(slowest, m->speed[i]);
    low = 1 / slowest;
    high = (count - 1) / slowest;
    for (int i = 0; i < 60; i++) {
        seconds = sum_parts(m, count, low, 1) >= 1 ? low : (low + high) / 2;
        if (sum_parts(m, count, seconds, 1) >= 1)
            high = seconds;
        else
            low = seconds;
    }
    seconds = high;
    low = 0;
    for (int i = 0; i < 60; i++) {
        double middle = (low + level) / 2;

        if (sum_parts(m, count, seconds, middle) >= 1)
            level = middle;
        else
            low = middle;
    }
    for (int i = 0; i < count; i++)
        m->part[i] = fmin(level, largest_part(m, i, count, seconds));
}

/* Whole numbers that add up, what is left over going to who keeps within its time best. */
static int round_parts(const measure *m, int count, int *weight, int *total)
{
    int units = STEPS_OF_A_PART * count, left = units, differ = 0;

    for (int i = 0; i < count; i++) {
        weight[m->child[i]] = (int)(m->part[i] * units + 1e-6);
        left -= weight[m->child[i]];
    }
    while (left-- > 0) {
        int best = 0;

        for (int i = 1; i < count; i++)
            if (m->speed[i] * (weight[m->child[best]] + 1) > m->speed[best] * (weight[m->child[i]] + 1))
                best = i;
        weight[m->child[best]]++;
    }
    for (int i = 1; i < count; i++)
        differ |= weight[m->child[i]] != weight[m->child[0]];
    *total = differ ? units : 0;
    return differ;
}

static banyan_status weigh_branch(measure *m, int branch, int *weight, int *total, int *differ,
                                  banyan_error *err)
{
    int count = 0, speeds_differ = 0;

    for (int child = branch + 1; child < m->tree->end[branch]; child = m->tree->end[child])
        m->child[count++] = child;
    for (int i = 0; i < count; i++) {
        banyan_status status = find_speed(m, i, count, &m->speed[i], err);

        if (status)
            return status;
        if (isinf(m->speed[i]))
            return BANYAN_SUCCESS;
        speeds_differ |= fabs(m->speed[i] / m->speed[0] - 1) > 1e-6;
    }
    if (speeds_differ) {
        find_parts(m, count);
        *differ |= round_parts(m, count, weight, &total[branch]);
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_shares_by_bandwidth(const banyan_problem *problem, const banyan_hierarchy *tree,
                                         int *weight, int *total, int *differ, banyan_error *err)
{
    measure m = {.problem = problem, .tree = tree};
    banyan_status status = measure_init(&m, err);

    *differ = 0;
    for (int node = 0; !status && node < tree->node_count; node++)
        if (tree->rank[node] < 0 && tree->degree[node] > 2)
            status = weigh_branch(&m, node, weight, total, differ, err);
    measure_fini(&m);
    return status;
}
