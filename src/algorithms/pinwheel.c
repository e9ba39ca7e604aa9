/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/pinwheel.c: a tree that looks the same after a quarter turn, shifted to every rank of a square
 * torus.
 *
 *     c c d d d        One arm (a) and its three turns make the tree of rank o. In a step the arm grows by
 *     c c d d d        one edge, so the tree by four, one in each direction; and as all trees are the same,
 *     c c o a a        every link of the torus is taken once a step. With sides of N that is (N^2 - 1) / 4
 *     b b b a a        steps, rounded up: no trees take fewer, and most orders of neighbours take more. (N
 *     b b b a a        even: the far ends of two axes and the far corner are left for the last step.)
 *
 * Which edge of the arm comes next: one whose parent has been there for more than a step, so that no message
 * waits for the latency of the one before, and of these the one with the longest way below it. Cost: the
 * square of the arm. */
#include "algorithms/pinwheel.h"

#include "core/alloc.h"

enum { MIN_SIDE = 3, MAX_SIDE = 45 };

/* A place seen from the root, as far as it lies down and to the right. */
typedef struct {
    int x, y;
} offset;

/* A place of the arm; the edge to it comes from an earlier one. */
typedef struct {
    offset at, parent;
    int before; /* the parent's index, -1: the root */
    int height; /* edges of the longest way below */
    int step;   /* in which it joins; 0: not yet */
} limb;

typedef struct {
    const banyan_problem *problem;
    int side, limb_count;
    limb *limbs;
    banyan_grown_trees *trees;
} pinwheel;

/* The link to the neighbour, -1: none. */
static int find_link(const banyan_topology *topology, int src, int dst)
{
    for (int i = topology->out_first[src]; i < topology->out_first[src + 1]; i++)
        if (topology->links[topology->out_link[i]].dst == dst)
            return topology->out_link[i];
    return -1;
}

/* The rank at an offset from a rank. */
static int rank_at(const pinwheel *p, int rank, offset o)
{
    int x = (rank % p->side + o.x + p->side) % p->side, y = (rank / p->side + o.y + p->side) % p->side;

    return y * p->side + x;
}

static offset turn(offset o, int quarters)
{
    for (; quarters > 0; quarters--)
        o = (offset){-o.y, o.x};
    return o;
}

static int has_all_cables(const pinwheel *p)
{
    const banyan_topology *topology = p->problem->topology;

    for (int rank = 0; rank < p->problem->active_count; rank++)
        for (int quarter = 0; quarter < 4; quarter++) {
            int dst = rank_at(p, rank, turn((offset){1, 0}, quarter));
            int link = find_link(topology, p->problem->active[rank], p->problem->active[dst]);

            if (link < 0 || topology->links[link].bytes_per_s != topology->links[0].bytes_per_s)
                return 0;
        }
    return 1;
}

static int applies(pinwheel *p)
{
    const banyan_topology *topology = p->problem->topology;
    const banyan_grid *grid = &topology->grid;

    if (grid->dimension_count != 2 || grid->extent[0] != grid->extent[1] || !grid->wraps[0] ||
        !grid->wraps[1] || grid->extent[0] < MIN_SIDE || grid->extent[0] > MAX_SIDE ||
        topology->worker_count != topology->node_count || p->problem->active_count != topology->worker_count)
        return 0;
    p->side = grid->extent[0];
    return has_all_cables(p);
}

/* Along the edge of the arm to the right, then down; the last column of an even side comes from its left. */
static void lay_out(pinwheel *p)
{
    int half = p->side / 2, reach = (p->side - 1) / 2, is_even = p->side % 2 == 0;

    for (int x = 1; x <= half; x++)
        for (int y = is_even && x == half; y <= reach; y++) {
            limb *l = &p->limbs[p->limb_count++];

            l->at = (offset){x, y};
            l->parent = y > 0 && x <= reach ? (offset){x, y - 1} : (offset){x - 1, y};
            l->before = -1;
            for (int i = 0; i < p->limb_count - 1; i++)
                if (p->limbs[i].at.x == l->parent.x && p->limbs[i].at.y == l->parent.y)
                    l->before = i;
            for (int i = l->before, height = 1; i >= 0; i = p->limbs[i].before, height++)
                p->limbs[i].height = height > p->limbs[i].height ? height : p->limbs[i].height;
        }
}

/* The step of the parent; the root has always been there. */
static int joined(const pinwheel *p, int l)
{
    return p->limbs[l].before < 0 ? -1 : p->limbs[p->limbs[l].before].step;
}

static int is_sooner(const pinwheel *p, int a, int b, int step)
{
    int a_waits = joined(p, a) == step - 1, b_waits = joined(p, b) == step - 1;

    return a_waits != b_waits ? b_waits : p->limbs[a].height > p->limbs[b].height;
}

/* The limb that joins in a step. Some always can: the first one's parent is the root. */
static int choose(const pinwheel *p, int step)
{
    int best = -1;

    for (int l = 0; l < p->limb_count; l++)
        if (!p->limbs[l].step && joined(p, l) != 0 && (best < 0 || is_sooner(p, l, best, step)))
            best = l;
    return best;
}

/* An edge of every tree. */
static void add_edges(const pinwheel *p, offset parent, offset child)
{
    banyan_grown_trees *trees = p->trees;

    for (int root = 0; root < p->problem->active_count; root++) {
        int from = rank_at(p, root, parent), to = rank_at(p, root, child);

        trees->path_link[trees->path_used] =
            find_link(p->problem->topology, p->problem->active[from], p->problem->active[to]);
        trees->edges[trees->edge_count++] =
            (banyan_grow_edge){root, from, to, trees->step_count, trees->path_used++, 1};
    }
}

static void grow(pinwheel *p)
{
    banyan_grown_trees *trees = p->trees;
    int half = p->side / 2;

    for (int i = 0; i < p->limb_count; i++) {
        limb *l = &p->limbs[choose(p, ++trees->step_count)];

        l->step = trees->step_count;
        for (int quarter = 0; quarter < 4; quarter++)
            add_edges(p, turn(l->parent, quarter), turn(l->at, quarter));
    }
    if (p->side % 2)
        return;
    trees->step_count++;
    add_edges(p, (offset){half - 1, 0}, (offset){half, 0});
    add_edges(p, (offset){0, half - 1}, (offset){0, half});
    add_edges(p, (offset){half, 1 - half}, (offset){half, -half});
}

banyan_status banyan_pinwheel_trees(const banyan_problem *problem, banyan_grown_trees *out, banyan_error *err)
{
    size_t ranks = (size_t)problem->active_count;
    banyan_grown_trees trees = {0};
    pinwheel p = {.problem = problem, .trees = &trees};

    if (!applies(&p))
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "a pinwheel needs a square torus with equal cables and all workers, of sides from "
                           "%d to %d",
                           MIN_SIDE, MAX_SIDE);
    trees.edges = banyan_alloc(ranks * (ranks - 1), sizeof *trees.edges);
    trees.path_link = banyan_alloc(ranks * (ranks - 1), sizeof *trees.path_link);
    p.limbs = banyan_alloc(ranks, sizeof *p.limbs);
    if (!trees.edges || !trees.path_link || !p.limbs) {
        banyan_free(p.limbs);
        banyan_grown_trees_fini(&trees);
        return banyan_fail_memory(err);
    }
    lay_out(&p);
    grow(&p);
    banyan_free(p.limbs);
    *out = trees;
    return BANYAN_SUCCESS;
}
