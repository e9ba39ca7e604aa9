/* SPDX-License-Identifier: Apache-2.0 */
/* plan/flit.c: settings of the flit engine from text. */
#include "plan/flit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/near.h"
#include "core/value.h"

/* Whole numbers, by name. */
#define NUMBERS(X)                                                                                           \
    X("vcs", virtual_channels)                                                                               \
    X("buffer", buffer_flits)                                                                                \
    X("flit", flit_bytes)                                                                                    \
    X("packet", packet_bytes)                                                                                \
    X("credit", credit_cycles)                                                                               \
    X("ports", ports)                                                                                        \
    X("any_port", any_port)                                                                                  \
    X("queue", interface_packets)                                                                            \
    X("adder", adder_bytes)                                                                                  \
    X("normal_flits", normal_flits)

static const char *const keys[] = {
#define KEY(name, field) name,
    NUMBERS(KEY)
#undef KEY
        "clock",
    "interface",
    "lockstep",
    "switching",
    "normal",
    "seed",
    "patience"};

static banyan_status read_real(const char *value, double *out, banyan_error *err)
{
    char *end;
    double number = strtod(value, &end);

    if (end == value || *end)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "'%.40s' is not a number", value);
    *out = number;
    return BANYAN_SUCCESS;
}

/* '1GHz', '800MHz' or Hz. */
static banyan_status read_clock(const char *value, double *out, banyan_error *err)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"GHz", 1e9}, {"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}};
    size_t length = strlen(value);
    double factor = 1;
    char plain[32];
    banyan_status status;

    for (int i = 0; i < 4; i++) {
        size_t unit = strlen(units[i].unit);

        if (length > unit && !strcmp(value + length - unit, units[i].unit)) {
            factor = units[i].factor;
            length -= unit;
            break;
        }
    }
    snprintf(plain, sizeof plain, "%.*s", (int)(length < sizeof plain ? length : sizeof plain - 1), value);
    status = read_real(plain, out, err);
    *out *= factor;
    if (!status && *out == 0) /* which would mean: derived */
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a clock of 0 Hz is impossible");
    return status;
}

static banyan_status read_choice(const char *value, const char *choices, int *out, banyan_error *err)
{
    return banyan_value_choice(value, choices, out, err);
}

static banyan_status unknown_key(const char *key, banyan_error *err)
{
    int count = (int)(sizeof keys / sizeof *keys), near = banyan_near_find(key, keys, count);

    if (near >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no setting '%.40s' (did you mean %s?)",
                           key, keys[near]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "there is no setting '%.40s'", key);
}

static banyan_status set(banyan_flit_settings *s, const char *key, const char *value, banyan_error *err)
{
    int64_t number = 0;
    int choice = 0;
    banyan_status status;

#define SET(name, field)                                                                                     \
    if (!strcmp(key, name)) {                                                                                \
        status = banyan_value_integer(value, 0, 1 << 30, &number, err);                                      \
        s->field = (int)number;                                                                              \
        return status;                                                                                       \
    }
    NUMBERS(SET)
#undef SET
    if (!strcmp(key, "clock"))
        return read_clock(value, &s->clock_hz, err);
    if (!strcmp(key, "normal"))
        return read_real(value, &s->normal_rate, err);
    if (!strcmp(key, "seed") || !strcmp(key, "patience")) {
        status = banyan_value_integer(value, 0, INT64_C(1) << 53, &number, err);
        if (key[0] == 's')
            s->seed = (uint64_t)number;
        else
            s->patience_cycles = number;
        return status;
    }
    if (!strcmp(key, "lockstep")) {
        status = read_choice(value, "none|estimate|ideal", &choice, err);
        s->lockstep = (banyan_lockstep)choice;
        return status;
    }
    if (!strcmp(key, "interface")) {
        status = read_choice(value, "cable|authors", &choice, err);
        s->interface_kind = (banyan_interface_kind)choice;
        return status;
    }
    if (!strcmp(key, "switching")) {
        status = read_choice(value, "cut-through|wormhole", &choice, err);
        s->switching = (banyan_switching)choice;
        return status;
    }
    return unknown_key(key, err);
}

static banyan_status read_list(const char *list, banyan_flit_settings *s, banyan_error *err)
{
    while (*list) {
        size_t length = strcspn(list, ",");
        char item[128];
        char *equals;
        banyan_status status;

        snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item - 1), list);
        list += length + (list[length] == ',');
        equals = strchr(item, '=');
        if (!equals)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "expected KEY=VALUE, not '%.60s'", item);
        *equals = '\0';
        status = set(s, item, equals + 1, err);
        if (status) {
            banyan_error_prefix(err, item);
            return status;
        }
    }
    return BANYAN_SUCCESS;
}

banyan_status banyan_read_flit_settings(const char *flow, const char *list, int is_lockstep,
                                        banyan_flit_settings *out, banyan_error *err)
{
    int choice = 0;

    *out = banyan_flit_defaults();
    if (flow && banyan_value_choice(flow, "packet|message", &choice, NULL))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the flow '%.40s' is not packet or message", flow);
    out->flow = (banyan_flow_control)choice;
    if (is_lockstep)
        out->lockstep = BANYAN_LOCKSTEP_IDEAL;
    return list ? read_list(list, out, err) : BANYAN_SUCCESS;
}
