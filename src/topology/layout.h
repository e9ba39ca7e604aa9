/* SPDX-License-Identifier: Apache-2.0 */
/* topology/layout.h: where things stand in a picture. Pixels; y grows downwards. */
#ifndef BANYAN_TOPOLOGY_LAYOUT_H
#define BANYAN_TOPOLOGY_LAYOUT_H

#include "topology/cables.h"

typedef enum { BANYAN_LAYOUT_GRID, BANYAN_LAYOUT_LAYERS, BANYAN_LAYOUT_CIRCLE } banyan_layout_kind;

/* A node, or a block of workers that hang on the same switch. */
typedef struct {
    double x, y; /* of its middle */
    double width, height;
    int first, count, columns; /* members in layout.members */
    int row;                   /* layers: 0 are the workers, then upwards */
} banyan_layout_box;

typedef struct {
    banyan_layout_kind kind;
    const banyan_cables *cables;
    int box_count;
    banyan_layout_box *boxes;
    int *box_of;  /* by node */
    int *members; /* node ids, box after box */
    double cell_width, cell_height, font;
    double gap; /* between neighbours on a grid or circle */
    double width, height;
    int slice_count, slice_columns; /* of a grid with more than two dimensions */
    double slice_width, slice_height;
} banyan_layout;

/* Picks a layout and places everything inside 0..width, 0..height. */
banyan_status banyan_layout_find(const banyan_cables *cables, banyan_layout *out, banyan_error *err);
void banyan_layout_fini(banyan_layout *layout);

/* Where the middle of a box's i-th member is. */
void banyan_layout_place_member(const banyan_layout *layout, const banyan_layout_box *box, int i, double *x,
                                double *y);

/* For banyan_layout_find: rows of switches over blocks of workers (layout_layers.c). */
banyan_status banyan_layout_place_layers(banyan_layout *layout, banyan_error *err);

#endif
