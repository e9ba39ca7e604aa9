/* SPDX-License-Identifier: Apache-2.0 */
/* train/model.c: a model as its gradients: the CSV form.
 *
 *     index,name,elements,flops_backward,t_b
 *     1,fc.bias,1000,262144000,4.07e-05
 *     2,fc.weight,2048000,0,0
 *
 * The header says which column is which; name, elements and t_b must be there, others are passed over. t_b is
 * the time between the tensor before it and this one, in seconds; several tensors may become ready at
 * once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "train/train.h"

enum { NAME, ELEMENTS, T_B, WANTED, MAX_COLUMNS = 64 };

static const char *const wanted[WANTED] = {"name", "elements", "t_b"};

#define MAX_ELEMENTS 1e12 /* in one tensor */
#define MAX_BYTES 1e15    /* in all */

typedef struct {
    const char *begin;
    size_t length;
} word;

typedef struct {
    const char *text, *end;
    int number; /* of the line just read */
    int column_count;
    int column[WANTED];
    word words[MAX_COLUMNS];
    int word_count;
} reader;

static word trim(const char *begin, const char *end)
{
    while (begin < end && (*begin == ' ' || *begin == '\t'))
        begin++;
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        end--;
    return (word){begin, (size_t)(end - begin)};
}

static int word_is(word w, const char *text)
{
    return w.length == strlen(text) && !memcmp(w.begin, text, w.length);
}

/* The next line that is neither blank nor a # comment, cut at its commas; 0 at the end of the text. */
static int read_line(reader *in)
{
    while (in->text < in->end) {
        const char *begin = in->text, *stop = memchr(begin, '\n', (size_t)(in->end - begin));
        word line;

        if (!stop)
            stop = in->end;
        in->text = stop < in->end ? stop + 1 : stop;
        in->number++;
        line = trim(begin, stop);
        if (!line.length || *line.begin == '#')
            continue;
        begin = line.begin;
        stop = line.begin + line.length;
        for (in->word_count = 0; begin && in->word_count < MAX_COLUMNS;) {
            const char *comma = memchr(begin, ',', (size_t)(stop - begin));

            in->words[in->word_count++] = trim(begin, comma ? comma : stop);
            begin = comma ? comma + 1 : NULL;
        }
        return begin ? MAX_COLUMNS + 1 : in->word_count;
    }
    return 0;
}

static banyan_status read_header(reader *in, banyan_error *err)
{
    in->column_count = read_line(in);
    if (!in->column_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "there is no header: the first line must name the columns name, elements and t_b");
    if (in->column_count > MAX_COLUMNS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d columns", in->number,
                           MAX_COLUMNS);
    for (int w = 0; w < WANTED; w++) {
        in->column[w] = -1;
        for (int i = 0; i < in->column_count; i++)
            if (word_is(in->words[i], wanted[w])) {
                if (in->column[w] >= 0)
                    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: two columns are named %s",
                                       in->number, wanted[w]);
                in->column[w] = i;
            }
        if (in->column[w] < 0)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: no column is named %s", in->number,
                               wanted[w]);
    }
    return BANYAN_SUCCESS;
}

/* A plain decimal number; strtod alone would also take 'inf', '0x1' and what follows the word. */
static int scan_number(word w, double *out)
{
    char copy[48], *end;

    if (!w.length || w.length >= sizeof copy)
        return 0;
    memcpy(copy, w.begin, w.length);
    copy[w.length] = '\0';
    if (strspn(copy, "0123456789+-.eE") != w.length)
        return 0;
    *out = strtod(copy, &end);
    return !*end && isfinite(*out);
}

static banyan_status bad_value(const reader *in, int w, const char *want, banyan_error *err)
{
    word found = in->words[in->column[w]];

    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s '%.*s' is not %s", in->number, wanted[w],
                       (int)(found.length < 40 ? found.length : 40), found.begin, want);
}

static banyan_status read_tensor(reader *in, int element_bytes, banyan_model *model, double *total_bytes,
                                 banyan_error *err)
{
    banyan_tensor *tensor = &model->tensors[model->tensor_count];
    word name = in->words[in->column[NAME]];
    double elements, seconds;

    if (in->word_count != in->column_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %d values, but the header has %d columns",
                           in->number, in->word_count, in->column_count);
    if (!name.length || memchr(name.begin, '"', name.length) || memchr(name.begin, '\0', name.length))
        return bad_value(in, NAME, "a name (quotes are not understood)", err);
    if (!scan_number(in->words[in->column[ELEMENTS]], &elements) || elements != floor(elements) ||
        elements < 1 || elements > MAX_ELEMENTS)
        return bad_value(in, ELEMENTS, "a whole number from 1 to 1e12", err);
    if (!scan_number(in->words[in->column[T_B]], &seconds) || seconds < 0 || seconds > 3600)
        return bad_value(in, T_B, "a time from 0 to 3600 seconds", err);
    *total_bytes += elements * element_bytes;
    if (*total_bytes > MAX_BYTES)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: the model has more than 1e15 bytes",
                           in->number);
    tensor->name = banyan_alloc(name.length + 1, 1);
    if (!tensor->name)
        return banyan_fail_memory(err);
    memcpy(tensor->name, name.begin, name.length);
    tensor->bytes = (size_t)elements * (size_t)element_bytes;
    model->backward_s += seconds;
    tensor->ready_s = model->backward_s;
    model->tensor_count++;
    return BANYAN_SUCCESS;
}

static banyan_status read_tensors(reader *in, int element_bytes, banyan_model *model, banyan_error *err)
{
    void *tensors = NULL;
    size_t capacity = 0;
    double total_bytes = 0;
    banyan_status status = BANYAN_SUCCESS;

    while (!status && read_line(in)) {
        if (model->tensor_count == BANYAN_MAX_TENSORS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d tensors", in->number,
                               BANYAN_MAX_TENSORS);
        if (!banyan_grow(&tensors, (size_t)model->tensor_count, &capacity, sizeof *model->tensors))
            return banyan_fail_memory(err);
        model->tensors = tensors;
        status = read_tensor(in, element_bytes, model, &total_bytes, err);
    }
    if (!status && !model->tensor_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the model has no tensors");
    return status;
}

banyan_status banyan_model_parse(const char *text, size_t length, const char *name, int element_bytes,
                                 banyan_model **out, banyan_error *err)
{
    reader in = {.text = text, .end = text + length};
    banyan_model *model;
    banyan_status status;

    *out = NULL;
    if (element_bytes < 1 || element_bytes > 16)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "elements of %d bytes are not from 1 to 16",
                           element_bytes);
    status = read_header(&in, err);
    if (status)
        return status;
    model = banyan_alloc(1, sizeof *model);
    if (!model)
        return banyan_fail_memory(err);
    model->name = banyan_strdup(name);
    status = model->name ? read_tensors(&in, element_bytes, model, err) : banyan_fail_memory(err);
    if (status) {
        banyan_model_destroy(model);
        return status;
    }
    model->forward_s = model->backward_s / 2;
    *out = model;
    return BANYAN_SUCCESS;
}

void banyan_model_destroy(banyan_model *model)
{
    if (!model)
        return;
    for (int i = 0; i < model->tensor_count; i++)
        banyan_free(model->tensors[i].name);
    banyan_free(model->tensors);
    banyan_free(model->name);
    banyan_free(model);
}
