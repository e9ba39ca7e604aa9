/* SPDX-License-Identifier: Apache-2.0 */
/* topology/layout_layers.c: switches in rows, the workers below.
 *
 *            net            row 3     A switch stands one row above the lowest switch or worker that it is
 *         /       \                   joined to, above switches that reach others by it alone, and over the
 *       r0         r1       row 2     middle of what it is joined to below. Switches over the same place (the
 *      /  \       /  \                spines of a fat-tree) share the width below them.
 *    h0    h1   h2    h3    row 1
 *   [g0g1][g2] [g3g4][g5]   row 0     Many workers are packed into blocks, one for each lowest switch.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "topology/layout.h"

/* Up to that many workers stand side by side, each for itself. */
enum { MAX_SINGLE = 20 };

typedef struct {
    banyan_layout *layout;
    int *level;         /* by node */
    int *owner;         /* by worker: its lowest switch, or -1 */
    int *order;         /* scratch: boxes */
    int *near_switch;   /* by host: the lowest switch of any of its workers */
    double *low, *high; /* by box: how far what is joined below reaches */
    int top;
    int crowded; /* that many blocks that they stand closer */
} layers;

static int is_switch(const layers *l, int v)
{
    return l->layout->cables->topology->nodes[v].kind == BANYAN_NODE_SWITCH;
}

static void find_levels(layers *l)
{
    const banyan_cables *cables = l->layout->cables;
    const banyan_topology *topology = cables->topology;
    int head = 0, tail = 0;

    for (int v = 0; v < topology->node_count; v++) {
        l->level[v] = is_switch(l, v) ? INT_MAX : 0;
        if (!is_switch(l, v))
            l->order[tail++] = v;
    }
    for (; head < tail; head++)
        for (int i = cables->first[l->order[head]]; i < cables->first[l->order[head] + 1]; i++) {
            int peer = cables->cables[i].peer;

            if (l->level[peer] == INT_MAX) {
                l->level[peer] = l->level[l->order[head]] + 1;
                l->order[tail++] = peer;
            }
        }
    for (int v = 0; v < topology->node_count; v++)
        if (l->level[v] == INT_MAX)
            l->level[v] = 1;
}

static int count_workers(const layers *l, int v)
{
    const banyan_cables *cables = l->layout->cables;
    int count = 0;

    for (int i = cables->first[v]; i < cables->first[v + 1]; i++)
        count += !is_switch(l, cables->cables[i].peer);
    return count;
}

/* Whether workers of other hosts hang on the switch, too. */
static int reaches_beyond(const layers *l, int v, int host)
{
    const banyan_cables *cables = l->layout->cables;

    for (int i = cables->first[v]; i < cables->first[v + 1]; i++) {
        int peer = cables->cables[i].peer;

        if (!is_switch(l, peer) && cables->topology->nodes[peer].host != host)
            return 1;
    }
    return 0;
}

/* A worker that has lost the link to its host's switch stays with its host: where workers of other hosts
 * share its lowest switch, it goes to that of a neighbour in its host that shares with fewer. */
static void keep_hosts_whole(layers *l)
{
    const banyan_topology *topology = l->layout->cables->topology;
    int *nearest = l->near_switch; /* by host */

    for (int h = 0; h < topology->host_count; h++)
        nearest[h] = -1;
    for (int v = 0; v < topology->node_count; v++) {
        int h = topology->nodes[v].host;

        if (h >= 0 && l->owner[v] >= 0 && (nearest[h] < 0 || l->order[l->owner[v]] < l->order[nearest[h]]))
            nearest[h] = l->owner[v];
    }
    for (int v = 0; v < topology->node_count; v++) {
        int h = topology->nodes[v].host;

        if (h >= 0 && nearest[h] >= 0 && (l->owner[v] < 0 || reaches_beyond(l, l->owner[v], h)) &&
            !reaches_beyond(l, nearest[h], h))
            l->owner[v] = nearest[h];
    }
}

/* A worker's lowest switch is the one with the fewest workers (the box's own, not the one that joins all
 * boxes); a switch that is nobody's lowest is raised above the others. */
static void find_owners(layers *l, int *is_owner)
{
    const banyan_cables *cables = l->layout->cables;
    const banyan_topology *topology = cables->topology;

    for (int v = 0; v < topology->node_count; v++) {
        int fewest = INT_MAX;

        l->owner[v] = -1;
        for (int i = cables->first[v]; i < cables->first[v + 1] && !is_switch(l, v); i++) {
            int peer = cables->cables[i].peer;

            if (is_switch(l, peer) && l->order[peer] < fewest) {
                fewest = l->order[peer];
                l->owner[v] = peer;
            }
        }
    }
    keep_hosts_whole(l);
    for (int v = 0; v < topology->node_count; v++)
        if (l->owner[v] >= 0)
            is_owner[l->owner[v]] = 1;
    for (int v = 0; v < topology->node_count; v++)
        if (is_switch(l, v) && l->level[v] == 1 && !is_owner[v] && l->order[v])
            l->level[v] = 2;
}

