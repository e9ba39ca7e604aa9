/* SPDX-License-Identifier: Apache-2.0 */
/* solve/net/simplex.h: what an outside library must do for solve/net/lp.c: minimise cost·x subject to rows, x
 * >= 0.
 *
 * It lives in a shared object of its own, banyan-lp.so (src/solve/engines/), so that libbanyan links neither
 * the library nor the BLAS that it brings along: most processes never solve a linear program. The two are
 * built together and agree on BANYAN_SIMPLEX_ABI: this is no promise to others. */
#ifndef BANYAN_SOLVE_NET_SIMPLEX_H
#define BANYAN_SOLVE_NET_SIMPLEX_H

#include "core/status.h"

#define BANYAN_SIMPLEX_ABI 3u

#define BANYAN_SIMPLEX_STOPPED 3

typedef struct banyan_simplex_model banyan_simplex_model; /* the library's own */

typedef struct {
    unsigned abi;

    /* Rows without entries; starts: row_count + 1 zeros. NULL: no memory. */
    banyan_simplex_model *(*create)(int row_count, const double *lower, const double *upper,
                                    const int *starts);
    void (*destroy)(banyan_simplex_model *model);

    /* lower and upper: NULL for 0 and no limit. */
    void (*add_columns)(banyan_simplex_model *model, int count, const double *lower, const double *upper,
                        const double *cost, const int *start, const int *row, const double *value);

    /* The next solve starts from that basis, if the two have as many rows and columns. */
    void (*begin_like)(banyan_simplex_model *model, const banyan_simplex_model *like);

    /* 0: an optimum was found; STOPPED: after most_steps there is something feasible, if there was at the
     * beginning, and prices. */
    int (*solve)(banyan_simplex_model *model, int most_steps);

    int (*step_count)(const banyan_simplex_model *model); /* simplex steps of the last solve */
    int (*row_count)(const banyan_simplex_model *model);
    double (*objective)(const banyan_simplex_model *model);
    const double *(*values)(const banyan_simplex_model *model);
    double (*price)(const banyan_simplex_model *model, int row);
} banyan_simplex;

/* The solver, loaded when it is first asked for; it stays. UNSUPPORTED with a sentence where it is not there,
 * or where the limits of this process leave no room for it. From any thread. */
banyan_status banyan_simplex_load(const banyan_simplex **out, banyan_error *err);

/* The one symbol of the shared object. */
#define BANYAN_SIMPLEX_SYMBOL "banyan_simplex_plugin"
extern const banyan_simplex banyan_simplex_plugin;

#endif
