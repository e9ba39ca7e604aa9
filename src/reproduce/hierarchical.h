/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/hierarchical.h: what was measured on ABCI, for the files that compare with it. */
#ifndef BANYAN_REPRODUCE_HIERARCHICAL_H
#define BANYAN_REPRODUCE_HIERARCHICAL_H

#include "algorithms/layers_model.h"
#include "reproduce/reproduce.h"

#define HIERARCHICAL_BYTES 134217728.0 /* 128 MiB */

enum { HIERARCHICAL_COUNTS = 5, HIERARCHICAL_MAX_ROW_LAYERS = 4 };

typedef struct {
    int ranks;
    const char *best; /* what was fastest in measurement */
    double speedup;   /* over the flat ring */
} hierarchical_winner;

extern const hierarchical_winner hierarchical_winners[HIERARCHICAL_COUNTS]; /* Fig. 6 */

/* A row of Table II or III: bus bandwidth of each layer, MB/s; 0: not printed. */
typedef struct {
    int ranks;
    const char *shape;
    double bus[HIERARCHICAL_MAX_ROW_LAYERS];
} hierarchical_row;

extern const hierarchical_row hierarchical_rows[];
extern const int hierarchical_row_count; /* all but Rabenseifner's two, of which the table cuts off layers */

/* Where a shape stands in a list, from 1; 0: nowhere. */
int hierarchical_find_place(const banyan_ranked_layers *list, int count, const char *wanted);

/* Seconds of a layer of p ranks that reduces that many bytes, from its bus bandwidth. */
double hierarchical_bus_s(int p, double bytes, double bus_mb_per_s);

/* Fig. 5, the Rabenseifner rows of Table II, and a fit that has not seen which shapes won. */
banyan_status hierarchical_show_fit(banyan_reproduction *r, banyan_error *err);

/* Table IV: parts of an iteration. */
banyan_status hierarchical_show_training(banyan_reproduction *r, banyan_error *err);

#endif
