/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_ib.c: what ibnetdiscover prints of an InfiniBand fabric.
 *
 *     Switch  65 "S-2c5e..."          # "leaf-04" enhanced port 0 lid 73 lmc 0
 *     [1]     "H-e09d..."[1](e09d...) # "dgx-01 mlx5_5" lid 647 4xNDR
 *     Ca      1 "H-e09d..."           # "dgx-01 mlx5_5"
 *     [1](e09d...)  "S-2c5e..."[1]    # lid 647 lmc 0 "leaf-04" lid 73 4xNDR
 *
 * Both ends of a cable list it; it is built once, and the two lines must agree where both are there. A
 * channel adapter's description is 'HOST DEVICE': all adapters of a host are cables of one worker, named
 * for it. Adapters with another description are workers named for their GUID; aggregation nodes of SHARP
 * are left out. Bandwidths are those of the link's width and speed after its coding. The net files of ibsim
 * have the same form, without descriptions and rates, and are read too: their cables get 100 Gbit/s. A rate
 * that nobody knows is refused, and so is a cable without one among others that have theirs. O(lines). */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/build.h"
#include "topology/import.h"
#include "topology/names.h"
#include "topology/scan.h"

static const double latency_s = 1e-6, untold_gbps = 100;

/* Gbit/s of a lane that are data (InfiniBand Architecture Specification): 8 of 10 bits up to QDR, 64 of 66
 * up to EDR, and from HDR on what is left beside forward error correction. */
static const struct {
    const char *name;
    double gbps;
} speeds[] = {{"SDR", 2},  {"DDR", 4},  {"QDR", 8},   {"FDR10", 10}, {"FDR", 13.64},
              {"EDR", 25}, {"HDR", 50}, {"NDR", 100}, {"XDR", 200}};

typedef struct {
    int is_adapter, line; /* line 0: named by others, but without an entry so far */
    int is_left_out;
    int host; /* among the hosts; -1 */
    int node; /* in the topology */
    banyan_word description;
} device;

/* A line of a port. */
typedef struct {
    int device, peer, line; /* peer -1: its other end has none */
    int port, peer_port;
    double gbps; /* 0: the line tells none */
} connection;

typedef struct {
    banyan_names ids, hosts, labels, ends; /* an end is 'DEVICE PORT', its number that of the connection */
    device *devices;
    connection *connections;
    size_t device_capacity, connection_capacity;
    int device_count, connection_count;
    int current; /* the device whose ports are read; -1: none yet */
    banyan_error *err;
} fabric;

static int find_device(fabric *in, banyan_word id)
{
    int found = banyan_names_add(&in->ids, id);
    void *devices = in->devices;

    if (found < 0 || found < in->device_count)
        return found;
    if (!banyan_grow(&devices, (size_t)in->device_count, &in->device_capacity, sizeof *in->devices))
        return -1;
    in->devices = devices;
    in->devices[in->device_count++] = (device){.host = -1};
    return found;
}

/* Takes '"..."' off the front. */
static int take_quoted(banyan_word *rest, banyan_word *out)
{
    const char *end;

    *rest = banyan_word_trim(*rest);
    if (!rest->length || *rest->at != '"')
        return 0;
    end = memchr(rest->at + 1, '"', rest->length - 1);
    if (!end)
        return 0;
    *out = (banyan_word){rest->at + 1, (size_t)(end - rest->at) - 1};
    rest->length -= out->length + 2;
    rest->at = end + 1;
    return 1;
}

/* Takes '[N]' off the front. */
static int take_port(banyan_word *rest, int *out)
{
    const char *end;

    *rest = banyan_word_trim(*rest);
    if (!rest->length || *rest->at != '[')
        return 0;
    end = memchr(rest->at, ']', rest->length);
    if (!end || !banyan_word_integer((banyan_word){rest->at + 1, (size_t)(end - rest->at) - 1}, 254, out))
        return 0;
    rest->length -= (size_t)(end + 1 - rest->at);
    rest->at = end + 1;
    return 1;
}

/* Behind a port there may be '(GUID)' and '[ext N]'. */
static void skip_remarks(banyan_word *rest)
{
    for (;;) {
        const char *end;

        *rest = banyan_word_trim(*rest);
        if (!rest->length || (*rest->at != '(' && !banyan_word_begins(*rest, "[ext")))
            return;
        end = memchr(rest->at, *rest->at == '(' ? ')' : ']', rest->length);
        if (!end)
            return;
        rest->length -= (size_t)(end + 1 - rest->at);
        rest->at = end + 1;
    }
}

