/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate.c: from NAME[:SHAPE][,option=value...] to a topology.
 *
 * The string is cut at its commas. The first piece picks the generator and holds the shape; every other one
 * is an option, or damage, which is kept for the end (damage.c). A generator is one record in one of the
 * generate_*.c files and one line in the table below. */
#include "topology/generate.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/near.h"
#include "topology/generator.h"

static const banyan_generator *const generators[] = {
    &banyan_generator_ring,      &banyan_generator_line,           &banyan_generator_full,
    &banyan_generator_torus,     &banyan_generator_mesh,           &banyan_generator_kautz,
    &banyan_generator_switch,    &banyan_generator_fattree,        &banyan_generator_bigraph,
    &banyan_generator_dragonfly, &banyan_generator_dragonfly_plus, &banyan_generator_hyperx,
    &banyan_generator_slimfly,   &banyan_generator_dgx1,           &banyan_generator_dgx2,
    &banyan_generator_dgxa100,   &banyan_generator_dgxh100,        &banyan_generator_dgxb200,
    &banyan_generator_mi300x,    &banyan_generator_nvl72,          &banyan_generator_rails,
    &banyan_generator_spark,     &banyan_generator_tpuv4,          &banyan_generator_hosts,
    &banyan_generator_racks,     &banyan_generator_abci,           &banyan_generator_pcie,
};
enum { GENERATOR_COUNT = sizeof generators / sizeof *generators };

typedef enum { BANDWIDTH, DURATION, SWITCHED } option_kind;

typedef struct {
    const char *name;
    option_kind kind;
    unsigned needs;   /* BANYAN_GENERATOR_*; 0: all generators have it */
    size_t field;     /* in banyan_generator_settings */
    double one_means; /* bytes per second of one unit */
} option;

#define FIELD(name) offsetof(banyan_generator_settings, name)
static const option options[] = {
    {"gbps", BANDWIDTH, 0, FIELD(bytes_per_s), 1e9 / 8},
    {"GBps", BANDWIDTH, 0, FIELD(bytes_per_s), 1e9},
    {"latency", DURATION, 0, FIELD(latency_s), 0},
    {"local_gbps", BANDWIDTH, BANYAN_GENERATOR_LOCAL, FIELD(local_bytes_per_s), 1e9 / 8},
    {"local_GBps", BANDWIDTH, BANYAN_GENERATOR_LOCAL, FIELD(local_bytes_per_s), 1e9},
    {"local_latency", DURATION, BANYAN_GENERATOR_LOCAL, FIELD(local_latency_s), 0},
    {"rack_gbps", BANDWIDTH, BANYAN_GENERATOR_RACK, FIELD(rack_bytes_per_s), 1e9 / 8},
    {"rack_GBps", BANDWIDTH, BANYAN_GENERATOR_RACK, FIELD(rack_bytes_per_s), 1e9},
    {"global_gbps", BANDWIDTH, BANYAN_GENERATOR_GLOBAL, FIELD(global_bytes_per_s), 1e9 / 8},
    {"global_GBps", BANDWIDTH, BANYAN_GENERATOR_GLOBAL, FIELD(global_bytes_per_s), 1e9},
    {"global_latency", DURATION, BANYAN_GENERATOR_GLOBAL, FIELD(global_latency_s), 0},
    {"multicast", SWITCHED, BANYAN_GENERATOR_SWITCH, FIELD(can_multicast), 0},
    {"reduce", SWITCHED, BANYAN_GENERATOR_SWITCH, FIELD(can_reduce), 0},
};
enum { OPTION_COUNT = sizeof options / sizeof *options };

/* One string on its way. */
typedef struct {
    const char *spec;
    char *pieces; /* a copy of spec in which commas have become NULs */
    const banyan_generator *generator;
    banyan_generator_request request;
    unsigned seen;      /* bit i: the field of option i was given */
    banyan_text damage; /* 'down=...,degrade=...' */
} reading;

int banyan_generator_count(void)
{
    return GENERATOR_COUNT;
}

const banyan_generator_info *banyan_generator_at(int i)
{
    return i >= 0 && i < GENERATOR_COUNT ? &generators[i]->info : NULL;
}

void banyan_generator_name(char out[16], const char *prefix, int number)
{
    if (number < 0)
        snprintf(out, 16, "%s", prefix);
    else
        snprintf(out, 16, "%s%d", prefix, number);
}

int banyan_generator_fits(const banyan_generator_request *request, banyan_topology_builder *builder,
                          double workers, double links)
{
    if (workers > BANYAN_GENERATOR_MAX_WORKERS)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                     "%s would have %.15g workers; the most is %d", request->spec, workers,
                                     BANYAN_GENERATOR_MAX_WORKERS);
    else if (links > BANYAN_GENERATOR_MAX_LINKS)
        banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                     "%s would have %.15g links; the most is %d", request->spec, links,
                                     BANYAN_GENERATOR_MAX_LINKS);
    else
        return 1;
    return 0;
}

