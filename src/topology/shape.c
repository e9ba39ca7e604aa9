/* SPDX-License-Identifier: Apache-2.0 */
/* topology/shape.c: reading the sizes in a generator's string.
 *
 *   shape = part { "x" part } [ ":" number ]      4x4x4   8x8:4
 *   part  = size { "+" size }                     2+3     2x2+3x4
 *
 * A size is 1 to 65536: a larger one could not fit into any network that we build. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/generator.h"

static banyan_status read_size(const char *text, const char **cursor, int *out, banyan_error *err)
{
    const char *start = *cursor;
    long value = 0;

    if (!isdigit((unsigned char)*start))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "shape '%s': expected a whole number at '%s'", text,
                           start);
    for (; isdigit((unsigned char)**cursor); ++*cursor)
        if (value <= BANYAN_GENERATOR_MAX_WORKERS)
            value = 10 * value + (**cursor - '0');
    if (value < 1 || value > BANYAN_GENERATOR_MAX_WORKERS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "shape '%s': %.*s is not between 1 and %d", text,
                           (int)(*cursor - start), start, BANYAN_GENERATOR_MAX_WORKERS);
    *out = (int)value;
    return BANYAN_SUCCESS;
}

static banyan_status add_value(banyan_shape *shape, int value, banyan_error *err)
{
    void *values = shape->values;

    if (!banyan_grow(&values, (size_t)shape->value_count, &shape->value_capacity, sizeof *shape->values))
        return banyan_fail_memory(err);
    shape->values = values;
    shape->values[shape->value_count++] = value;
    return BANYAN_SUCCESS;
}

static banyan_status read_part(const char *text, const char **cursor, banyan_shape *shape, banyan_error *err)
{
    int value = 0;

    for (;;) {
        banyan_status status = read_size(text, cursor, &value, err);

        if (!status)
            status = add_value(shape, value, err);
        if (status)
            return status;
        if (**cursor != '+')
            return BANYAN_SUCCESS;
        ++*cursor;
    }
}

static banyan_status read_tail(const char *text, const char *cursor, banyan_shape *shape, banyan_error *err)
{
    char *end;

    shape->tail = strtod(cursor, &end);
    if (!isdigit((unsigned char)*cursor) || *end || strpbrk(cursor, "xX") || !isfinite(shape->tail) ||
        shape->tail <= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "shape '%s': '%s' is not a positive number", text,
                           cursor);
    shape->has_tail = 1;
    return BANYAN_SUCCESS;
}

static banyan_status read_parts(const char *text, banyan_shape *shape, banyan_error *err)
{
    const char *cursor = text;

    for (;;) {
        banyan_status status;

        if (shape->part_count == BANYAN_MAX_DIMENSIONS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "shape '%s' has more than %d parts", text,
                               BANYAN_MAX_DIMENSIONS);
        status = read_part(text, &cursor, shape, err);
        if (status)
            return status;
        shape->first[++shape->part_count] = shape->value_count;
        if (*cursor == ':')
            return read_tail(text, cursor + 1, shape, err);
        if (!*cursor)
            return BANYAN_SUCCESS;
        if (*cursor != 'x')
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "shape '%s': unexpected '%s'", text, cursor);
        cursor++;
    }
}

banyan_status banyan_shape_parse(const char *text, banyan_shape *out, banyan_error *err)
{
    banyan_status status;

    memset(out, 0, sizeof *out);
    status = read_parts(text, out, err);
    if (status)
        banyan_shape_fini(out);
    return status;
}

void banyan_shape_fini(banyan_shape *shape)
{
    banyan_free(shape->values);
    memset(shape, 0, sizeof *shape);
}

int banyan_shape_part_length(const banyan_shape *shape, int part)
{
    return shape->first[part + 1] - shape->first[part];
}

int banyan_shape_value(const banyan_shape *shape, int part, int i)
{
    return shape->values[shape->first[part] + (banyan_shape_part_length(shape, part) == 1 ? 0 : i)];
}