static banyan_word comment_of(banyan_word line)
{
    const char *hash = line.length ? memchr(line.at, '#', line.length) : NULL;

    return hash ? (banyan_word){hash + 1, line.length - (size_t)(hash + 1 - line.at)}
                : (banyan_word){line.at, 0};
}

/* '4xNDR' in Gbit/s; 0: nobody knows this width or speed. */
static double read_rate(banyan_word word)
{
    const char *x = memchr(word.at, 'x', word.length);
    banyan_word speed;
    int width;

    if (!x || !banyan_word_integer((banyan_word){word.at, (size_t)(x - word.at)}, 12, &width))
        return 0;
    speed = (banyan_word){x + 1, word.length - (size_t)(x + 1 - word.at)};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        if (banyan_word_is(speed, speeds[i].name))
            return width * speeds[i].gbps;
    return 0;
}

/* A width, 'x' and anything; ibnetdiscover writes '4x???' and '??NDR' for what it does not know itself. */
static int is_rate(banyan_word word)
{
    const char *x = memchr(word.at, 'x', word.length);
    int width;

    return banyan_word_begins(word, "??") ||
           (x && banyan_word_integer((banyan_word){word.at, (size_t)(x - word.at)}, INT_MAX, &width));
}

/* The rate stands behind the description, which is other people's text; *gbps stays 0 where there is
 * none. */
static banyan_status find_rate(fabric *in, banyan_word remark, int number, double *gbps)
{
    const char *quote = remark.length ? memrchr(remark.at, '"', remark.length) : NULL;
    banyan_word rest = remark, word;

    if (quote)
        rest = (banyan_word){quote + 1, remark.length - (size_t)(quote + 1 - remark.at)};
    while (banyan_word_take(&rest, &word)) {
        if (!is_rate(word))
            continue;
        *gbps = read_rate(word);
        if (*gbps <= 0)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                               "line %d: the rate '%s' is unknown: expected a width and a speed, as '4xNDR'",
                               number, banyan_word_show(word).text);
    }
    return BANYAN_SUCCESS;
}

/* 'Switch 65 "S-..." # "..."', likewise Ca, Hca (ibsim) and Rt. */
static banyan_status read_device(fabric *in, banyan_word line, int is_adapter, int number)
{
    banyan_word rest = line, kind, ports, id;
    banyan_word remark = comment_of(line), description;
    banyan_status status;
    device *found;

    banyan_word_take(&rest, &kind);
    if (!banyan_word_take(&rest, &ports) || !take_quoted(&rest, &id))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: expected %s PORTS \"ID\"", number,
                           banyan_word_show(kind).text);
    status = banyan_word_check_name(id, number, in->err);
    if (status)
        return status;
    in->current = find_device(in, id);
    if (in->current < 0)
        return banyan_fail_memory(in->err);
    if (in->device_count > BANYAN_IMPORT_MAX_NODES)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d devices", number,
                           BANYAN_IMPORT_MAX_NODES);
    found = &in->devices[in->current];
    if (found->line)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: %s has an entry already (line %d)",
                           number, banyan_word_show(id).text, found->line);
    found->line = number;
    found->is_adapter = is_adapter;
    found->description =
        take_quoted(&remark, &description) ? banyan_word_trim(description) : (banyan_word){"", 0};
    return BANYAN_SUCCESS;
}

/* The k-th connection is the k-th end that is named. */
static banyan_status keep_end(fabric *in, const connection *found)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%d %d", found->device, found->port);
    int id = banyan_names_add(&in->ends, (banyan_word){text, (size_t)length});
    void *connections = in->connections;

    if (id < 0 || !banyan_grow(&connections, (size_t)in->connection_count, &in->connection_capacity,
                               sizeof *in->connections))
        return banyan_fail_memory(in->err);
    in->connections = connections;
    if (id < in->connection_count)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: port %d has a line already (line %d)",
                           found->line, found->port, in->connections[id].line);
    in->connections[in->connection_count++] = *found;
    return BANYAN_SUCCESS;
}

