/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/cycles.c: edge-disjoint Hamiltonian cycles of a torus, by switching squares.
 *
 * At first the lines along dimension d make up factor d: every worker has two cables in each factor, but a
 * factor is many small cycles. Take a square of four workers with two opposite cables in factor x and the
 * other two in factor y, and let the factors swap them:
 *
 *     --o---o--  x        --o   o--        two lines of x become one cycle, and two of y as well;
 *       |   |         ->    |   |          every worker still has two cables in each factor
 *     --o---o--  x        --o   o--
 *       y   y
 *
 * Squares are tried in a fixed pseudo-random order, and a swap is kept unless it leaves more cycles than
 * before. That such cycles exist for every torus is a theorem (Kotzig 1973; Foregger 1978; Aubert and
 * Schneider 1982); the search ends when every factor is one cycle. */
#include "algorithms/cycles.h"

#include <string.h>

#include "core/alloc.h"
#include "core/random.h"

#define MAX_TRIES_PER_WORKER 4000L

typedef struct {
    int extent[BANYAN_MAX_DIMENSIONS], stride[BANYAN_MAX_DIMENSIONS];
    int dimension_count, size;
    unsigned char *factor; /* of the cable from worker v upwards along dimension d: [v * d_count + d] */
    int cycles[BANYAN_MAX_DIMENSIONS];
    char *seen;
} torus;

static int step_up(const torus *t, int worker, int d)
{
    int at = worker / t->stride[d] % t->extent[d];

    return at + 1 < t->extent[d] ? worker + t->stride[d] : worker - at * t->stride[d];
}

static int step_down(const torus *t, int worker, int d)
{
    int at = worker / t->stride[d] % t->extent[d];

    return at > 0 ? worker - t->stride[d] : worker + (t->extent[d] - 1) * t->stride[d];
}

static unsigned char *cable(const torus *t, int worker, int d)
{
    return &t->factor[(size_t)worker * (size_t)t->dimension_count + (size_t)d];
}

/* The neighbour in a factor that is not where we came from; any at the start (from -1). */
static int follow(const torus *t, int factor, int worker, int from)
{
    int other = -1;

    for (int d = 0; d < t->dimension_count; d++) {
        int up = step_up(t, worker, d), down = step_down(t, worker, d);

        if (*cable(t, worker, d) == factor && up != from)
            return up;
        if (*cable(t, down, d) == factor && down != from)
            other = down;
    }
    return other;
}

static int count_cycles(torus *t, int factor)
{
    int count = 0;

    memset(t->seen, 0, (size_t)t->size);
    for (int start = 0; start < t->size; start++) {
        int worker = start, from = -1;

        if (t->seen[start])
            continue;
        count++;
        while (!t->seen[worker]) {
            int next = follow(t, factor, worker, from);

            t->seen[worker] = 1;
            from = worker;
            worker = next;
        }
    }
    return count;
}

/* Swaps the cables of the square from a worker up along a and b; returns 0 where they are not two and two. */
static int swap_square(torus *t, int worker, int a, int b)
{
    unsigned char *along_a[2] = {cable(t, worker, a), cable(t, step_up(t, worker, b), a)};
    unsigned char *along_b[2] = {cable(t, worker, b), cable(t, step_up(t, worker, a), b)};
    unsigned char x = *along_a[0], y = *along_b[0];

    if (*along_a[1] != x || *along_b[1] != y || x == y)
        return 0;
    *along_a[0] = *along_a[1] = y;
    *along_b[0] = *along_b[1] = x;
    return 1;
}

/* One try: a swap that leaves no more cycles than before is kept. */
static void try_square(torus *t, int worker, int a, int b)
{
    int x = *cable(t, worker, a), y = *cable(t, worker, b), in_x, in_y;

    if (!swap_square(t, worker, a, b))
        return;
    in_x = count_cycles(t, x);
    in_y = count_cycles(t, y);
    if (in_x + in_y > t->cycles[x] + t->cycles[y]) {
        swap_square(t, worker, a, b);
        return;
    }
    t->cycles[x] = in_x;
    t->cycles[y] = in_y;
}

static int is_done(const torus *t)
{
    for (int d = 0; d < t->dimension_count; d++)
        if (t->cycles[d] > 1)
            return 0;
    return 1;
}

static banyan_status switch_squares(torus *t, banyan_error *err)
{
    banyan_random random = {1};

    for (long tries = 0; !is_done(t); tries++) {
        int worker = banyan_random_below(&random, t->size);
        int a = banyan_random_below(&random, t->dimension_count);
        int b = banyan_random_below(&random, t->dimension_count);

        if (tries > MAX_TRIES_PER_WORKER * t->size)
            return banyan_fail(err, BANYAN_UNSUPPORTED, "no disjoint cycles were found in %ld tries", tries);
        if (a != b)
            try_square(t, worker, a, b);
    }
    return BANYAN_SUCCESS;
}

static banyan_status find_dimensions(const banyan_grid *grid, torus *t, banyan_error *err)
{
    t->size = 1;
    for (int d = grid->dimension_count - 1; d >= 0; d--) {
        if (grid->extent[d] > 1) {
            if (!grid->wraps[d] || grid->extent[d] < 3)
                return banyan_fail(
                    err, BANYAN_UNSUPPORTED,
                    "disjoint cycles need a torus with extents of at least 3, but dimension %d "
                    "has %d%s",
                    d, grid->extent[d], grid->wraps[d] ? "" : " and does not wrap");
            t->extent[t->dimension_count] = grid->extent[d];
            t->stride[t->dimension_count++] = t->size;
        }
        t->size *= grid->extent[d];
    }
    return BANYAN_SUCCESS;
}

static void write_cycle(const torus *t, int factor, int *out)
{
    int worker = 0, from = -1;

    for (int i = 0; i < t->size; i++) {
        int next = follow(t, factor, worker, from);

        out[i] = worker;
        from = worker;
        worker = next;
    }
}

banyan_status banyan_cycles_find(const banyan_grid *grid, int **out, int *cycle_count, banyan_error *err)
{
    torus t = {0};
    int *cycles = NULL;
    banyan_status status = find_dimensions(grid, &t, err);

    if (status)
        return status;
    t.factor = banyan_alloc((size_t)t.size * (size_t)t.dimension_count, 1);
    t.seen = banyan_alloc((size_t)t.size, 1);
    cycles = banyan_alloc((size_t)t.size * (size_t)t.dimension_count, sizeof *cycles);
    if (!t.factor || !t.seen || !cycles)
        status = banyan_fail_memory(err);
    for (int i = 0; !status && i < t.size * t.dimension_count; i++)
        t.factor[i] = (unsigned char)(i % t.dimension_count);
    for (int d = 0; !status && d < t.dimension_count; d++)
        t.cycles[d] = t.size / t.extent[d];
    if (!status)
        status = switch_squares(&t, err);
    for (int d = 0; !status && d < t.dimension_count; d++)
        write_cycle(&t, d, cycles + (size_t)d * (size_t)t.size);
    banyan_free(t.factor);
    banyan_free(t.seen);
    if (status) {
        banyan_free(cycles);
        return status;
    }
    *out = cycles;
    *cycle_count = t.dimension_count;
    return BANYAN_SUCCESS;
}
