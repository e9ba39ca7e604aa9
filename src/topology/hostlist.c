/* SPDX-License-Identifier: Apache-2.0 */
/* topology/hostlist.c: expands 'a,rack[1-2]n[01-16]' name by name, without a list of them.
 *
 * An expression is plain text and brackets in turn. A counter a bracket, like the wheels of an odometer,
 * tells which number of which range comes next; the last bracket turns fastest. Nothing is expanded before
 * the whole expression was checked, and the names of one expression are counted first, so that
 * 'n[0-999999999]' is one sentence and not a long wait. */
#include "topology/hostlist.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BRACKETS = 8, MAX_DIGITS = 9, MAX_NAME = 255 };

typedef struct {
    int low, high, digits;
} range;

typedef struct {
    banyan_word before; /* the plain text before the bracket */
    banyan_word ranges; /* what is between the brackets */
    banyan_word rest;   /* the wheel: the ranges that are still to come, */
    range now;          /* the one that we are in, */
    int number;         /* and the number in it */
} wheel;

typedef struct {
    wheel wheels[MAX_BRACKETS];
    int wheel_count;
    banyan_word tail; /* the plain text after the last bracket */
} expression;

/* '3' or '08-15' from the head of the text; what follows its comma stays. */
static int take_range(banyan_word *rest, range *out)
{
    const char *comma = memchr(rest->at, ',', rest->length);
    banyan_word one = {rest->at, comma ? (size_t)(comma - rest->at) : rest->length}, low, high;
    const char *dash = one.length ? memchr(one.at, '-', one.length) : NULL;

    rest->at += one.length + (comma != NULL);
    rest->length -= one.length + (comma != NULL);
    low = (banyan_word){one.at, dash ? (size_t)(dash - one.at) : one.length};
    high = dash ? (banyan_word){dash + 1, one.length - low.length - 1} : low;
    out->digits = low.length <= MAX_DIGITS ? (int)low.length : 0;
    return low.length <= MAX_DIGITS && high.length <= MAX_DIGITS &&
           banyan_word_integer(low, 999999999, &out->low) &&
           banyan_word_integer(high, 999999999, &out->high) && out->low <= out->high;
}

static banyan_status count_numbers(const wheel *bracket, int line, long long *count, banyan_error *err)
{
    banyan_word rest = bracket->ranges;
    long long numbers = 0;
    range part;
    int ends_in_comma = rest.length && rest.at[rest.length - 1] == ',';

    do {
        if (ends_in_comma || !take_range(&rest, &part))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "line %d: [%s] is not a list of numbers and rising ranges such as [0-3,12]",
                               line, banyan_word_show(bracket->ranges).text);
        numbers += (long long)part.high - part.low + 1;
    } while (rest.length);
    *count = numbers * *count > BANYAN_IMPORT_MAX_NODES ? BANYAN_IMPORT_MAX_NODES + 1 : numbers * *count;
    return BANYAN_SUCCESS;
}

/* Cuts an expression into plain texts and brackets. */
static banyan_status read_expression(banyan_word text, int line, expression *out, banyan_error *err)
{
    long long count = 1;
    banyan_status status;

    out->wheel_count = 0;
    for (banyan_word rest = text;;) {
        const char *open = rest.length ? memchr(rest.at, '[', rest.length) : NULL;
        const char *close = rest.length ? memchr(rest.at, ']', rest.length) : NULL;
        wheel *next = &out->wheels[out->wheel_count];

        if (!open && !close) {
            out->tail = rest;
            break;
        }
        if (!open || !close || close < open || memchr(open + 1, '[', (size_t)(close - open - 1)))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: the brackets of %s do not match", line,
                               banyan_word_show(text).text);
        if (out->wheel_count == MAX_BRACKETS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s has more than %d brackets", line,
                               banyan_word_show(text).text, MAX_BRACKETS);
        *next = (wheel){.before = {rest.at, (size_t)(open - rest.at)},
                        .ranges = {open + 1, (size_t)(close - open - 1)}};
        status = count_numbers(next, line, &count, err);
        if (status)
            return status;
        out->wheel_count++;
        rest = (banyan_word){close + 1, (size_t)(rest.at + rest.length - close - 1)};
    }
    if (count > BANYAN_IMPORT_MAX_NODES)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %s stands for more than %d names", line,
                           banyan_word_show(text).text, BANYAN_IMPORT_MAX_NODES);
    return BANYAN_SUCCESS;
}

static void rewind_wheel(wheel *turned)
{
    turned->rest = turned->ranges;
    take_range(&turned->rest, &turned->now);
    turned->number = turned->now.low;
}

/* 0 when it went over the end and stands at its first number again. */
static int turn(wheel *turned)
{
    if (turned->number < turned->now.high) {
        turned->number++;
        return 1;
    }
    if (!turned->rest.length) {
        rewind_wheel(turned);
        return 0;
    }
    take_range(&turned->rest, &turned->now);
    turned->number = turned->now.low;
    return 1;
}

/* Writes the name that the wheels show; 0 if it is too long. */
static size_t write_name(const expression *from, char name[MAX_NAME + 1])
{
    size_t length = 0;

    for (int i = 0; i < from->wheel_count; i++) {
        const wheel *at = &from->wheels[i];

        if (length + at->before.length + MAX_DIGITS > MAX_NAME)
            return 0;
        memcpy(name + length, at->before.at, at->before.length);
        length += at->before.length;
        length += (size_t)snprintf(name + length, MAX_NAME + 1 - length, "%0*d", at->now.digits, at->number);
    }
    if (length + from->tail.length > MAX_NAME)
        return 0;
    if (from->tail.length)
        memcpy(name + length, from->tail.at, from->tail.length);
    return length + from->tail.length;
}

static banyan_status expand_one(banyan_word text, int line,
                                banyan_status (*keep)(void *, banyan_word, int, banyan_error *),
                                void *context, banyan_error *err)
{
    char name[MAX_NAME + 1];
    expression read;
    int turning;
    banyan_status status = read_expression(text, line, &read, err);

    if (status)
        return status;
    for (int i = 0; i < read.wheel_count; i++)
        rewind_wheel(&read.wheels[i]);
    do {
        size_t length = write_name(&read, name);

        if (!length)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: a name of %s has not 1 to 255 bytes",
                               line, text.length ? banyan_word_show(text).text : "the list");
        status = keep(context, (banyan_word){name, length}, line, err);
        for (turning = read.wheel_count - 1; turning >= 0 && !turn(&read.wheels[turning]); turning--)
            ;
    } while (!status && turning >= 0);
    return status;
}

banyan_status banyan_hostlist_expand(banyan_word list, int line,
                                     banyan_status (*keep)(void *context, banyan_word name, int line,
                                                           banyan_error *err),
                                     void *context, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    size_t begin = 0;
    int depth = 0;

    for (size_t i = 0; !status && i <= list.length; i++) {
        if (i < list.length && (list.at[i] != ',' || depth > 0)) {
            depth += (list.at[i] == '[') - (list.at[i] == ']');
            continue;
        }
        status = expand_one((banyan_word){list.at + begin, i - begin}, line, keep, context, err);
        begin = i + 1;
    }
    return status;
}
