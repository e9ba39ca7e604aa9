/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/grow.c: growing all trees at once.
 *
 * Every time step starts with all links free. Trees take turns; in its turn a tree looks through its members
 * of earlier steps, in the order in which they joined, for one that still reaches a new rank over free links,
 * and takes the nearest. When no tree can add anything, the step is over. A link that is k times as fast as
 * the slowest one may be taken k times in a step.
 *
 *     step 1, 2x2 mesh:   0: 0-2   1: 1-3   2: 2-0   3: 3-1   0: 0-1   1: 1-0   2: 2-3   3: 3-2
 *     step 2:             0: 2-3   1: 3-2   2: 0-1   3: 1-0
 *
 * Paths may pass through switches and idle workers. They do not pass through a switch in the middle that has
 * ranks of its own: such a rank can hand the data on, and a longer path would block more links. Only where
 * this leaves a tree stuck with all links free the rule is dropped.
 *
 * What failed once fails for the rest of the step, because links are only taken and trees only grow; so each
 * tree keeps a place in its list, and a step costs at most one look at each member of each tree; none if no
 * link to a rank that the tree lacks is free any more. Which links are free, and which of them lead to such
 * ranks, are sets of bits: a search passes 64 links at a time. */
#include "algorithms/grow.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

#define MAX_RANKS 2048
#define MAX_CAPACITY 1000000.0

typedef enum { THROUGH_BARE, THROUGH_SWITCHES, THROUGH_ALL } passage;

typedef struct {
    const banyan_problem *problem;
    const banyan_topology *topology;
    int count;
    int *rank_of;          /* node -> rank + 1; 0: not active */
    char *has_ranks;       /* node is a switch next to an active worker */
    int *out_link;         /* as the topology's, but in the order of trying */
    int *capacity, *left;  /* of each link: in a step, and now */
    int *place_of;         /* of each link in out_link */
    int *back;             /* of each link: the place of the first link from its end back; -1: none */
    int word_count;        /* of the following sets, by place in out_link */
    uint64_t *all, *inner; /* every place; those of links to no rank */
    uint64_t *free;        /* of links that are left now */
    uint64_t *open;        /* by tree: of links to ranks that are no members */
    int *free_count;       /* by node: of its out-links that are left now */
    int rank_words;        /* of the following sets, by rank */
    uint64_t *reachable;   /* ranks to which some link is left now */
    uint64_t *outside;     /* by tree: ranks that are no members */
    int *in_count;         /* by rank: of its in-links that are left now */
    int *member;          /* tree * count + place: ranks that may still add others, in the order of joining */
    int *size;            /* ranks of each tree */
    int *live, *old_live; /* of these in the list now, and when the step began */
    int *place;           /* the member that a tree tries next */
    int *turn;            /* trees in the order of their turns */
    char *is_enclosed;    /* by rank: all its neighbours are ranks */
    int any_enclosed;
    int *queue, *via, *seen; /* of the search: nodes, the link that reached a node, when it was reached */
    int stamp;
    int shift; /* place of the parent among the links of its switch */
    passage passage;
    int ends_with_last_tree;
    banyan_grown_trees *trees;
} garden;

/* Smaller is tried first. Links that leave a grid's lines come last. */
static int link_key(const banyan_grid *grid, banyan_grow_order order, int from, int to)
{
    int step = 1;

    for (int d = grid->dimension_count - 1; d >= 0; step *= grid->extent[d--]) {
        int a = from / step % grid->extent[d], b = to / step % grid->extent[d];
        int is_down = b == a - 1 || (a == 0 && b == grid->extent[d] - 1 && b != 1);

        if (from - a * step != to - b * step)
            continue;
        if (order == BANYAN_GROW_XY)
            return 2 * (grid->dimension_count - 1 - d) + !is_down;
        if (order == BANYAN_GROW_SPLIT && d == 0 && !is_down)
            return 2 * grid->dimension_count;
        return 2 * d + !is_down;
    }
    return INT_MAX;
}

