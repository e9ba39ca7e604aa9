/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/systolic.c: cycles of one output-stationary array, in closed form.
 *
 *     filters -->  c0  c1  c2 ...      An output takes T steps, its operands arriving skewed by one cycle a
 *     pixel r0     o   o   o           row and column. More pixels than rows and more filters than columns
 *     pixel r1     o   o   o           are folded: row folds one after another, then the next column fold.
 *     pixel r2     o   o   o
 *
 * Operands of the next fold follow at once, so the skew is paid once; results leave one row a cycle, which
 * bounds the time where T is below the number of rows. The cycles are the later end of reading and writing.
 *
 *   forward           E = output pixels       M = filters    T = filter height * width * channels
 *   input gradient    E = input pixels        M = channels   T = filter height * width * filters
 *   weight gradient   E = filter * channels   M = filters    T = output pixels
 *
 * The forms give the cycles of SCALE-Sim's first version (A. Samajdar et al., 2018) for the forward pass, and
 * those of the MultiTree authors' training extension for the gradients, oddities included: there results wait
 * for the rows' skew instead of the columns', an input gradient counts one filter's window only when it waits
 * for its first result, and a stride that does not divide reads as if it left a fraction of a pixel.
 * Cost: O(1). */
#include "accelerate/accelerate.h"

#include <math.h>

banyan_accelerator banyan_accelerator_default(void)
{
    return (banyan_accelerator){
        .rows = 32, .columns = 32, .element_count = 16, .bytes_per_value = 4, .clock_hz = 1e9};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t folds(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

/* The work of one pass, folded onto the array. */
typedef struct {
    int64_t rows, columns;
    int64_t row_folds, column_folds;
    int64_t last_rows, last_columns; /* used in the last fold */
    int64_t steps;
} folding;

static folding fold(const banyan_accelerator *a, int64_t outputs, int64_t filters, int64_t steps)
{
    folding f = {.rows = a->rows, .columns = a->columns, .steps = steps};

    f.row_folds = folds(outputs, f.rows);
    f.column_folds = folds(filters, f.columns);
    f.last_rows = outputs - (f.row_folds - 1) * f.rows;
    f.last_columns = filters - (f.column_folds - 1) * f.columns;
    return f;
}

/* The last operand enters the rows. */
static int64_t read_rows(const folding *f)
{
    int64_t end = f->row_folds * f->steps + f->last_rows - 1;

    if (f->row_folds > 1)
        end = larger(end, (f->row_folds - 1) * f->steps + f->rows - 1);
    return (f->column_folds - 1) * f->row_folds * f->steps + end;
}

/* The last operand enters the columns; row_folds may come from a fraction of a pixel. */
static int64_t read_columns(const folding *f, int64_t row_folds)
{
    int64_t end = f->column_folds * row_folds * f->steps + f->last_columns - 1;

    if (f->column_folds > 1)
        end = larger(end, (f->column_folds - 1) * row_folds * f->steps + f->columns - 1);
    return end;
}

/* The last result leaves. A column fold's results begin first_wait after its operands, and the next fold's
 * follow when they are there, but not before this one's are gone. wait and skew say what the next fold's
 * results wait for: wait + skew of its own, less what was overlapped. */
static int64_t write_results(const folding *f, int64_t first, int64_t wait, int64_t skew, int64_t last_skew)
{
    int64_t in_fold = (f->row_folds - 1) * larger(wait, f->rows);
    int64_t pace = larger(in_fold + f->last_rows, in_fold - (f->last_rows + f->columns - 1) + wait + skew);
    int64_t last_pace =
        larger(in_fold + f->last_rows, in_fold - (f->last_rows + f->columns - 1) + wait + last_skew);
    int64_t start = first;

    if (f->column_folds > 1)
        start += (f->column_folds - 2) * pace + last_pace;
    return start + in_fold + f->last_rows;
}

static int64_t output_pixels(const banyan_layer *l)
{
    int64_t height = (l->input_height - l->filter_height) / l->stride + 1;
    int64_t width = (l->input_width - l->filter_width) / l->stride + 1;

    return height * width;
}

static int64_t forward(const banyan_accelerator *a, const banyan_layer *l)
{
    int64_t window = (int64_t)l->filter_height * l->filter_width * l->channels;
    double height = (double)(l->input_height - l->filter_height + l->stride) / l->stride;
    double width = (double)(l->input_width - l->filter_width + l->stride) / l->stride;
    folding f = fold(a, output_pixels(l), l->filters, window);
    int64_t read = read_columns(&f, (int64_t)ceil(height * width / a->rows));
    int64_t write =
        write_results(&f, window + smaller(a->columns, l->filters) - 1, window, f.columns, f.last_columns);

    if (window > 1)
        read = larger(read, read_rows(&f));
    return larger(read, write);
}

static int64_t input_gradient(const banyan_accelerator *a, const banyan_layer *l)
{
    int64_t pixels = (int64_t)l->input_height * l->input_width;
    int64_t window = (int64_t)l->filter_height * l->filter_width;
    int64_t skew = smaller(a->rows, pixels);
    folding f = fold(a, pixels, l->channels, window * l->filters);
    int64_t read = read_columns(&f, f.row_folds);

    if (f.steps > 1)
        read = larger(read, read_rows(&f));
    return larger(read, write_results(&f, window + skew - 1, window, skew, skew));
}

static int64_t weight_gradient(const banyan_accelerator *a, const banyan_layer *l)
{
    int64_t weights = (int64_t)l->filter_height * l->filter_width * l->channels;
    int64_t pixels = output_pixels(l);
    int64_t skew = smaller(a->rows, weights);
    folding f = fold(a, weights, l->filters, pixels);

    return larger(read_rows(&f), write_results(&f, pixels + skew - 1, pixels, skew, skew));
}

banyan_layer_cycles banyan_accelerate_layer(const banyan_accelerator *accelerator, const banyan_layer *layer)
{
    return (banyan_layer_cycles){.forward = forward(accelerator, layer),
                                 .input_gradient = input_gradient(accelerator, layer),
                                 .weight_gradient = weight_gradient(accelerator, layer)};
}

int64_t banyan_layer_parameters(const banyan_layer *layer)
{
    return (int64_t)layer->filter_height * layer->filter_width * layer->channels * layer->filters;
}

int64_t banyan_layer_multiplications(const banyan_layer *layer)
{
    return output_pixels(layer) * banyan_layer_parameters(layer);
}

double banyan_accelerate_seconds(const banyan_accelerator *accelerator, int64_t cycles, int samples)
{
    int64_t turns = folds(samples, accelerator->element_count);

    return (double)cycles * (double)turns / accelerator->clock_hz;
}
