/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim_flit.c: reads --flow and --flit, runs the flit engine and says in one line what it counted. */
#include "sim_flit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/near.h"
#include "core/value.h"
#include "simulate/flit.h"

/* Numbers of --flit, by name. */
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

/* «1GHz», «800MHz» or Hz. */
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
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--flit: expected KEY=VALUE, not '%.60s'", item);
        *equals = '\0';
        status = set(s, item, equals + 1, err);
        if (status) {
            char where[160];

            snprintf(where, sizeof where, "--flit %s", item);
            banyan_error_prefix(err, where);
            return status;
        }
    }
    return BANYAN_SUCCESS;
}

static banyan_status read_settings(const sim_settings *settings, banyan_flit_settings *out, banyan_error *err)
{
    static const char *const not_here[] = {"overhead", "reduce-speed"};
    const char *flow = cli_get(settings->arguments, "flow"), *list = cli_get(settings->arguments, "flit");
    int choice = 0;
    banyan_status status = BANYAN_SUCCESS;

    *out = banyan_flit_defaults();
    for (int i = 0; i < 2; i++)
        if (cli_has(settings->arguments, not_here[i]))
            return banyan_fail(
                err, BANYAN_INVALID_ARGUMENT,
                "--%s is not for --model flit: --flit adder=BYTES sets how many an interface adds a cycle",
                not_here[i]);
    if (flow) {
        status = banyan_value_choice(flow, "packet|message", &choice, err);
        if (status)
            banyan_error_prefix(err, "--flow");
        out->flow = (banyan_flow_control)choice;
    }
    if (cli_has(settings->arguments, "lockstep"))
        out->lockstep = BANYAN_LOCKSTEP_IDEAL;
    if (!status && list)
        status = read_list(list, out, err);
    return status;
}

/* Link loads against what the links could have carried. */
static void measure(const banyan_topology *topology, const banyan_flit_settings *settings,
                    const banyan_flit_report *report, sim_outcome *out)
{
    double seconds = out->timeline->total_s, carried = 0, possible = 0;

    for (int l = 0; l < topology->link_count; l++) {
        double bytes = (double)report->link_flits[l] * settings->flit_bytes;
        double share = bytes / (topology->links[l].bytes_per_s * seconds);

        carried += bytes;
        possible += topology->links[l].bytes_per_s * seconds;
        if (bytes > 0 && (out->bottleneck < 0 || share > out->busiest)) {
            out->bottleneck = l;
            out->busiest = share;
        }
    }
    out->utilization = possible > 0 ? carried / possible : 0;
    snprintf(out->note, sizeof out->note, "%lld cycles", (long long)report->cycles);
    snprintf(
        out->json, sizeof out->json,
        ",\"cycles\":%lld,\"applied_cycles\":%lld,\"clock_hz\":%.17g,\"flit_hops\":%lld,\"link_flits\":%lld,"
        "\"head_flits\":%lld,\"arbitrations\":%lld,\"table_entries\":%d,\"table_bits\":%lld,"
        "\"normal_packets\":%lld,\"normal_mean_cycles\":%.17g,\"normal_worst_cycles\":%lld",
        (long long)report->cycles, (long long)report->applied_cycles, report->clock_hz,
        (long long)report->flit_hops, (long long)report->link_flit_count, (long long)report->head_flit_count,
        (long long)report->arbitrations, report->table_entries, (long long)report->table_bits,
        (long long)report->normal_packets, report->normal_mean_cycles,
        (long long)report->normal_worst_cycles);
}

banyan_status sim_flit_run(const sim_settings *settings, const banyan_schedule *schedule,
                           const banyan_topology *topology, size_t bytes, sim_outcome *out, banyan_error *err)
{
    banyan_flit_settings flit;
    banyan_flit_report *report;
    banyan_status status = read_settings(settings, &flit, err);

    *out = (sim_outcome){.bottleneck = -1};
    if (!status)
        status = banyan_flit_run(schedule, topology, bytes, &flit, &out->timeline, &report, err);
    if (status)
        return status;
    out->message_count = schedule->transfer_count;
    measure(topology, &flit, report, out);
    banyan_flit_report_destroy(report);
    return BANYAN_SUCCESS;
}

banyan_status sim_flit_tables(const sim_settings *settings, const banyan_schedule *schedule,
                              const banyan_topology *topology, size_t bytes, char **out, banyan_error *err)
{
    banyan_flit_settings flit;
    banyan_status status = read_settings(settings, &flit, err);

    return status ? status : banyan_flit_format_tables(schedule, topology, bytes, &flit, out, err);
}
