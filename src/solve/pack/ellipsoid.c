/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/ellipsoid.c: prices y >= 0 under which every pair of trees with a common root costs at least 1,
 * with the least capacity times price.
 *
 * Keep an ellipsoid that holds the best prices; look at its centre. A negative price, a pair that costs less
 * than 1, or (where nothing is wrong) the wish for a smaller value each cut it in half; the smallest
 * ellipsoid around the rest has a volume that is smaller by a fixed factor. The pairs met are those that a
 * packing needs.
 *
 * An arc has a price. Where links are symmetric a cable has one, for both directions, and trees are
 * undirected: each is a pair that mirrors itself.
 *
 * Against the paper's Algorithm 1 this has cuts for negative prices, cuts by the objective instead of a
 * search over its value, one price vector for all roots and both kinds of trees, a first ellipsoid, and a
 * tolerance; without these it ends too early or at the wrong value. It is slow (some 2 m^2 log(1/tolerance)
 * steps for m prices) and kept for study. */
#include "solve/pack/ellipsoid.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/pack/weigh.h"
#include "solve/start/pair_tools.h"

#define SCALE 1073741824.0 /* 2^30 */
#define STEP_LIMIT 400000

typedef struct {
    const banyan_graph *graph;
    banyan_pair_oracle oracle;
    int size;      /* prices */
    int *row;      /* per arc: its price */
    double *worth; /* capacity per price, the largest 1 */
    double *centre, *matrix, *cut, *image;
    int64_t *cost;
    banyan_trees trees; /* undirected, or in, out, in, out, ... */
    int *root;          /* per tree */
    uint64_t *seen;     /* hashes of the trees or pairs that are kept */
    size_t root_capacity, seen_count, seen_capacity;
    banyan_scratch memory;
} body;

static void body_fini(body *b)
{
    banyan_pair_oracle_fini(&b->oracle);
    banyan_trees_fini(&b->trees);
    banyan_free(b->root);
    banyan_free(b->seen);
    banyan_scratch_free(&b->memory);
}

/* Numbers the prices. */
static banyan_status find_rows(body *b, banyan_error *err)
{
    const banyan_graph *graph = b->graph;

    b->row = banyan_scratch_take(&b->memory, (size_t)graph->arc_count, sizeof(int));
    if (!b->row)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++) {
        int cable = graph->symmetric ? banyan_graph_cable(graph, i) : i;

        b->row[i] = cable == i ? b->size++ : b->row[cable];
    }
    if (b->size > BANYAN_ELLIPSOID_PRICES)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "the ellipsoid method is for networks of at most %d %s, and this one has %d",
                           BANYAN_ELLIPSOID_PRICES, graph->symmetric ? "cables" : "one-way links", b->size);
    return BANYAN_SUCCESS;
}

static banyan_status find_body(body *b, banyan_error *err)
{
    size_t size = (size_t)b->size;
    double largest = 0;

    b->worth = banyan_scratch_take(&b->memory, size, sizeof(double));
    b->centre = banyan_scratch_take(&b->memory, size, sizeof(double));
    b->cut = banyan_scratch_take(&b->memory, size, sizeof(double));
    b->image = banyan_scratch_take(&b->memory, size, sizeof(double));
    b->matrix = banyan_scratch_take(&b->memory, size * size, sizeof(double));
    b->cost = banyan_scratch_take(&b->memory, (size_t)b->graph->arc_count, sizeof(int64_t));
    if (b->memory.failed)
        return banyan_fail_memory(err);
    for (int i = 0; i < b->graph->arc_count; i++) {
        b->worth[b->row[i]] = (double)b->graph->arcs[i].capacity;
        largest = fmax(largest, b->worth[b->row[i]]);
    }
    for (int i = 0; i < b->size; i++) { /* the ball around the cube of prices 0 to 1 */
        b->worth[i] /= largest;
        b->centre[i] = 0.5;
        b->matrix[i * b->size + i] = b->size / 4.0;
    }
    return BANYAN_SUCCESS;
}

static banyan_status body_init(body *b, const banyan_graph *graph, banyan_error *err)
{
    banyan_status status;

    b->graph = graph;
    banyan_trees_init(&b->trees);
    status = find_rows(b, err);
    if (!status)
        status = find_body(b, err);
    if (!status)
        status = banyan_pair_oracle_init(&b->oracle, graph, err);
    if (!status && graph->symmetric) { /* an undirected tree has any root */
        b->oracle.root[0] = graph->active[0];
        b->oracle.root_count = 1;
    }
    return status;
}

