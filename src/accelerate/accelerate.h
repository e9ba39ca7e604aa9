/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/accelerate.h: how long a layer of a neural network computes on a systolic array.
 *
 * The accelerator has several processing elements, each an array of rows x columns multiply-accumulators that
 * works output-stationary: a row holds an output pixel, a column a filter, operands stream through from the
 * left and from above. Memory keeps up (double buffering), so time is the array's alone. */
#ifndef BANYAN_ACCELERATE_H
#define BANYAN_ACCELERATE_H

#include <stdint.h>

#include "core/status.h"

typedef struct {
    int rows, columns; /* of one array */
    int element_count; /* arrays side by side; each works on samples of its own */
    int bytes_per_value;
    double clock_hz;
} banyan_accelerator;

/* 16 arrays of 32 x 32, 1 GHz, 32 bit. */
banyan_accelerator banyan_accelerator_default(void);

/* 'default', or '32x32', '128x128x4' (arrays), with ',clock=1.5GHz' and ',bytes=2' (of a value) after it. */
banyan_status banyan_accelerator_parse(const char *text, banyan_accelerator *out, banyan_error *err);

/* A convolution; a fully connected layer is one of a 1 x 1 input. Padding is part of the input's size. */
typedef struct {
    char name[48];
    int input_height, input_width;
    int filter_height, filter_width;
    int channels, filters, stride;
} banyan_layer;

/* Fails with a sentence unless every dimension is positive, the filter fits the input and all products stay
 * below 2^53. */
banyan_status banyan_layer_check(const banyan_layer *layer, banyan_error *err);

int64_t banyan_layer_parameters(const banyan_layer *layer);      /* weights, no biases */
int64_t banyan_layer_multiplications(const banyan_layer *layer); /* of the forward pass, one sample */

typedef struct {
    int64_t forward, input_gradient, weight_gradient;
} banyan_layer_cycles;

/* Cycles of one array for one sample. The layer has been checked. */
banyan_layer_cycles banyan_accelerate_layer(const banyan_accelerator *accelerator, const banyan_layer *layer);

/* A network: its layers in the order of the forward pass. */
typedef struct {
    char *name;
    int layer_count;
    banyan_layer *layers;
} banyan_dnn;

/* Reads the table (docs/formats/layers.md); the sentence of a failure names the line. */
banyan_status banyan_dnn_parse(const char *name, const char *text, banyan_dnn **out, banyan_error *err);

/* A file, or the name of a network that came with Banyan ('resnet50'). */
banyan_status banyan_dnn_load(const char *path_or_name, banyan_dnn **out, banyan_error *err);
void banyan_dnn_destroy(banyan_dnn *dnn); /* accepts NULL */

int64_t banyan_dnn_parameters(const banyan_dnn *dnn);

/* Seconds that a mini-batch of that many samples takes on one accelerator: its arrays share them. */
double banyan_accelerate_seconds(const banyan_accelerator *accelerator, int64_t cycles, int samples);

#endif
