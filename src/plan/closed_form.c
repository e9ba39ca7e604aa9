/* SPDX-License-Identifier: Apache-2.0 */
/* plan/closed_form.c: reads the formula that an algorithm states as its cost.
 *
 *     sum     = product { + product | - product }
 *     product = factor { [/] factor }           what stands side by side is multiplied, from left to right
 *     factor  = number | p | n | a | b | ( sum ) | log2 factor | ceil factor
 */
#include "plan/closed_form.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "simulate/paths.h"

typedef struct {
    const char *at;
    double p, n, a, b;
    int depth, failed;
} reader;

static double read_sum(reader *r);

static void skip_spaces(reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static int take(reader *r, const char *word)
{
    size_t length = strlen(word);

    skip_spaces(r);
    if (strncmp(r->at, word, length) != 0 || (isalpha(*word) && isalnum((unsigned char)r->at[length])))
        return 0;
    r->at += length;
    return 1;
}

static double read_factor(reader *r)
{
    double value = NAN;
    char *end;

    if (++r->depth > 50)
        r->failed = 1;
    skip_spaces(r);
    if (r->failed) {
        value = NAN;
    } else if (isdigit((unsigned char)*r->at)) {
        value = strtod(r->at, &end);
        r->at = end;
    } else if (take(r, "(")) {
        value = read_sum(r);
        r->failed |= !take(r, ")");
    } else if (take(r, "log2")) {
        value = log2(read_factor(r));
    } else if (take(r, "ceil")) {
        value = ceil(read_factor(r));
    } else if (take(r, "p")) {
        value = r->p;
    } else if (take(r, "n")) {
        value = r->n;
    } else if (take(r, "a")) {
        value = r->a;
    } else if (take(r, "b")) {
        value = r->b;
    } else {
        r->failed = 1;
    }
    r->depth--;
    return value;
}

static int factor_follows(reader *r)
{
    skip_spaces(r);
    return *r->at == '(' || isalnum((unsigned char)*r->at);
}

static double read_product(reader *r)
{
    double value = read_factor(r);

    while (!r->failed) {
        if (take(r, "/"))
            value /= read_factor(r);
        else if (factor_follows(r))
            value *= read_factor(r);
        else
            break;
    }
    return value;
}

static double read_sum(reader *r)
{
    double value = read_product(r);

    while (!r->failed) {
        if (take(r, "+"))
            value += read_product(r);
        else if (take(r, "-"))
            value -= read_product(r);
        else
            break;
    }
    return value;
}

static double evaluate(const char *cost, double p, double n, double a, double b)
{
    reader r = {.at = cost, .p = p, .n = n, .a = a, .b = b};
    double value = read_sum(&r);

    /* What comes on top where p is no power of two is a rough figure: then there is no closed form. */
    if (take(&r, ";"))
        r.failed |=
            strcmp(r.at, " 2 (a + n b) more where p is no power of two") != 0 || log2(p) != floor(log2(p));
    else
        r.failed |= *r.at != '\0';
    return r.failed ? NAN : value;
}

/* Whether all routes cost the same and no round uses a link twice; then what a message and a byte cost. */
static banyan_status measure(const banyan_schedule *schedule, const banyan_topology *topology, double *a,
                             double *b, int *is_even, banyan_error *err)
{
    int *used = banyan_alloc((size_t)topology->link_count, sizeof *used);
    banyan_paths *paths = NULL;
    banyan_status status =
        used ? banyan_paths_find(schedule, topology, &paths, err) : banyan_fail_memory(err);

    *is_even = !status && schedule->transfer_count > 0;
    for (size_t i = 0; *is_even && i < schedule->transfer_count; i++) {
        double latency_s = 0, s_per_byte = 0;
        int path = paths->path_of[i];

        for (int j = paths->first[path]; j < paths->first[path + 1]; j++) {
            const banyan_link *link = &topology->links[paths->link[j]];

            latency_s += link->latency_s;
            s_per_byte = fmax(s_per_byte, 1 / link->bytes_per_s);
            *is_even &= used[paths->link[j]] != schedule->transfers[i].round + 1;
            used[paths->link[j]] = schedule->transfers[i].round + 1;
        }
        if (i == 0) {
            *a = latency_s;
            *b = s_per_byte;
        }
        *is_even &= fabs(latency_s - *a) <= 1e-12 * *a && fabs(s_per_byte - *b) <= 1e-12 * *b;
    }
    banyan_paths_destroy(paths);
    banyan_free(used);
    return status;
}

banyan_status banyan_closed_form_find(const banyan_schedule *schedule, const banyan_topology *topology,
                                      double bytes, double overhead_s, double *out, banyan_error *err)
{
    const banyan_algorithm *algorithm =
        schedule->algorithm ? banyan_algorithm_find(schedule->algorithm) : NULL;
    double a = 0, b = 0;
    banyan_status status;
    int is_even;

    *out = NAN;
    if (!algorithm || schedule->collective != BANYAN_COLLECTIVE_ALLREDUCE)
        return BANYAN_SUCCESS;
    status = measure(schedule, topology, &a, &b, &is_even, err);
    if (!status && is_even)
        *out = evaluate(algorithm->cost, schedule->active_count, bytes, a + overhead_s, b);
    return status;
}