/* Keeps what lies on the side of the centre where cut·y falls. Returns the half width along the cut. */
static double shrink(body *b)
{
    int n = b->size;
    double width = 0;

    for (int i = 0; i < n; i++) {
        b->image[i] = 0;
        for (int j = 0; j < n; j++)
            b->image[i] += b->matrix[i * n + j] * b->cut[j];
        width += b->image[i] * b->cut[i];
    }
    width = width > 0 ? sqrt(width) : 0;
    if (width == 0)
        return 0;
    for (int i = 0; i < n; i++) {
        b->image[i] /= width;
        b->centre[i] -= b->image[i] / (n + 1);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b->matrix[i * n + j] = (b->matrix[i * n + j] - 2.0 / (n + 1) * b->image[i] * b->image[j]) * n *
                                   n / ((double)n * n - 1);
    return width;
}

static int cut_negative(body *b)
{
    for (int i = 0; i < b->size; i++)
        if (b->centre[i] < 0) {
            memset(b->cut, 0, (size_t)b->size * sizeof(double));
            b->cut[i] = -1;
            return 1;
        }
    return 0;
}

/* The root of the cheapest pair; of those that cost less than 1 the first, since any of them cuts. */
static int choose_root(body *b)
{
    int64_t least = INT64_MAX;
    int best = b->oracle.root[0];

    for (int i = 0; i < b->oracle.root_count && b->oracle.root_count > 1 && (double)least >= SCALE; i++) {
        int64_t in = banyan_pair_packing_in_tree(&b->oracle, b->oracle.root[i], NULL);
        int64_t out = banyan_pair_packing_out_tree(&b->oracle, b->oracle.root[i], NULL);

        if (in >= 0 && out >= 0 && in + out < least) {
            least = in + out;
            best = b->oracle.root[i];
        }
    }
    return best;
}

/* Appends the cheapest tree under the centre's prices, or pair. */
static banyan_status add_cheapest(body *b, banyan_error *err)
{
    banyan_status status;
    int root;

    for (int i = 0; i < b->graph->arc_count; i++)
        b->cost[i] = (int64_t)nearbyint(b->centre[b->row[i]] * SCALE);
    banyan_pair_packing_measure_in(&b->oracle, b->cost);
    if (!b->graph->symmetric)
        banyan_pair_packing_measure_out(&b->oracle, b->cost);
    root = choose_root(b);
    for (int is_out = 0; is_out < (b->graph->symmetric ? 1 : 2); is_out++) {
        if (!banyan_grow((void **)&b->root, b->trees.tree_count, &b->root_capacity, sizeof *b->root))
            return banyan_fail_memory(err);
        b->root[b->trees.tree_count] = root;
        status = banyan_pair_tools_grow(&b->oracle, is_out, root, &b->trees, err);
        if (status)
            return status;
    }
    return BANYAN_SUCCESS;
}

/* The uses of the trees from `first` on as a cut, and a number that tells such uses apart. */
static uint64_t cut_trees(body *b, size_t first, double *price)
{
    const banyan_trees *trees = &b->trees;
    uint64_t hash = 0;

    memset(b->cut, 0, (size_t)b->size * sizeof(double));
    *price = 0;
    for (size_t a = banyan_trees_arcs_begin(trees, first); a < trees->arc_count; a++) {
        int row = b->row[trees->arcs[a]];
        uint64_t z = ((uint64_t)row + 1) * 0x9e3779b97f4a7c15u;

        b->cut[row] -= 1;
        *price += b->centre[row];
        hash += (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
    }
    return hash;
}

static banyan_status keep_if_new(body *b, uint64_t hash, size_t first, banyan_error *err)
{
    for (size_t i = 0; i < b->seen_count; i++)
        if (b->seen[i] == hash) {
            while (b->trees.tree_count > first)
                banyan_trees_drop_last(&b->trees);
            return BANYAN_SUCCESS;
        }
    if (!banyan_grow((void **)&b->seen, b->seen_count, &b->seen_capacity, sizeof *b->seen))
        return banyan_fail_memory(err);
    b->seen[b->seen_count++] = hash;
    return BANYAN_SUCCESS;
}

static banyan_status find_trees(body *b, double tolerance, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int step = 0, done = 0; !status && !done && step < STEP_LIMIT; step++) {
        size_t first = b->trees.tree_count;
        double price, value = 0;

        if (b->size > 1 && cut_negative(b)) {
            shrink(b);
            continue;
        }
        status = add_cheapest(b, err);
        if (!status)
            status = keep_if_new(b, cut_trees(b, first, &price), first, err);
        done = b->size < 2;
        if (status || price < 1) {
            shrink(b);
            continue;
        }
        for (int i = 0; i < b->size; i++) {
            b->cut[i] = b->worth[i];
            value += b->worth[i] * b->centre[i];
        }
        done = done || shrink(b) < tolerance * value;
    }
    return status;
}

static banyan_status weigh(body *b, banyan_pair_packing *packing, banyan_error *err)
{
    double unit = (double)b->graph->arcs[0].capacity, *weight;
    banyan_lp *lp = NULL;
    banyan_status status;

    if (b->graph->symmetric)
        return banyan_weigh_trees(b->graph, unit, &b->trees, packing, err);
    weight = banyan_alloc(b->trees.tree_count / 2, sizeof *weight);
    status = weight ? banyan_weigh_pairs(b->graph, unit, &b->trees, &lp, weight, &packing->total, err)
                    : banyan_fail_memory(err);
    if (!status)
        status = banyan_pair_tools_hand_over(packing, &b->trees, &b->root, weight, err);
    banyan_lp_destroy(lp);
    banyan_free(weight);
    return status;
}

banyan_status banyan_pair_packing_by_ellipsoid(const banyan_graph *graph, double tolerance,
                                               banyan_pair_packing *packing, banyan_error *err)
{
    body b = {0};
    banyan_status status = body_init(&b, graph, err);

    if (!status)
        status = find_trees(&b, tolerance, err);
    if (!status)
        status = weigh(&b, packing, err);
    body_fini(&b);
    return status;
}