/* Out-links of one node by key, by insertion: nodes of grids have few. */
static void sort_links(const garden *g, banyan_grow_order order, const int *worker_of, int node)
{
    const banyan_topology *topology = g->topology;
    int *link = g->out_link + topology->out_first[node];
    int count = topology->out_first[node + 1] - topology->out_first[node];

    for (int i = 1; i < count; i++) {
        int moved = link[i], j = i;
        int key = link_key(&topology->grid, order, worker_of[node], worker_of[topology->links[moved].dst]);

        while (j > 0 && link_key(&topology->grid, order, worker_of[node],
                                 worker_of[topology->links[link[j - 1]].dst]) > key) {
            link[j] = link[j - 1];
            j--;
        }
        link[j] = moved;
    }
}

static banyan_status order_links(garden *g, banyan_grow_order order, banyan_error *err)
{
    const banyan_topology *topology = g->topology;
    int *worker_of;

    memcpy(g->out_link, topology->out_link, (size_t)topology->link_count * sizeof(int));
    if (topology->grid.dimension_count == 0 || topology->worker_count != topology->node_count)
        return BANYAN_SUCCESS;
    worker_of = banyan_alloc((size_t)topology->node_count, sizeof *worker_of);
    if (!worker_of)
        return banyan_fail_memory(err);
    for (int i = 0; i < topology->worker_count; i++)
        worker_of[topology->workers[i]] = i;
    for (int node = 0; node < topology->node_count; node++)
        sort_links(g, order, worker_of, node);
    banyan_free(worker_of);
    return BANYAN_SUCCESS;
}