/* The switch by which alone v reaches other switches, or -1. */
static int only_way(const layers *l, int v)
{
    const banyan_cables *cables = l->layout->cables;
    int found = -1;

    for (int i = cables->first[v]; i < cables->first[v + 1]; i++) {
        int peer = cables->cables[i].peer;

        if (!is_switch(l, peer) || peer == found)
            continue;
        if (found >= 0)
            return -1;
        found = peer;
    }
    return found;
}

/* A rack's switch may have workers of its own, beside the switches of hosts: it stands above these. Of two
 * switches that have only each other neither does. */
static void raise_parents(layers *l)
{
    int nodes = l->layout->cables->topology->node_count;

    for (int v = 0; v < nodes; v++) {
        int parent = is_switch(l, v) && l->level[v] == 1 ? only_way(l, v) : -1;

        if (parent >= 0 && l->level[parent] == 1 && only_way(l, parent) < 0)
            l->level[parent] = 2;
    }
}

/* Columns of a block so that the whole picture is about twice as wide as it is high. */
static int choose_columns(const layers *l, int blocks, int largest)
{
    const banyan_layout *layout = l->layout;
    double best = INFINITY;
    int chosen = 1;

    for (int columns = 1; columns <= largest; columns++) {
        double width = blocks * (columns * layout->cell_width + 3 * layout->font);
        double height = (largest + columns - 1) / columns * layout->cell_height + 10 * layout->font * l->top;
        double off = fabs(log(width / (2 * height)));

        if (off < best) {
            best = off;
            chosen = columns;
        }
    }
    return chosen;
}

/* Puts the workers of one owner into boxes: one box, or one for each. Returns how many have been placed. */
static int make_blocks(layers *l, int owner, int used, int together)
{
    banyan_layout *layout = l->layout;
    const banyan_topology *topology = layout->cables->topology;
    banyan_layout_box *box = NULL;

    for (int i = 0; i < topology->worker_count; i++) {
        int v = topology->workers[i];

        if (l->owner[v] != owner)
            continue;
        if (!box || !together) {
            box = &layout->boxes[layout->box_count++];
            *box = (banyan_layout_box){.first = used, .columns = 1};
        }
        layout->members[used++] = v;
        layout->box_of[v] = (int)(box - layout->boxes);
        box->count++;
    }
    return used;
}

static void make_boxes(layers *l)
{
    banyan_layout *layout = l->layout;
    const banyan_topology *topology = layout->cables->topology;
    int together = topology->worker_count > MAX_SINGLE, used = 0, largest = 1, columns, blocks;

    layout->box_count = 0;
    for (int v = 0; v < topology->node_count; v++)
        if (is_switch(l, v))
            used = make_blocks(l, v, used, together);
    used = make_blocks(l, -1, used, together);
    blocks = layout->box_count;
    for (int b = 0; b < blocks; b++)
        largest = layout->boxes[b].count > largest ? layout->boxes[b].count : largest;
    columns = choose_columns(l, blocks, largest);
    for (int b = 0; b < blocks; b++) {
        banyan_layout_box *box = &layout->boxes[b];

        box->columns = box->count < columns ? box->count : columns;
        box->width = box->columns * layout->cell_width;
        box->height = (box->count + box->columns - 1) / box->columns * layout->cell_height;
    }
    for (int v = 0; v < topology->node_count; v++)
        if (is_switch(l, v)) {
            banyan_layout_box *box = &layout->boxes[layout->box_count];

            *box = (banyan_layout_box){.width = layout->cell_width,
                                       .height = layout->cell_height,
                                       .first = used,
                                       .count = 1,
                                       .columns = 1,
                                       .row = l->level[v]};
            layout->members[used++] = v;
            layout->box_of[v] = layout->box_count++;
        }
}

static void place_workers(layers *l)
{
    banyan_layout *layout = l->layout;
    double x = layout->font, tallest = 0;
    int last_owner = -2;

    for (int b = 0; b < layout->box_count && !layout->boxes[b].row; b++)
        l->crowded = b >= 2 * MAX_SINGLE;
    for (int b = 0; b < layout->box_count && !layout->boxes[b].row; b++) {
        banyan_layout_box *box = &layout->boxes[b];
        int owner = l->owner[layout->members[box->first]];

        x += (owner == last_owner ? 0.7 : l->crowded ? 1.1 : 2.2) * layout->font;
        last_owner = owner;
        box->x = x + box->width / 2;
        x += box->width;
        tallest = fmax(tallest, box->height);
    }
    layout->width = x + 2 * layout->font;
    layout->height = tallest;
}