void banyan_generator_add_workers(banyan_topology_builder *builder, int count)
{
    for (int i = 0; i < count; i++)
        banyan_topology_add_worker_f(builder, -1, "g%d", i);
}

void banyan_generator_add_box(banyan_topology_builder *builder, const char *prefix, int number,
                              int first_worker, int count)
{
    char name[16];
    int host;

    banyan_generator_name(name, prefix, number);
    host = banyan_topology_add_host(builder, name);
    for (int i = 0; i < count; i++)
        banyan_topology_add_worker_f(builder, host, "g%d", first_worker + i);
}

int banyan_generator_whole_tail(const banyan_generator_request *request, banyan_topology_builder *builder,
                                int fallback)
{
    double tail = request->shape.tail;

    if (!request->shape.has_tail)
        return fallback;
    if (tail == floor(tail) && tail <= BANYAN_GENERATOR_MAX_WORKERS)
        return (int)tail;
    banyan_topology_builder_fail(builder, BANYAN_INVALID_ARGUMENT,
                                 "%s: %.15g is not a whole number between 1 and %d", request->spec, tail,
                                 BANYAN_GENERATOR_MAX_WORKERS);
    return 0;
}

int banyan_generator_add_switch(const banyan_generator_request *request, banyan_topology_builder *builder,
                                const char *prefix, int number)
{
    char name[16];
    int id;

    banyan_generator_name(name, prefix, number);
    id = banyan_topology_add_switch(builder, name);
    banyan_topology_set_abilities(builder, id, request->settings.can_multicast, request->settings.can_reduce);
    return id;
}

static banyan_status find_generator(const char *name, const banyan_generator **out, banyan_error *err)
{
    const char *names[GENERATOR_COUNT];
    int nearest;

    for (int i = 0; i < GENERATOR_COUNT; i++) {
        names[i] = generators[i]->info.name;
        if (!strcmp(names[i], name)) {
            *out = generators[i];
            return BANYAN_SUCCESS;
        }
    }
    nearest = banyan_near_find(name, names, GENERATOR_COUNT);
    if (nearest >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "no network is called '%.100s'; did you mean %s (%s)?", name, names[nearest],
                           generators[nearest]->info.form);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "no network is called '%.100s', and there is no such file", name);
}

static banyan_status wrong_form(const reading *read, const char *head, banyan_error *err)
{
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "'%.200s' does not have the form %s", head,
                       read->generator->info.form);
}

static banyan_status read_head(reading *read, banyan_error *err)
{
    char *colon = strchr(read->pieces, ':');
    const banyan_generator *generator;
    const banyan_shape *shape = &read->request.shape;
    banyan_error why = {""};
    banyan_status status;

    if (colon)
        *colon = 0;
    status = find_generator(read->pieces, &read->generator, err);
    if (colon)
        *colon = ':';
    if (status)
        return status;
    generator = read->generator;
    if (!colon)
        return generator->least_parts ? wrong_form(read, read->pieces, err) : BANYAN_SUCCESS;
    if (!generator->most_parts)
        return wrong_form(read, read->pieces, err);
    status = banyan_shape_parse(colon + 1, &read->request.shape, &why);
    if (status)
        return banyan_fail(err, status, "%.300s%s%s", why.text,
                           status == BANYAN_INVALID_ARGUMENT ? "; the form is " : "",
                           status == BANYAN_INVALID_ARGUMENT ? generator->info.form : "");
    if (shape->part_count < generator->least_parts || shape->part_count > generator->most_parts ||
        (shape->has_tail && !generator->has_tail))
        return wrong_form(read, read->pieces, err);
    for (int p = 0; p < shape->part_count; p++)
        if (banyan_shape_part_length(shape, p) > 1 && !(generator->lists >> p & 1))
            return wrong_form(read, read->pieces, err);
    return BANYAN_SUCCESS;
}

static int read_number(const char *text, double *out, char **end)
{
    *out = strtod(text, end);
    return (isdigit((unsigned char)*text) || *text == '.') && *end != text && isfinite(*out) &&
           !strpbrk(text, "xX");
}

static banyan_status read_bandwidth(const option *what, const char *value, double *out, banyan_error *err)
{
    double number;
    char *end;

    if (!read_number(value, &number, &end) || *end || number <= 0 || !isfinite(number * what->one_means))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: '%s' is not a positive number", what->name,
                           value);
    *out = number * what->one_means;
    return BANYAN_SUCCESS;
}

static banyan_status read_duration(const option *what, const char *value, double *out, banyan_error *err)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    double number;
    char *end;

    if (!read_number(value, &number, &end))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: '%s' is not a time such as 1us", what->name,
                           value);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].name)) {
            *out = number * units[i].seconds;
            return BANYAN_SUCCESS;
        }
    if (!*end && number == 0) {
        *out = 0;
        return BANYAN_SUCCESS;
    }
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: '%s' needs a unit: s, ms, us or ns", what->name,
                       value);
}

