/* SPDX-License-Identifier: Apache-2.0 */
/* topology/layout.c: grids as grids (more than two dimensions as slices side by side), networks with switches
 * as layers, and everything else on a circle. */
#include "topology/layout.h"

#include <math.h>
#include <string.h>

#include "core/alloc.h"

static const double pi = 3.14159265358979323846;

/* Every node is a box of its own. */
static void make_single_boxes(banyan_layout *layout)
{
    int nodes = layout->cables->topology->node_count;

    layout->box_count = nodes;
    for (int v = 0; v < nodes; v++) {
        layout->box_of[v] = layout->members[v] = v;
        layout->boxes[v] = (banyan_layout_box){
            .width = layout->cell_width, .height = layout->cell_height, .first = v, .count = 1, .columns = 1};
    }
}

static void set_cells(banyan_layout *layout)
{
    const banyan_topology *topology = layout->cables->topology;
    size_t longest = 2;

    for (int v = 0; v < topology->node_count; v++) {
        size_t length = strlen(banyan_topology_node_name(topology, v));

        longest = length > longest ? length : longest;
    }
    longest = longest > 24 ? 24 : longest;
    layout->font = topology->node_count <= 40 ? 13 : topology->node_count <= 100 ? 11 : 9;
    layout->cell_width = layout->font * (0.62 * (double)longest + 1.1);
    layout->cell_height = layout->font * 1.75;
    layout->gap = layout->font * (topology->node_count <= 40 ? 2.6 : 1.5);
}

static int is_grid(const banyan_topology *topology)
{
    const banyan_grid *grid = &topology->grid;

    if (!grid->dimension_count || topology->node_count != topology->worker_count)
        return 0;
    return grid->dimension_count > 1 || (!grid->wraps[0] && grid->extent[0] <= 16);
}

static void place_grid(banyan_layout *layout)
{
    const banyan_grid *grid = &layout->cables->topology->grid;
    int dimensions = grid->dimension_count;
    int columns = grid->extent[dimensions - 1], rows = dimensions > 1 ? grid->extent[dimensions - 2] : 1;
    int slice_rows;
    double across = layout->cell_width + layout->gap, down = layout->cell_height + layout->gap;

    layout->slice_count = layout->cables->topology->worker_count / rows / columns;
    layout->slice_width = columns * across + 1.5 * layout->gap;
    layout->slice_height = rows * down + (layout->slice_count > 1 ? 3 * layout->font : 0);
    layout->slice_columns =
        (int)ceil(sqrt(layout->slice_count * 1.6 * layout->slice_height / layout->slice_width));
    /* As many rows, but filled evenly: 2 + 2 rather than 3 + 1. */
    slice_rows = (layout->slice_count + layout->slice_columns - 1) / layout->slice_columns;
    layout->slice_columns = (layout->slice_count + slice_rows - 1) / slice_rows;
    for (int i = 0; i < layout->box_count; i++) {
        int slice = i / (rows * columns), row = i / columns % rows, column = i % columns;
        banyan_layout_box *box = &layout->boxes[i];

        box->x = slice % layout->slice_columns * layout->slice_width + layout->gap + (column + 0.5) * across;
        box->y = slice / layout->slice_columns * layout->slice_height + (row + 0.5) * down +
                 (layout->slice_count > 1 ? 2 * layout->font : 0);
    }
    layout->width = fmin(layout->slice_count, layout->slice_columns) * layout->slice_width + layout->gap / 2;
    layout->height =
        (layout->slice_count + layout->slice_columns - 1) / layout->slice_columns * layout->slice_height;
}

static void place_circle(banyan_layout *layout)
{
    double around = layout->box_count * (layout->cell_width + layout->gap);
    double radius = fmax(around / (2 * pi), 2.2 * layout->cell_width + layout->gap);

    if (layout->box_count == 1)
        radius = 0;
    for (int i = 0; i < layout->box_count; i++) {
        double angle = 2 * pi * (i + 0.5) / layout->box_count - pi / 2;

        layout->boxes[i].x = radius * (1 + cos(angle)) + layout->cell_width / 2 + layout->gap;
        layout->boxes[i].y = radius * (1 + sin(angle)) + layout->cell_height / 2 + layout->gap;
    }
    layout->width = 2 * radius + layout->cell_width + 2 * layout->gap;
    layout->height = 2 * radius + layout->cell_height + 2 * layout->gap;
}

banyan_status banyan_layout_find(const banyan_cables *cables, banyan_layout *out, banyan_error *err)
{
    const banyan_topology *topology = cables->topology;
    size_t nodes = (size_t)topology->node_count;
    banyan_status status = BANYAN_SUCCESS;

    *out = (banyan_layout){.cables = cables};
    out->boxes = banyan_alloc(nodes, sizeof *out->boxes);
    out->box_of = banyan_alloc(nodes, sizeof *out->box_of);
    out->members = banyan_alloc(nodes, sizeof *out->members);
    if (!out->boxes || !out->box_of || !out->members) {
        banyan_layout_fini(out);
        return banyan_fail_memory(err);
    }
    set_cells(out);
    make_single_boxes(out);
    if (is_grid(topology)) {
        out->kind = BANYAN_LAYOUT_GRID;
        place_grid(out);
    } else if (topology->node_count > topology->worker_count) {
        out->kind = BANYAN_LAYOUT_LAYERS;
        status = banyan_layout_place_layers(out, err);
    } else {
        out->kind = BANYAN_LAYOUT_CIRCLE;
        place_circle(out);
    }
    if (status)
        banyan_layout_fini(out);
    return status;
}

void banyan_layout_fini(banyan_layout *layout)
{
    banyan_free(layout->boxes);
    banyan_free(layout->box_of);
    banyan_free(layout->members);
    *layout = (banyan_layout){0};
}

void banyan_layout_place_member(const banyan_layout *layout, const banyan_layout_box *box, int i, double *x,
                                double *y)
{
    *x = box->x - box->width / 2 + (i % box->columns + 0.5) * layout->cell_width;
    *y = box->y - box->height / 2 + (i / box->columns + 0.5) * layout->cell_height;
}
