/* SPDX-License-Identifier: Apache-2.0 */
/* core/value.c: numbers with units, yes and no, one of a list. */
#include "core/value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
    const char *name;
    double factor;
} unit;

static const unit byte_units[] = {
    {"", 1},         {"B", 1},      {"K", 0x1p10},   {"KiB", 0x1p10}, {"M", 0x1p20},
    {"MiB", 0x1p20}, {"G", 0x1p30}, {"GiB", 0x1p30}, {"T", 0x1p40},   {"TiB", 0x1p40},
    {"KB", 1e3},     {"MB", 1e6},   {"GB", 1e9},     {"TB", 1e12},
};

static const unit time_units[] = {
    {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600},
};

/* Splits '1.5 GiB' into a number that is neither negative, hexadecimal nor infinite, and what follows it. */
static int split(const char *text, double *number, const char **rest)
{
    char *end;

    if (!isdigit((unsigned char)text[0]) || tolower((unsigned char)text[1]) == 'x')
        return 0;
    errno = 0;
    *number = strtod(text, &end);
    if (errno || end == text || !isfinite(*number))
        return 0;
    while (*end == ' ')
        end++;
    *rest = end;
    return 1;
}

static int find_unit(const unit *units, size_t count, const char *name, double *factor)
{
    for (size_t i = 0; i < count; i++)
        if (!strcasecmp(units[i].name, name)) {
            *factor = units[i].factor;
            return 1;
        }
    return 0;
}

banyan_status banyan_value_integer(const char *text, int64_t low, int64_t high, int64_t *out,
                                   banyan_error *err)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno || end == text || *end || isspace((unsigned char)text[0]) || number < low || number > high)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%.80s\" is not an integer from %lld to %lld",
                           text, (long long)low, (long long)high);
    *out = number;
    return BANYAN_SUCCESS;
}

/* Kb, Mb, Gbit: who writes so may mean an eighth of the bytes. */
static int is_bits(const char *name)
{
    if (!*name || !strchr("KMGTkmgt", *name))
        return 0;
    name += 1 + (name[1] == 'i');
    return !strcmp(name, "b") || !strcasecmp(name, "bit");
}

banyan_status banyan_value_bytes(const char *text, int64_t *out, banyan_error *err)
{
    double number, factor;
    const char *rest;

    if (split(text, &number, &rest) && is_bits(rest))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"%.80s\": b stands for bits; write %cB for powers of 1000 or %ciB for powers of "
                           "1024",
                           text, toupper((unsigned char)*rest), toupper((unsigned char)*rest));
    if (!split(text, &number, &rest) ||
        !find_unit(byte_units, sizeof byte_units / sizeof *byte_units, rest, &factor))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "\"%.80s\" is not a size in bytes (such as 4096, 128KiB, 64M, 1GiB)", text);
    number *= factor;
    if (number != floor(number))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%.80s\" is not a whole number of bytes", text);
    if (number > 0x1p53)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%.80s\" is more than 2^53 bytes", text);
    *out = (int64_t)number;
    return BANYAN_SUCCESS;
}

banyan_status banyan_value_seconds(const char *text, double plain_unit_s, double *out, banyan_error *err)
{
    double number, factor = plain_unit_s;
    const char *rest;

    if (!split(text, &number, &rest) ||
        (*rest && !find_unit(time_units, sizeof time_units / sizeof *time_units, rest, &factor)))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%.80s\" is not a time (such as 500ms, 30s, 2min)",
                           text);
    *out = number * factor;
    return BANYAN_SUCCESS;
}

banyan_status banyan_value_boolean(const char *text, int *out, banyan_error *err)
{
    int choice;

    if (banyan_value_choice(text, "0|1|no|yes|false|true|off|on|n|y", &choice, NULL))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%.80s\" is neither yes nor no", text);
    *out = choice % 2;
    return BANYAN_SUCCESS;
}

banyan_status banyan_value_choice(const char *text, const char *choices, int *out, banyan_error *err)
{
    char word[64];

    for (int i = 0; banyan_value_nth_choice(choices, i, word, sizeof word); i++)
        if (!strcasecmp(text, word)) {
            *out = i;
            return BANYAN_SUCCESS;
        }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%.80s\" is none of %.300s", text, choices);
}

int banyan_value_nth_choice(const char *choices, int i, char *buffer, size_t size)
{
    for (; i > 0; i--) {
        choices = strchr(choices, '|');
        if (!choices)
            return 0;
        choices++;
    }
    snprintf(buffer, size, "%.*s", (int)strcspn(choices, "|"), choices);
    return 1;
}