static void find_reach(layers *l, int b)
{
    const banyan_layout *layout = l->layout;
    const banyan_cables *cables = layout->cables;
    int v = layout->members[layout->boxes[b].first];

    l->low[b] = INFINITY;
    l->high[b] = -INFINITY;
    for (int i = cables->first[v]; i < cables->first[v + 1]; i++) {
        const banyan_layout_box *below = &layout->boxes[layout->box_of[cables->cables[i].peer]];

        if (below->row >= layout->boxes[b].row)
            continue;
        l->low[b] = fmin(l->low[b], below->x - below->width / 2);
        l->high[b] = fmax(l->high[b], below->x + below->width / 2);
    }
    if (l->low[b] > l->high[b])
        l->low[b] = l->high[b] = layout->width;
}

/* One row, left to right: a run of switches with the same reach shares it evenly; none may overlap. */
static void place_row(layers *l, int row)
{
    banyan_layout *layout = l->layout;
    double step = layout->cell_width + layout->font, edge = layout->font;
    int count = 0;

    for (int b = 0; b < layout->box_count; b++)
        if (layout->boxes[b].row == row) {
            find_reach(l, b);
            l->order[count++] = b;
        }
    for (int i = 0; i < count;) {
        int first = l->order[i], run = 1;
        double low = l->low[first], high = l->high[first], width;

        while (i + run < count && l->low[l->order[i + run]] == low && l->high[l->order[i + run]] == high)
            run++;
        width = fmax(high - low, run * step);
        for (int k = 0; k < run; k++) {
            banyan_layout_box *box = &layout->boxes[l->order[i + k]];

            box->x = (low + high) / 2 + width * ((k + 0.5) / run - 0.5);
            box->x = fmax(box->x, edge + box->width / 2);
            edge = box->x + box->width / 2 + layout->font;
        }
        i += run;
    }
    layout->width = fmax(layout->width, edge + layout->font);
}

static void place_heights(layers *l)
{
    banyan_layout *layout = l->layout;
    int is_packed = layout->cables->topology->worker_count > MAX_SINGLE;
    double rise = fmax(5.5 * layout->font, fmin(layout->width / 6, 26 * layout->font));
    double first = is_packed ? 4.5 * layout->font : fmin(rise, 9 * layout->font); /* workers to row 1 */
    double workers = 2.5 * layout->font + first + (l->top - 1) * rise;

    for (int b = 0; b < layout->box_count; b++) {
        banyan_layout_box *box = &layout->boxes[b];

        box->y = workers + layout->cell_height / 2;
        box->y += box->row ? -first - (box->row - 1) * rise : box->height / 2;
    }
    layout->height += workers + 3.5 * layout->font;
}

banyan_status banyan_layout_place_layers(banyan_layout *layout, banyan_error *err)
{
    size_t nodes = (size_t)layout->cables->topology->node_count;
    layers l = {.layout = layout};
    int *is_owner = banyan_alloc(nodes, sizeof *is_owner);
    banyan_status status = BANYAN_SUCCESS;

    l.level = banyan_alloc(nodes, sizeof *l.level);
    l.owner = banyan_alloc(nodes, sizeof *l.owner);
    l.order = banyan_alloc(nodes, sizeof *l.order);
    l.near_switch = banyan_alloc((size_t)layout->cables->topology->host_count + 1, sizeof *l.near_switch);
    l.low = banyan_alloc(nodes, sizeof *l.low);
    l.high = banyan_alloc(nodes, sizeof *l.high);
    if (!is_owner || !l.level || !l.owner || !l.order || !l.near_switch || !l.low || !l.high) {
        status = banyan_fail_memory(err);
        goto out;
    }
    find_levels(&l);
    for (int v = 0; v < (int)nodes; v++)
        l.order[v] = count_workers(&l, v);
    find_owners(&l, is_owner);
    raise_parents(&l);
    for (int v = 0; v < (int)nodes; v++)
        l.top = l.level[v] > l.top ? l.level[v] : l.top;
    make_boxes(&l);
    place_workers(&l);
    for (int row = 1; row <= l.top; row++)
        place_row(&l, row);
    place_heights(&l);
out:
    banyan_free(is_owner);
    banyan_free(l.level);
    banyan_free(l.owner);
    banyan_free(l.order);
    banyan_free(l.near_switch);
    banyan_free(l.low);
    banyan_free(l.high);
    return status;
}
