/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/layers.c: the table of a network's layers, read line by line.
 *
 *     # a comment
 *     layer,input,filter,channels,filters,stride
 *     conv1,224x224,7x7,3,64,2
 *     repeat,6                          what stands up to 'end' comes six times; may be nested
 *     ffn1,1x1,1x1,512,2048,1
 *     end
 */
#include "accelerate/accelerate.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/value.h"

enum { MAX_LAYERS = 100000, MAX_DEPTH = 8, MAX_EXTENT = 1 << 24, COLUMNS = 6 };

static const char header[] = "layer,input,filter,channels,filters,stride";

typedef struct {
    banyan_dnn *dnn;
    size_t capacity;
    int line;
    int has_header;
    int depth;
    int block_begin[MAX_DEPTH], block_times[MAX_DEPTH], block_line[MAX_DEPTH];
} reader;

static const double exact = 9007199254740992.0; /* 2^53 */

banyan_status banyan_layer_check(const banyan_layer *l, banyan_error *err)
{
    const int all[] = {l->input_height, l->input_width, l->filter_height, l->filter_width,
                       l->channels,     l->filters,     l->stride};
    double input, filter;

    for (int i = 0; i < 7; i++)
        if (all[i] < 1 || all[i] > MAX_EXTENT)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "layer '%s': every dimension must be from 1 to %d, not %d", l->name,
                               MAX_EXTENT, all[i]);
    if (l->filter_height > l->input_height || l->filter_width > l->input_width)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "layer '%s': a filter of %dx%d does not fit an input of %dx%d", l->name,
                           l->filter_height, l->filter_width, l->input_height, l->input_width);
    input = (double)l->input_height * l->input_width;
    filter = (double)l->filter_height * l->filter_width;
    if (input * filter * l->channels * l->filters > exact)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "layer '%s' is too large: more than 2^53 multiplications", l->name);
    return BANYAN_SUCCESS;
}

static banyan_status append(reader *r, const banyan_layer *layer, banyan_error *err)
{
    void *array = r->dnn->layers;
    int fits;

    if (r->dnn->layer_count == MAX_LAYERS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d layers", r->line, MAX_LAYERS);
    fits = banyan_grow(&array, (size_t)r->dnn->layer_count, &r->capacity, sizeof *layer);
    r->dnn->layers = array;
    if (!fits)
        return banyan_fail_memory(err);
    r->dnn->layers[r->dnn->layer_count++] = *layer;
    return BANYAN_SUCCESS;
}

static banyan_status fail_line(const reader *r, const char *what, banyan_error *err)
{
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s", r->line, what);
}

static banyan_status begin_block(reader *r, const char *times, banyan_error *err)
{
    int64_t count;

    if (r->depth == MAX_DEPTH)
        return fail_line(r, "repeats are nested more than 8 deep", err);
    if (banyan_value_integer(times, 1, MAX_LAYERS, &count, NULL))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: 'repeat' needs a count from 1 to %d, not '%.40s'", r->line, MAX_LAYERS,
                           times);
    r->block_begin[r->depth] = r->dnn->layer_count;
    r->block_times[r->depth] = (int)count;
    r->block_line[r->depth++] = r->line;
    return BANYAN_SUCCESS;
}

static banyan_status end_block(reader *r, banyan_error *err)
{
    int begin, end = r->dnn->layer_count;

    if (r->depth == 0)
        return fail_line(r, "'end' without 'repeat'", err);
    begin = r->block_begin[--r->depth];
    for (int turn = 1; turn < r->block_times[r->depth]; turn++)
        for (int i = begin; i < end; i++) {
            banyan_layer copy = r->dnn->layers[i];
            banyan_status status = append(r, &copy, err);

            if (status)
                return status;
        }
    return BANYAN_SUCCESS;
}

static int read_extent(const char *text, int *out)
{
    int64_t value;

    if (banyan_value_integer(text, 1, MAX_EXTENT, &value, NULL))
        return 0;
    *out = (int)value;
    return 1;
}

