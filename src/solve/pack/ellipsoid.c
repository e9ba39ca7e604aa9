/* SPDX-License-Identifier: Apache-2.0 */
/* solve/pack/ellipsoid.c: prices y >= 0 under which every tree costs at least 1, with the least capacity
 * times price.
 *
 * Keep an ellipsoid that holds the best prices; look at its centre. A negative price, a tree that costs less
 * than 1, or (where nothing is wrong) the wish for a smaller value each cut it in half; the smallest
 * ellipsoid around the rest has a volume that is smaller by a fixed factor. The trees met are those that a
 * packing needs.
 *
 * Against the paper's Algorithm 1 this has cuts for negative prices, cuts by the objective instead of a
 * search over its value, one price vector for all roots, a first ellipsoid, and a tolerance; without these it
 * ends too early or at the wrong value. It is slow (some 2 m^2 log(1/tolerance) steps for m cables) and kept
 * for study. */
#include "solve/pack/ellipsoid.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "solve/oracle/spanning.h"

#define SCALE 1073741824.0 /* 2^30 */
#define STEP_LIMIT 400000

typedef struct {
    const banyan_graph *graph;
    int size;      /* cables */
    int *row;      /* per arc */
    double *worth; /* capacity per cable, the largest 1 */
    double *centre, *matrix, *cut, *image;
    int64_t *cost;
    uint64_t *seen; /* hashes of the trees that are kept */
    size_t seen_count, seen_capacity;
} body;

static void body_fini(body *b)
{
    banyan_free(b->row);
    banyan_free(b->worth);
    banyan_free(b->centre);
    banyan_free(b->matrix);
    banyan_free(b->cut);
    banyan_free(b->image);
    banyan_free(b->cost);
    banyan_free(b->seen);
}

static banyan_status body_init(body *b, const banyan_graph *graph, banyan_error *err)
{
    size_t arcs = (size_t)graph->arc_count;
    double largest = 0;

    *b = (body){.graph = graph, .row = banyan_alloc(arcs, sizeof(int))};
    b->worth = banyan_alloc(arcs, sizeof(double));
    b->centre = banyan_alloc(arcs, sizeof(double));
    b->cut = banyan_alloc(arcs, sizeof(double));
    b->image = banyan_alloc(arcs, sizeof(double));
    b->cost = banyan_alloc(arcs, sizeof(int64_t));
    b->matrix = banyan_alloc(arcs * arcs, sizeof(double));
    if (!b->row || !b->worth || !b->centre || !b->cut || !b->image || !b->cost || !b->matrix)
        return banyan_fail_memory(err);
    for (int i = 0; i < graph->arc_count; i++) {
        int cable = banyan_graph_cable(graph, i);

        b->row[i] = cable == i ? b->size++ : b->row[cable];
        b->worth[b->row[i]] = (double)graph->arcs[i].capacity;
        largest = b->worth[b->row[i]] > largest ? b->worth[b->row[i]] : largest;
    }
    for (int i = 0; i < b->size; i++) { /* the ball around the cube of prices 0 to 1 */
        b->worth[i] /= largest;
        b->centre[i] = 0.5;
        b->matrix[i * b->size + i] = b->size / 4.0;
    }
    return BANYAN_SUCCESS;
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

/* The latest tree's uses as a cut, and a number that tells trees apart. */
static uint64_t cut_tree(body *b, const banyan_trees *trees, double *price)
{
    uint64_t hash = 0;

    memset(b->cut, 0, (size_t)b->size * sizeof(double));
    *price = 0;
    for (size_t a = banyan_trees_arcs_begin(trees, trees->tree_count - 1); a < trees->arc_count; a++) {
        int row = b->row[trees->arcs[a]];
        uint64_t z = ((uint64_t)row + 1) * 0x9e3779b97f4a7c15u;

        b->cut[row] -= 1;
        *price += b->centre[row];
        hash += (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
    }
    return hash;
}

static banyan_status keep_if_new(body *b, uint64_t hash, banyan_trees *trees, banyan_error *err)
{
    for (size_t i = 0; i < b->seen_count; i++)
        if (b->seen[i] == hash) {
            banyan_trees_drop_last(trees);
            return BANYAN_SUCCESS;
        }
    if (!banyan_grow((void **)&b->seen, b->seen_count, &b->seen_capacity, sizeof *b->seen))
        return banyan_fail_memory(err);
    b->seen[b->seen_count++] = hash;
    return BANYAN_SUCCESS;
}

banyan_status banyan_ellipsoid_trees(const banyan_graph *graph, double tolerance, banyan_trees *trees,
                                     banyan_ellipsoid_effort *effort, banyan_error *err)
{
    banyan_spanning *spanning = NULL;
    body b;
    banyan_status status;

    *effort = (banyan_ellipsoid_effort){0, 0};
    if (!graph->symmetric || graph->arc_count > 2 * BANYAN_ELLIPSOID_CABLES)
        return banyan_fail(err, BANYAN_UNSUPPORTED,
                           "the ellipsoid method is for networks of at most %d cables, equal both ways",
                           BANYAN_ELLIPSOID_CABLES);
    status = body_init(&b, graph, err);
    if (!status)
        status = banyan_spanning_create(graph, &spanning, err);
    for (int done = 0; !status && !done && effort->steps < STEP_LIMIT; effort->steps++) {
        double price, value = 0;
        uint64_t hash;

        if (b.size > 1 && cut_negative(&b)) {
            shrink(&b);
            continue;
        }
        for (int i = 0; i < graph->arc_count; i++)
            b.cost[i] = (int64_t)nearbyint(b.centre[b.row[i]] * SCALE);
        effort->oracle_calls++;
        if (banyan_spanning_tree(spanning, NULL, b.cost, trees) < 0 || trees->failed) {
            status = trees->failed ? banyan_fail_memory(err)
                                   : banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                                 "the active workers are not all connected");
            break;
        }
        hash = cut_tree(&b, trees, &price);
        status = keep_if_new(&b, hash, trees, err);
        done = b.size < 2;
        if (price < 1) {
            shrink(&b);
            continue;
        }
        for (int i = 0; i < b.size; i++) {
            b.cut[i] = b.worth[i];
            value += b.worth[i] * b.centre[i];
        }
        done = done || shrink(&b) < tolerance * value;
    }
    banyan_spanning_destroy(spanning);
    body_fini(&b);
    return status;
}
