/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/iteration.h: one training iteration of a network on accelerators that all-reduce their
 * gradients.
 *
 *     one by one   |--forward--|----backward----|======= all-reduce of all gradients =======|
 *     overlapped   |--forward--|----backward----|
 *                               [= 3 =][= 2 =]  [= 1 =]        a queue: a layer's gradients as they come
 *                                                '-exposed'
 *
 * What an all-reduce takes comes from whoever measured or simulated it. */
#ifndef BANYAN_ACCELERATE_ITERATION_H
#define BANYAN_ACCELERATE_ITERATION_H

#include "accelerate/accelerate.h"

/* Seconds of an all-reduce at ascending sizes. Between them we go in a straight line, beyond the last along
 * the line through the last two, and below the first the first holds. */
typedef struct {
    int count; /* at least 1 */
    const double *bytes, *seconds;
} banyan_time_by_size;

double banyan_time_at(const banyan_time_by_size *times, double bytes);

typedef struct {
    double forward_s, backward_s;
    double communication_s; /* all all-reduces, one after the other */
    double overlapped_s;    /* of that, what backward hides */
    double exposed_s;       /* of that, what comes on top */
    double iteration_s;     /* forward + backward + exposed */
    double gradient_bytes;
    int reduce_count; /* all-reduces */
} banyan_iteration;

/* samples: of the mini-batch, on each accelerator. is_overlapped: layer by layer, each all-reduce begins when
 * the layer's backward pass is over and the one before it has ended; else one for all gradients at the
 * end. */
void banyan_iterate(const banyan_accelerator *accelerator, const banyan_dnn *dnn, int samples,
                    int is_overlapped, const banyan_time_by_size *times, banyan_iteration *out);

/* Bars of iterations on one scale; the caller frees *out. */
typedef struct {
    char title[64]; /* 'multitree, overlapped' */
    banyan_iteration iteration;
} banyan_iteration_row;

banyan_status banyan_iterations_draw_svg(const char *title, const banyan_iteration_row *rows, int count,
                                         char **out, banyan_error *err);

#endif