static banyan_status read_port(fabric *in, banyan_word line, int number)
{
    banyan_word rest = line, id;
    connection found = {.device = in->current, .line = number};
    int is_whole = take_port(&rest, &found.port);
    banyan_status status;

    skip_remarks(&rest);
    is_whole = is_whole && take_quoted(&rest, &id);
    is_whole = is_whole && take_port(&rest, &found.peer_port);
    if (!is_whole)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: expected [PORT] \"ID\"[PORT]", number);
    if (in->current < 0)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: a port stands before any Switch or Ca",
                           number);
    if (in->connection_count == BANYAN_IMPORT_MAX_LINKS / 2)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d links", number,
                           BANYAN_IMPORT_MAX_LINKS);
    found.peer = find_device(in, id);
    if (found.peer < 0)
        return banyan_fail_memory(in->err);
    status = find_rate(in, comment_of(line), number, &found.gbps);
    return status ? status : keep_end(in, &found);
}

/* vendid=, devid=, sysimgguid=, switchguid=, caguid=, and the lines 'Chassis ...' of -g tell nothing. */
static int is_fact(banyan_word line)
{
    return memchr(line.at, '=', line.length) || banyan_word_begins(line, "Chassis");
}

static banyan_status read_line(fabric *in, banyan_word line, int number)
{
    static const struct {
        const char *kind;
        int is_adapter;
    } kinds[] = {{"Switch", 0}, {"Ca", 1}, {"Hca", 1}, {"Rt", 0}};
    banyan_word rest = line, word;

    if (*line.at == '[')
        return read_port(in, line, number);
    banyan_word_take(&rest, &word);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (banyan_word_is(word, kinds[i].kind))
            return read_device(in, line, kinds[i].is_adapter, number);
    if (is_fact(line))
        return BANYAN_SUCCESS;
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                       "line %d: %s begins neither a Switch, a Ca, nor a port [N]", number,
                       banyan_word_show(word).text);
}

static banyan_status read_lines(fabric *in, banyan_scan *scan)
{
    banyan_status status = BANYAN_SUCCESS;

    while (!status && banyan_scan_next_line(scan)) {
        banyan_word line = banyan_word_trim(scan->line);

        if (line.length && *line.at != '#')
            status = read_line(in, line, scan->number);
    }
    if (!status && !in->device_count)
        status = banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "there is no Switch and no Ca");
    return status;
}

/* The connection that begins where this one ends, or -1. */
static int find_mirror(const fabric *in, const connection *of)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%d %d", of->peer, of->peer_port);

    return banyan_names_find(&in->ends, (banyan_word){text, (size_t)length});
}

static banyan_status check_connections(const fabric *in)
{
    for (int i = 0; i < in->connection_count; i++) {
        const connection *here = &in->connections[i];
        int mirror = find_mirror(in, here);
        const connection *there = mirror < 0 ? NULL : &in->connections[mirror];

        if (!in->devices[here->peer].line)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: %.60s has no entry of its own",
                               here->line, banyan_names_text(&in->ids, here->peer));
        if (there && (there->peer != here->device || there->peer_port != here->port))
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                               "line %d: port %d of %.60s leads elsewhere on line %d", here->line,
                               here->peer_port, banyan_names_text(&in->ids, here->peer), there->line);
        if (there && there->gbps != here->gbps)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                               "line %d: the other end of the cable has another rate on line %d", here->line,
                               there->line);
    }
    return BANYAN_SUCCESS;
}

/* ibnetdiscover tells the rate of every cable, and the files of ibsim tell none. */
static banyan_status check_rates(const fabric *in)
{
    int told = -1, untold = -1;

    for (int i = in->connection_count - 1; i >= 0; i--)
        *(in->connections[i].gbps > 0 ? &told : &untold) = i;
    if (told < 0 || untold < 0)
        return BANYAN_SUCCESS;
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                       "line %d: the cable has no rate, as '4xNDR', but that of line %d has one",
                       in->connections[untold].line, in->connections[told].line);
}

/* 'HOST DEVICE', or one word: the host. Vendors' default texts have more words or none. */
static int find_host(banyan_word description, banyan_word *host)
{
    banyan_word device_name, more;

    return banyan_word_take(&description, host) &&
           (!banyan_word_take(&description, &device_name) || !banyan_word_take(&description, &more));
}