static void set_bit(uint64_t *set, int i)
{
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

static void clear_bit(uint64_t *set, int i)
{
    set[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* The first place from begin on that is in both sets; end: none. */
static int find_bit(const uint64_t *a, const uint64_t *b, int begin, int end)
{
    while (begin < end) {
        uint64_t word = (a[begin / 64] & b[begin / 64]) >> (begin % 64);

        if (word) {
            int found = begin + __builtin_ctzll(word);

            return found < end ? found : end;
        }
        begin = (begin / 64 + 1) * 64;
    }
    return end;
}

/* by_node has room for all nodes, and is all zero before and after. */
static void find_places(garden *g, int *by_node)
{
    const banyan_topology *topology = g->topology;

    for (int node = 0; node < topology->node_count; node++) {
        int begin = topology->out_first[node], end = topology->out_first[node + 1];

        for (int i = end - 1; i >= begin; i--) {
            g->place_of[g->out_link[i]] = i;
            by_node[topology->links[g->out_link[i]].dst] = i + 1;
        }
        for (int i = topology->in_first[node]; i < topology->in_first[node + 1]; i++)
            g->back[topology->in_link[i]] = by_node[topology->links[topology->in_link[i]].src] - 1;
        for (int i = begin; i < end; i++)
            by_node[topology->links[g->out_link[i]].dst] = 0;
    }
}

static void leave_open(garden *g, int tree, int rank)
{
    const banyan_topology *topology = g->topology;
    int node = g->problem->active[rank];
    uint64_t *open = g->open + (size_t)tree * (size_t)g->word_count;

    for (int i = topology->in_first[node]; i < topology->in_first[node + 1]; i++)
        clear_bit(open, g->place_of[topology->in_link[i]]);
}

static void find_sets(garden *g)
{
    const banyan_topology *topology = g->topology;

    for (int i = 0; i < topology->link_count; i++) {
        set_bit(g->all, i);
        if (!g->rank_of[topology->links[g->out_link[i]].dst])
            set_bit(g->inner, i);
    }
    for (int tree = 0; tree < g->count; tree++) {
        uint64_t *open = g->open + (size_t)tree * (size_t)g->word_count;

        for (int i = 0; i < g->word_count; i++)
            open[i] = g->all[i] & ~g->inner[i];
        leave_open(g, tree, tree);
    }
    for (int rank = 0; rank < g->count; rank++) {
        int begin = topology->out_first[g->problem->active[rank]];
        int end = topology->out_first[g->problem->active[rank] + 1];

        g->is_enclosed[rank] = find_bit(g->inner, g->all, begin, end) == end;
        g->any_enclosed = g->any_enclosed || g->is_enclosed[rank];
    }
}

static void find_capacities(garden *g)
{
    const banyan_topology *topology = g->topology;
    double slowest = HUGE_VAL;

    for (int i = 0; i < topology->link_count; i++)
        slowest = fmin(slowest, topology->links[i].bytes_per_s);
    for (int i = 0; i < topology->link_count; i++)
        g->capacity[i] = (int)fmin(topology->links[i].bytes_per_s / slowest + 1e-6, MAX_CAPACITY);
}

static uint64_t *outside_of(const garden *g, int tree)
{
    return g->outside + (size_t)tree * (size_t)g->rank_words;
}

static void find_ranks(garden *g)
{
    const banyan_topology *topology = g->topology;

    for (int rank = 0; rank < g->count; rank++)
        g->rank_of[g->problem->active[rank]] = rank + 1;
    for (int i = 0; i < topology->link_count; i++)
        if (topology->nodes[topology->links[i].src].kind == BANYAN_NODE_SWITCH &&
            g->rank_of[topology->links[i].dst])
            g->has_ranks[topology->links[i].src] = 1;
    for (int rank = 0; rank < g->count; rank++) {
        g->member[(size_t)rank * (size_t)g->count] = rank;
        g->size[rank] = g->live[rank] = 1;
        for (int other = 0; other < g->count; other++)
            if (other != rank)
                set_bit(outside_of(g, rank), other);
    }
}

static void garden_fini(garden *g)
{
    void *owned[] = {g->rank_of,  g->has_ranks,  g->out_link,    g->capacity, g->left,
                     g->place_of, g->back,       g->all,         g->inner,    g->free,
                     g->open,     g->free_count, g->member,      g->size,     g->live,
                     g->old_live, g->place,      g->is_enclosed, g->queue,    g->via,
                     g->seen,     g->turn,       g->reachable,   g->outside,  g->in_count};

    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        banyan_free(owned[i]);
}

static banyan_status garden_init(garden *g, const banyan_problem *problem, banyan_grow_order order,
                                 banyan_error *err)
{
    const banyan_topology *topology = problem->topology;
    size_t nodes = (size_t)topology->node_count, links = (size_t)topology->link_count;
    size_t ranks = (size_t)problem->active_count;
    banyan_status status;

    g->problem = problem;
    g->topology = topology;
    g->count = problem->active_count;
    g->rank_of = banyan_alloc(nodes, sizeof(int));
    g->has_ranks = banyan_alloc(nodes, 1);
    g->out_link = banyan_alloc(links, sizeof(int));
    g->capacity = banyan_alloc(links, sizeof(int));
    g->left = banyan_alloc(links, sizeof(int));
    g->place_of = banyan_alloc(links, sizeof(int));
    g->back = banyan_alloc(links, sizeof(int));
    g->word_count = topology->link_count / 64 + 1;
    g->all = banyan_alloc((size_t)g->word_count, sizeof(uint64_t));
    g->inner = banyan_alloc((size_t)g->word_count, sizeof(uint64_t));
    g->free = banyan_alloc((size_t)g->word_count, sizeof(uint64_t));
    g->open = banyan_alloc(ranks * (size_t)g->word_count, sizeof(uint64_t));
    g->free_count = banyan_alloc(nodes, sizeof(int));
    g->rank_words = g->count / 64 + 1;
    g->reachable = banyan_alloc((size_t)g->rank_words, sizeof(uint64_t));
    g->outside = banyan_alloc(ranks * (size_t)g->rank_words, sizeof(uint64_t));
    g->in_count = banyan_alloc(ranks, sizeof(int));
    g->member = banyan_alloc(ranks * ranks, sizeof(int));
    g->size = banyan_alloc(ranks, sizeof(int));
    g->live = banyan_alloc(ranks, sizeof(int));
    g->old_live = banyan_alloc(ranks, sizeof(int));
    g->place = banyan_alloc(ranks, sizeof(int));
    g->turn = banyan_alloc(ranks, sizeof(int));
    g->is_enclosed = banyan_alloc(ranks, 1);
    g->queue = banyan_alloc(nodes, sizeof(int));
    g->via = banyan_alloc(nodes, sizeof(int));
    g->seen = banyan_alloc(nodes, sizeof(int));
    if (!g->rank_of || !g->has_ranks || !g->out_link || !g->capacity || !g->left || !g->place_of ||
        !g->back || !g->all || !g->inner || !g->free || !g->open || !g->free_count || !g->member ||
        !g->size || !g->live || !g->old_live || !g->place || !g->turn || !g->is_enclosed || !g->queue ||
        !g->via || !g->seen || !g->reachable || !g->outside || !g->in_count)
        return banyan_fail_memory(err);
    find_capacities(g);
    find_ranks(g);
    status = order_links(g, order, err);
    if (status)
        return status;
    find_places(g, g->seen);
    find_sets(g);
    return BANYAN_SUCCESS;
}

/* May a path that came to this node, which is no new rank, go on to a rank, or to another node? */
static int may_pass(const garden *g, int node, int parent, int to_rank)
{
    if (g->passage == THROUGH_ALL || node == parent)
        return 1;
    if (g->rank_of[node])
        return 0;
    if (g->passage == THROUGH_SWITCHES || !g->has_ranks[node])
        return 1;
    return g->topology->links[g->via[node]].src == parent || to_rank;
}

/* Where a switch begins to look. The first one begins after the parent, so that parents side by side choose
 * children side by side and do not all want the same one; later ones begin likewise after where the path came
 * from, or as far along as the first did where there is no way back. */
static int first_look(garden *g, int node, int parent)
{
    const banyan_topology *topology = g->topology;
    int begin = topology->out_first[node], count = topology->out_first[node + 1] - begin;
    int from = topology->links[g->via[node]].src, back = g->back[g->via[node]] - begin;

    if (g->back[g->via[node]] < 0)
        return g->shift % count;
    if (from == parent)
        g->shift = back;
    return g->has_ranks[node] && from != parent ? g->shift % count : (back + 1) % count;
}

/* Appends what the node's free links lead to, from one place to another, and paths may pass through. */
static int append_inner(garden *g, int begin, int end, int tail)
{
    const uint64_t *inner = g->passage == THROUGH_ALL ? g->all : g->inner;

    for (int i = find_bit(g->free, inner, begin, end); i < end; i = find_bit(g->free, inner, i + 1, end)) {
        int next = g->topology->links[g->out_link[i]].dst;

        if (g->seen[next] == g->stamp)
            continue;
        g->seen[next] = g->stamp;
        g->via[next] = g->out_link[i];
        g->queue[tail++] = next;
    }
    return tail;
}

/* The first of the links at these places, from 'first' on and then from the beginning, that is free and leads
 * to a rank outside the tree; -1: none. */
static int find_new_rank(const garden *g, int tree, int begin, int first, int end)
{
    const uint64_t *open = g->open + (size_t)tree * (size_t)g->word_count;
    int found = find_bit(g->free, open, first, end);

    if (found < end)
        return g->out_link[found];
    found = find_bit(g->free, open, begin, first);
    return found < first ? g->out_link[found] : -1;
}

/* The nearest rank outside the tree that parent reaches over free links, as a node; -1: none. */
static int search(garden *g, int tree, int parent)
{
    const banyan_topology *topology = g->topology;
    int tail = 0;

    g->stamp++;
    g->queue[tail++] = parent;
    g->seen[parent] = g->stamp;
    for (int head = 0; head < tail; head++) {
        int node = g->queue[head], begin = topology->out_first[node], end = topology->out_first[node + 1];
        int is_switch = topology->nodes[node].kind == BANYAN_NODE_SWITCH;
        int first = is_switch && begin < end ? begin + first_look(g, node, parent) : begin;

        if (may_pass(g, node, parent, 1)) {
            int link = find_new_rank(g, tree, begin, first, end);

            if (link >= 0) {
                g->via[topology->links[link].dst] = link;
                return topology->links[link].dst;
            }
        }
        if (may_pass(g, node, parent, 0)) {
            tail = append_inner(g, first, end, tail);
            tail = append_inner(g, begin, first, tail);
        }
    }
    return -1;
}

static void take_link(garden *g, int link)
{
    int rank = g->rank_of[g->topology->links[link].dst] - 1;

    if (--g->left[link])
        return;
    clear_bit(g->free, g->place_of[link]);
    g->free_count[g->topology->links[link].src]--;
    if (rank >= 0 && --g->in_count[rank] == 0)
        clear_bit(g->reachable, rank);
}

/* Takes the links that the search found and writes them down, parent's first. */
static banyan_status take_path(garden *g, int parent, int child, banyan_grow_edge *edge, banyan_error *err)
{
    banyan_grown_trees *trees = g->trees;
    int count = 0;

    for (int node = child; node != parent; node = g->topology->links[g->via[node]].src)
        count++;
    if (trees->path_used > INT_MAX - count)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "the trees' paths have more than %d links in all",
                           INT_MAX);
    for (int i = 0; i < count; i++) {
        void *links = trees->path_link;

        if (!banyan_grow(&links, (size_t)(trees->path_used + i), &trees->path_capacity, sizeof(int)))
            return banyan_fail_memory(err);
        trees->path_link = links;
    }
    edge->path_first = trees->path_used;
    edge->path_count = count;
    trees->path_used += count;
    for (int node = child, i = trees->path_used; node != parent;
         node = g->topology->links[g->via[node]].src) {
        trees->path_link[--i] = g->via[node];
        take_link(g, g->via[node]);
    }
    return BANYAN_SUCCESS;
}

static banyan_status add_member(garden *g, int tree, int parent, int child_node, banyan_error *err)
{
    size_t row = (size_t)tree * (size_t)g->count;
    int child = g->rank_of[child_node] - 1;
    banyan_grow_edge edge = {tree, parent, child, g->trees->step_count, 0, 0};
    banyan_status status = take_path(g, g->problem->active[parent], child_node, &edge, err);

    if (status)
        return status;
    g->trees->edges[g->trees->edge_count++] = edge;
    g->member[row + (size_t)g->live[tree]++] = child;
    g->size[tree]++;
    leave_open(g, tree, child);
    clear_bit(outside_of(g, tree), child);
    return BANYAN_SUCCESS;
}

/* One turn of one tree; *grew says whether it added a rank. */
static banyan_status take_turn(garden *g, int tree, int *grew, banyan_error *err)
{
    const int *member = g->member + (size_t)tree * (size_t)g->count;

    *grew = 0;
    if (g->size[tree] == g->count)
        return BANYAN_SUCCESS;
    for (; g->place[tree] < g->old_live[tree]; g->place[tree]++) {
        int parent = member[g->place[tree]], node = g->problem->active[parent];
        int child = g->free_count[node] ? search(g, tree, node) : -1;

        if (child >= 0) {
            *grew = 1;
            return add_member(g, tree, parent, child, err);
        }
        if (g->free_count[node] && find_bit(g->reachable, outside_of(g, tree), 0, g->count) == g->count)
            g->place[tree] = g->old_live[tree];
    }
    return BANYAN_SUCCESS;
}

/* Are all neighbours of a rank ranks of the tree already? Then it never adds another. */
static int is_spent(const garden *g, int tree, int rank)
{
    const uint64_t *open = g->open + (size_t)tree * (size_t)g->word_count;
    int begin = g->topology->out_first[g->problem->active[rank]];
    int end = g->topology->out_first[g->problem->active[rank] + 1];

    return g->is_enclosed[rank] && g->passage != THROUGH_ALL && find_bit(open, g->all, begin, end) == end;
}

static int drop_spent(garden *g, int tree)
{
    int *member = g->member + (size_t)tree * (size_t)g->count, kept = 0;

    if (!g->any_enclosed)
        return g->live[tree];
    for (int i = 0; i < g->live[tree]; i++)
        if (!is_spent(g, tree, member[i]))
            member[kept++] = member[i];
    return kept;
}

/* Everything free again; trees in turn until none of them grows, or the last one does not. */
static banyan_status take_step(garden *g, banyan_error *err)
{
    int any = 1;

    memcpy(g->left, g->capacity, (size_t)g->topology->link_count * sizeof(int));
    memcpy(g->free, g->all, (size_t)g->word_count * sizeof *g->free);
    for (int node = 0; node < g->topology->node_count; node++)
        g->free_count[node] = g->topology->out_first[node + 1] - g->topology->out_first[node];
    for (int rank = 0; rank < g->count; rank++) {
        int node = g->problem->active[rank];

        g->in_count[rank] = g->topology->in_first[node + 1] - g->topology->in_first[node];
        set_bit(g->reachable, rank);
    }
    for (int tree = 0; tree < g->count; tree++)
        g->old_live[tree] = g->live[tree] = drop_spent(g, tree);
    memset(g->place, 0, (size_t)g->count * sizeof(int));
    g->trees->step_count++;
    while (any) {
        any = 0;
        for (int i = 0; i < g->count; i++) {
            int grew;
            banyan_status status = take_turn(g, g->turn[i], &grew, err);

            if (status)
                return status;
            any = grew || (any && !g->ends_with_last_tree);
        }
    }
    return BANYAN_SUCCESS;
}

/* How many links away the farthest rank is. */
static int find_height(garden *g, int root)
{
    const banyan_topology *topology = g->topology;
    int *distance = g->via, head = 0, tail = 0, farthest = 0;

    g->stamp++;
    g->queue[tail++] = root;
    g->seen[root] = g->stamp;
    distance[root] = 0;
    while (head < tail) {
        int node = g->queue[head++];

        if (g->rank_of[node])
            farthest = distance[node];
        for (int i = topology->out_first[node]; i < topology->out_first[node + 1]; i++) {
            int next = topology->links[topology->out_link[i]].dst;

            if (g->seen[next] != g->stamp) {
                g->seen[next] = g->stamp;
                distance[next] = distance[node] + 1;
                g->queue[tail++] = next;
            }
        }
    }
    return farthest;
}

/* Trees by number, or by height where that is asked for; equal ones by number. */
static void find_turns(garden *g, int is_deep_first)
{
    int *height = g->place; /* not in use before the first step */

    for (int tree = 0; tree < g->count; tree++) {
        int i = tree;

        height[tree] = is_deep_first ? find_height(g, g->problem->active[tree]) : 0;
        for (; i > 0 && height[g->turn[i - 1]] < height[tree]; i--)
            g->turn[i] = g->turn[i - 1];
        g->turn[i] = tree;
    }
}

static banyan_status grow_all(garden *g, banyan_error *err)
{
    size_t wanted = (size_t)g->count * (size_t)(g->count - 1);

    while (g->trees->edge_count < wanted) {
        size_t before = g->trees->edge_count;
        banyan_status status = take_step(g, err);

        if (status)
            return status;
        if (g->trees->edge_count > before)
            continue;
        if (g->passage == THROUGH_ALL)
            return banyan_fail(err, BANYAN_INTERNAL_ERROR, "the trees of %s stopped growing in step %d",
                               g->topology->name, g->trees->step_count);
        g->passage = g->passage == THROUGH_BARE ? THROUGH_SWITCHES : THROUGH_ALL;
        g->trees->step_count--;
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_grow_trees(const banyan_problem *problem, banyan_grow_options options,
                                banyan_grown_trees *out, banyan_error *err)
{
    size_t ranks = (size_t)problem->active_count;
    banyan_grown_trees trees = {0};
    garden g = {.trees = &trees, .ends_with_last_tree = options.ends_with_last_tree};
    banyan_status status;

    if (problem->active_count > MAX_RANKS)
        return banyan_fail(err, BANYAN_UNSUPPORTED, "one tree per rank is grown for %d ranks at most, not %d",
                           MAX_RANKS, problem->active_count);
    trees.edges = banyan_alloc(ranks * (ranks - 1), sizeof *trees.edges);
    status = trees.edges ? garden_init(&g, problem, options.order, err) : banyan_fail_memory(err);
    if (!status) {
        find_turns(&g, options.is_deep_first);
        status = grow_all(&g, err);
    }
    garden_fini(&g);
    if (status) {
        banyan_grown_trees_fini(&trees);
        return status;
    }
    *out = trees;
    return BANYAN_SUCCESS;
}

void banyan_grown_trees_fini(banyan_grown_trees *trees)
{
    banyan_free(trees->edges);
    banyan_free(trees->path_link);
}
