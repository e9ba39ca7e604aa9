/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/svg.h: a picture while it is drawn, shared by lines (svg.c) and bars (svg_bars.c). */
#ifndef BANYAN_REPRODUCE_SVG_H
#define BANYAN_REPRODUCE_SVG_H

#include "reproduce/internal.h"

#define SVG_LETTER 6.8 /* about as wide as one is */
#define SVG_LEGEND 18  /* height of a row */

/* Where a picture's parts are. Margins are those of the axes. */
typedef struct {
    int width, height, left, right, top, bottom;
    int legend_x, legend_y; /* of the first row */
} picture_frame;

typedef struct {
    const banyan_figure *figure;
    figure_shape shape;
    picture_frame frame;
    banyan_text *text;
    figure_names series, labels;
    double low_x, high_x, low_y, high_y; /* logarithms on logarithmic axes */
} picture;

double picture_inner_width(const picture *p);
double picture_axis(const picture *p); /* the height of the x axis */
double picture_y(const picture *p, double value);
int picture_can_draw(const picture *p, const figure_point *point);
const char *picture_colour(int i);
void picture_add_text(picture *p, const char *class, const char *anchor, double x, double y,
                      const char *words);
void picture_add_legend(picture *p, int row, int colour, banyan_origin origin, const char *words);
/* A bar, or a legend's sample of it. */
void picture_add_box(picture *p, int series, banyan_origin origin, double x, double y, double width,
                     double height);
void picture_add_title(picture *p, const figure_point *point); /* what the mouse shows */

int picture_count_parts(const picture *p); /* rows of the legend of bars */
banyan_status picture_add_bars(picture *p, banyan_error *err);

/* 'ring/exposed' is the part 'exposed' of the pile 'ring'. */
int picture_pile_length(const char *series);

#endif