static banyan_status read_switched(const option *what, const char *value, int *out, banyan_error *err)
{
    if (strcmp(value, "0") && strcmp(value, "1"))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: '%s' is neither 0 nor 1", what->name, value);
    *out = *value == '1';
    return BANYAN_SUCCESS;
}

/* The option by which the field was set, or NULL. */
static const char *given_as(const reading *read, size_t field)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (read->seen >> i & 1 && options[i].field == field)
            return options[i].name;
    return NULL;
}

static banyan_status set_option(reading *read, const option *what, const char *value, banyan_error *err)
{
    void *field = (char *)&read->request.settings + what->field;
    const char *earlier = given_as(read, what->field);

    if (what->needs & ~read->generator->options)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s has no option %s", read->generator->info.name,
                           what->name);
    if (earlier)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: %s was given already", what->name, earlier);
    read->seen |= 1U << (what - options);
    switch (what->kind) {
    case BANDWIDTH:
        return read_bandwidth(what, value, field, err);
    case DURATION:
        return read_duration(what, value, field, err);
    default:
        return read_switched(what, value, field, err);
    }
}

static banyan_status unknown_option(const reading *read, const char *name, banyan_error *err)
{
    const char *names[OPTION_COUNT + 2] = {"down", "degrade"};
    int count = 2, nearest;

    for (int i = 0; i < OPTION_COUNT; i++)
        if (!(options[i].needs & ~read->generator->options))
            names[count++] = options[i].name;
    nearest = banyan_near_find(name, names, count);
    if (nearest >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s has no option '%.100s'; did you mean %s?",
                           read->generator->info.name, name, names[nearest]);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s has no option '%.100s'", read->generator->info.name,
                       name);
}

static banyan_status read_option(reading *read, char *piece, banyan_error *err)
{
    char *equals = strchr(piece, '=');

    if (banyan_damage_is_option(piece, strlen(piece))) {
        banyan_text_add(&read->damage, "%s%s", read->damage.length ? "," : "", piece);
        return read->damage.failed ? banyan_fail_memory(err) : BANYAN_SUCCESS;
    }
    if (!equals || !equals[1])
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "'%.200s' is not of the form option=value", piece);
    *equals = 0;
    for (int i = 0; i < OPTION_COUNT; i++)
        if (!strcmp(piece, options[i].name))
            return set_option(read, &options[i], equals + 1, err);
    return unknown_option(read, piece, err);
}

/* Racks and global cables are as the network where neither an option nor the generator says otherwise. */
static void take_from_network(reading *read)
{
    banyan_generator_settings *settings = &read->request.settings;

    if (!(settings->rack_bytes_per_s > 0))
        settings->rack_bytes_per_s = settings->bytes_per_s;
    if (!(settings->global_bytes_per_s > 0))
        settings->global_bytes_per_s = settings->bytes_per_s;
    if (!given_as(read, FIELD(global_latency_s)))
        settings->global_latency_s = settings->latency_s;
}

static banyan_status read_spec(reading *read, banyan_error *err)
{
    char *piece, *comma;
    banyan_status status;

    comma = strchr(read->pieces, ',');
    if (comma)
        *comma = 0;
    status = read_head(read, err);
    if (status)
        return status;
    read->request.settings = read->generator->defaults;
    while (comma && !status) {
        piece = comma + 1;
        comma = strchr(piece, ',');
        if (comma)
            *comma = 0;
        status = read_option(read, piece, err);
    }
    if (!status)
        take_from_network(read);
    return status;
}

static banyan_status build(const reading *read, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_topology *whole = NULL;
    banyan_status status;

    banyan_topology_builder_init(&builder, read->spec);
    if (!builder.status)
        read->generator->build(&read->request, &builder);
    status = banyan_topology_builder_finish(&builder, &whole, err);
    if (!status && read->damage.length) {
        status = banyan_damage_apply(whole, read->damage.bytes, read->spec, out, err);
        banyan_topology_destroy(whole);
        return status;
    }
    *out = whole;
    return status;
}

banyan_status banyan_topology_generate(const char *spec, banyan_topology **out, banyan_error *err)
{
    reading read = {.spec = spec, .request = {.spec = spec}, .damage = BANYAN_TEXT_EMPTY};
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!spec)
        return banyan_fail_null("spec", err);
    read.pieces = banyan_strdup(spec);
    if (!read.pieces)
        return banyan_fail_memory(err);
    status = read_spec(&read, err);
    if (!status)
        status = build(&read, out, err);
    banyan_shape_fini(&read.request.shape);
    banyan_text_fini(&read.damage);
    banyan_free(read.pieces);
    return status;
}