/* '224x112'; the text is cut at the x. */
static int read_size(char *text, int *height, int *width)
{
    char *x = strchr(text, 'x');

    if (!x)
        return 0;
    *x = '\0';
    if (read_extent(text, height) && read_extent(x + 1, width))
        return 1;
    *x = 'x';
    return 0;
}

static banyan_status read_layer(reader *r, char **field, banyan_error *err)
{
    banyan_layer layer = {0};
    banyan_status status;

    if (strlen(field[0]) == 0 || strlen(field[0]) >= sizeof layer.name)
        return fail_line(r, "a layer's name has from 1 to 47 characters", err);
    strcpy(layer.name, field[0]);
    if (!read_size(field[1], &layer.input_height, &layer.input_width))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: the input must be HEIGHTxWIDTH, not '%.40s'", r->line, field[1]);
    if (!read_size(field[2], &layer.filter_height, &layer.filter_width))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d: the filter must be HEIGHTxWIDTH, not '%.40s'", r->line, field[2]);
    if (!read_extent(field[3], &layer.channels) || !read_extent(field[4], &layer.filters) ||
        !read_extent(field[5], &layer.stride))
        return fail_line(r, "channels, filters and stride must be whole numbers from 1", err);
    status = banyan_layer_check(&layer, err);
    if (status) {
        char where[32];

        snprintf(where, sizeof where, "line %d", r->line);
        banyan_error_prefix(err, where);
        return status;
    }
    return append(r, &layer, err);
}

static int split(char *line, char **field)
{
    int count = 0;

    for (char *next = line; next && count < COLUMNS; count++) {
        field[count] = next;
        next = strchr(next, ',');
        if (next)
            *next++ = '\0';
        if (next && count == COLUMNS - 1)
            return COLUMNS + 1;
    }
    return count;
}

static banyan_status read_line(reader *r, char *line, banyan_error *err)
{
    char *field[COLUMNS];
    int count;

    if (line[0] == '\0' || line[0] == '#')
        return BANYAN_SUCCESS;
    if (!r->has_header) {
        if (strcmp(line, header))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: expected the header '%s'", r->line,
                               header);
        r->has_header = 1;
        return BANYAN_SUCCESS;
    }
    count = split(line, field);
    if (count == 1 && !strcmp(field[0], "end"))
        return end_block(r, err);
    if (count == 2 && !strcmp(field[0], "repeat"))
        return begin_block(r, field[1], err);
    if (count != COLUMNS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: expected %s", r->line, header);
    return read_layer(r, field, err);
}

static banyan_status read_text(reader *r, char *text, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (char *line = text, *next; line && !status; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (line[0] && line[strlen(line) - 1] == '\r')
            line[strlen(line) - 1] = '\0';
        r->line++;
        status = read_line(r, line, err);
    }
    if (!status && r->depth)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: 'repeat' has no 'end'",
                             r->block_line[r->depth - 1]);
    if (!status && r->dnn->layer_count == 0)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there are no layers in it");
    return status;
}

banyan_status banyan_dnn_parse(const char *name, const char *text, banyan_dnn **out, banyan_error *err)
{
    reader r = {.dnn = banyan_alloc(1, sizeof(banyan_dnn))};
    char *copy = banyan_strdup(text);
    banyan_status status = r.dnn && copy ? BANYAN_SUCCESS : banyan_fail_memory(err);

    *out = NULL;
    if (!status && !(r.dnn->name = banyan_strdup(name)))
        status = banyan_fail_memory(err);
    if (!status)
        status = read_text(&r, copy, err);
    banyan_free(copy);
    if (status)
        banyan_dnn_destroy(r.dnn);
    else
        *out = r.dnn;
    return status;
}

void banyan_dnn_destroy(banyan_dnn *dnn)
{
    if (!dnn)
        return;
    banyan_free(dnn->name);
    banyan_free(dnn->layers);
    banyan_free(dnn);
}

int64_t banyan_dnn_parameters(const banyan_dnn *dnn)
{
    int64_t sum = 0;

    for (int i = 0; i < dnn->layer_count; i++)
        sum += banyan_layer_parameters(&dnn->layers[i]);
    return sum;
}
