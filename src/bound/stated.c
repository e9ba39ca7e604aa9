/* SPDX-License-Identifier: Apache-2.0 */
/* bound/stated.c: a walk through two JSON values side by side, with the way to where it is, such as
 * "allreduce.certificate.prices[3][1]". */
#include "bound/stated.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bound/bound.h"
#include "solve/net/tolerance.h"

enum { MOST_PATH = 160 }; /* bytes: a longer way is cut off */

static banyan_status compare(const char *path, const banyan_json *stated, const banyan_json *derived,
                             double tolerance, banyan_error *err);

static const char *show(const banyan_json *value, char *buffer, size_t size)
{
    const char *text;
    double number;
    int truth;

    if (banyan_json_get_string(value, &text))
        snprintf(buffer, size, "\"%.80s\"", text);
    else if (banyan_json_get_number(value, &number))
        snprintf(buffer, size, "%.17g", number);
    else if (banyan_json_get_boolean(value, &truth))
        snprintf(buffer, size, "%s", truth ? "true" : "false");
    else
        snprintf(buffer, size, "%s", banyan_json_kind_name(value));
    return buffer;
}

static banyan_status differ(const char *path, const banyan_json *stated, const banyan_json *derived,
                            banyan_error *err)
{
    char left[96], right[96];

    return banyan_fail(err, BANYAN_PLAN_INVALID, "\"%s\" is %s, but the certificate and the network give %s",
                       path, show(stated, left, sizeof left), show(derived, right, sizeof right));
}

static int is_near(double a, double b, double tolerance)
{
    return a == b || fabs(a - b) <= tolerance * fabs(b);
}

static banyan_status compare_objects(const char *path, const banyan_json *stated, const banyan_json *derived,
                                     banyan_error *err)
{
    const char *dot = *path ? "." : "", *key;
    banyan_status status = BANYAN_SUCCESS;
    char inner[MOST_PATH];

    for (size_t i = 0; (key = banyan_json_key(stated, i)); i++)
        if (!banyan_json_field(derived, key))
            return banyan_fail(err, BANYAN_PLAN_INVALID, "\"%s%s%.60s\" is nothing that a bound states", path,
                               dot, key);
    for (size_t i = 0; !status && (key = banyan_json_key(derived, i)); i++) {
        const banyan_json *value = banyan_json_field(stated, key);

        snprintf(inner, sizeof inner, "%s%s%s", path, dot, key);
        status = value ? compare(inner, value, banyan_json_field(derived, key), BANYAN_SAME, err)
                       : banyan_fail(err, BANYAN_PLAN_INVALID, "\"%s\" is missing", inner);
    }
    return status;
}

/* Numbers of arrays are numbers of nodes, parts and links, and prices. */
static banyan_status compare_arrays(const char *path, const banyan_json *stated, const banyan_json *derived,
                                    banyan_error *err)
{
    size_t count = banyan_json_count(derived);
    banyan_status status = BANYAN_SUCCESS;
    char inner[MOST_PATH];

    if (banyan_json_count(stated) != count)
        return banyan_fail(err, BANYAN_PLAN_INVALID,
                           "\"%s\" has %zu items, but the certificate and the network give %zu", path,
                           banyan_json_count(stated), count);
    for (size_t i = 0; !status && i < count; i++) {
        snprintf(inner, sizeof inner, "%.130s[%zu]", path, i);
        status = compare(inner, banyan_json_item(stated, i), banyan_json_item(derived, i), 0, err);
    }
    return status;
}

static banyan_status compare(const char *path, const banyan_json *stated, const banyan_json *derived,
                             double tolerance, banyan_error *err)
{
    banyan_json_type kind = banyan_json_kind(derived);
    const char *left_text = "", *right_text = "";
    double left = 0, right = 0;
    int left_truth = 0, right_truth = 0, is_same = banyan_json_kind(stated) == kind;

    if (is_same && kind == BANYAN_JSON_OBJECT)
        return compare_objects(path, stated, derived, err);
    if (is_same && kind == BANYAN_JSON_ARRAY)
        return compare_arrays(path, stated, derived, err);
    if (is_same && kind == BANYAN_JSON_STRING)
        is_same = banyan_json_get_string(stated, &left_text) &&
                  banyan_json_get_string(derived, &right_text) && !strcmp(left_text, right_text);
    if (is_same && kind == BANYAN_JSON_NUMBER)
        is_same = banyan_json_get_number(stated, &left) && banyan_json_get_number(derived, &right) &&
                  is_near(left, right, tolerance);
    if (is_same && kind == BANYAN_JSON_BOOLEAN)
        is_same = banyan_json_get_boolean(stated, &left_truth) &&
                  banyan_json_get_boolean(derived, &right_truth) && left_truth == right_truth;
    return is_same ? BANYAN_SUCCESS : differ(path, stated, derived, err);
}

banyan_status banyan_stated_compare(const banyan_json *stated, const char *derived, banyan_error *err)
{
    banyan_json *root;
    banyan_status status = banyan_json_parse(derived, strlen(derived), &root, err);

    if (status)
        return status;
    status = compare("", stated, root, 0, err);
    banyan_json_destroy(root);
    return status;
}