static banyan_status name_hosts(fabric *in)
{
    for (int i = 0; i < in->device_count; i++) {
        device *adapter = &in->devices[i];
        const char *id = banyan_names_text(&in->ids, i);
        banyan_word host = {id, strlen(id)};

        adapter->is_left_out = banyan_word_is(adapter->description, "Mellanox Technologies Aggregation Node");
        if (!adapter->is_adapter || adapter->is_left_out)
            continue;
        if (!find_host(adapter->description, &host))
            host = (banyan_word){id, strlen(id)};
        adapter->host = banyan_names_add(&in->hosts, host);
        if (adapter->host < 0)
            return banyan_fail_memory(in->err);
    }
    return in->hosts.count
               ? BANYAN_SUCCESS
               : banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "the fabric has no channel adapters");
}

/* A switch has its description as name where that is one word and nobody else's. */
static int add_switch(fabric *in, banyan_topology_builder *builder, int i)
{
    banyan_word label = in->devices[i].description, word, more;
    int known = in->labels.count;

    if (banyan_word_take(&label, &word) && !banyan_word_take(&label, &more) &&
        banyan_names_find(&in->hosts, word) < 0 && banyan_names_find(&in->ids, word) < 0 &&
        word.length < 256 && banyan_names_add(&in->labels, word) == known)
        return banyan_topology_add_switch(builder, banyan_names_text(&in->labels, known));
    return banyan_topology_add_switch(builder, banyan_names_text(&in->ids, i));
}

static void build(fabric *in, banyan_topology_builder *builder)
{
    for (int i = 0; i < in->hosts.count; i++) {
        const char *name = banyan_names_text(&in->hosts, i);

        banyan_topology_add_worker(builder, name, banyan_topology_add_host(builder, name));
    }
    for (int i = 0; i < in->device_count; i++)
        in->devices[i].node = in->devices[i].is_adapter ? in->devices[i].host : add_switch(in, builder, i);
    for (int i = 0; i < in->connection_count; i++) {
        const connection *cable = &in->connections[i];
        const device *here = &in->devices[cable->device], *there = &in->devices[cable->peer];
        int mirror = find_mirror(in, cable);
        double gbps = cable->gbps > 0 ? cable->gbps : untold_gbps;

        if (!here->is_left_out && !there->is_left_out && (mirror < 0 || mirror > i) &&
            here->node != there->node)
            banyan_topology_add_cable(builder, here->node, there->node, gbps * 1e9 / 8, latency_s);
    }
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_error problem;
    banyan_scan scan;
    fabric in = {.current = -1, .err = &problem};
    banyan_status status = banyan_scan_check_text(text, length, &problem);

    banyan_scan_init(&scan, text, length);
    banyan_topology_builder_init(&builder, "infiniband");
    if (!status)
        status = read_lines(&in, &scan);
    if (!status)
        status = check_connections(&in);
    if (!status)
        status = check_rates(&in);
    if (!status)
        status = name_hosts(&in);
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    else
        build(&in, &builder);
    banyan_names_fini(&in.ids);
    banyan_names_fini(&in.hosts);
    banyan_names_fini(&in.labels);
    banyan_names_fini(&in.ends);
    banyan_free(in.devices);
    banyan_free(in.connections);
    return banyan_topology_builder_finish(&builder, out, err);
}

/* A line 'Switch N "...' or 'Ca N "...', with nothing but facts and comments before it. */
static int looks_like(const char *text, size_t length)
{
    banyan_scan scan;

    banyan_scan_init(&scan, text, length < 65536 ? length : 65536);
    while (banyan_scan_next_line(&scan)) {
        banyan_word line = banyan_word_trim(scan.line), kind, ports, id;

        if (!line.length || *line.at == '#')
            continue;
        banyan_word_take(&line, &kind);
        if (banyan_word_is(kind, "Switch") || banyan_word_is(kind, "Ca") || banyan_word_is(kind, "Hca"))
            return banyan_word_take(&line, &ports) && take_quoted(&line, &id);
        if (!banyan_word_begins(kind, "vendid=") && !banyan_word_begins(kind, "devid=") &&
            !memmem(kind.at, kind.length, "guid=", 5))
            return 0;
    }
    return 0;
}

const banyan_importer banyan_import_ib = {.name = "ibnetdiscover",
                                          .summary = "an InfiniBand fabric, as ibnetdiscover prints it",
                                          .extension = ".ibnet",
                                          .looks_like = looks_like,
                                          .parse = parse};
