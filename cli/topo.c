/* SPDX-License-Identifier: Apache-2.0 */
/* cli/topo.c: banyan topo show|convert|check|draw SPEC, topo discover. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "core/alloc.h"
#include "core/file.h"
#include "core/near.h"
#include "topology/draw.h"
#include "topology/import.h"

static const cli_option options[] = {
    {"output", 'o', "FILE", "write there instead of to standard output"},
    {"format", 'f', "FORMAT", "draw: text, dot or svg (default: text, or by the ending of -o)"},
    {"from", 0, "FORM", "read SPEC as nccl, matrix, slurm or smi (default: told from the content)"},
    {"active", 0, "RANKS", "check: workers that hold data (default: all)"},
    {NULL, 0, NULL, NULL}};

static banyan_status load(const cli_arguments *arguments, const char *spec, banyan_topology **out,
                          banyan_error *err)
{
    const char *form = cli_get(arguments, "from");
    const banyan_importer *importer;
    banyan_status status;
    size_t length;
    char *text;

    if (!form)
        return banyan_topology_load(spec, out, err);
    importer = banyan_importer_find(form);
    if (!importer)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "--from %.40s is not a form we read; «banyan list» shows them", form);
    status = banyan_file_load(spec, &text, &length, err);
    if (status)
        return status;
    status = importer->parse(text, length, out, err);
    if (status)
        banyan_error_prefix(err, spec);
    banyan_free(text);
    return status;
}

/* The slowest and the fastest link, for the summary line. */
static void find_extremes(const banyan_topology *topology, double *slowest, double *fastest)
{
    *slowest = *fastest = topology->link_count ? topology->links[0].bytes_per_s : 0;
    for (int i = 1; i < topology->link_count; i++) {
        double rate = topology->links[i].bytes_per_s;

        *slowest = rate < *slowest ? rate : *slowest;
        *fastest = rate > *fastest ? rate : *fastest;
    }
}

static banyan_status show(const cli_arguments *arguments, const banyan_topology *topology, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    double slowest, fastest;
    char digest[17], low[32], high[32], *out;
    banyan_status status;

    find_extremes(topology, &slowest, &fastest);
    banyan_topology_digest(topology, digest);
    if (cli_has(arguments, "json")) {
        banyan_text_add(&text, "{\"name\":");
        banyan_text_add_json_string(&text, topology->name);
        banyan_text_add(&text, ",\"workers\":%d,\"switches\":%d,\"links\":%d,\"hosts\":%d,\"digest\":\"%s\",",
                        topology->worker_count, topology->node_count - topology->worker_count,
                        topology->link_count, topology->host_count, digest);
        cli_json_number(&text, "slowest_bytes_per_s", slowest);
        banyan_text_add(&text, ",");
        cli_json_number(&text, "fastest_bytes_per_s", fastest);
        banyan_text_add(&text, "}\n");
    } else {
        banyan_text_add(&text, "%s: %d workers, %d switches, %d links (one way)", topology->name,
                        topology->worker_count, topology->node_count - topology->worker_count,
                        topology->link_count);
        if (topology->host_count)
            banyan_text_add(&text, ", %d hosts", topology->host_count);
        banyan_text_add(&text, "\nlinks from %s to %s; digest %s\n",
                        banyan_show_rate(slowest, low, sizeof low),
                        banyan_show_rate(fastest, high, sizeof high), digest);
    }
    status = banyan_text_take(&text, &out, err);
    if (!status)
        status = cli_write(arguments, out, err);
    banyan_free(out);
    return status;
}

static banyan_status convert(const cli_arguments *arguments, const banyan_topology *topology,
                             banyan_error *err)
{
    char *out;
    banyan_status status = banyan_topology_format(topology, &out, err);

    if (!status)
        status = cli_write(arguments, out, err);
    if (!status)
        cli_say_written(arguments, cli_get(arguments, "output"));
    banyan_free(out);
    return status;
}

static const char *drawing_format(const cli_arguments *arguments)
{
    const char *format = cli_get(arguments, "format"), *path = cli_get(arguments, "output");
    const char *ending = path ? strrchr(path, '.') : NULL;

    if (format)
        return format;
    return ending && (!strcmp(ending, ".svg") || !strcmp(ending, ".dot")) ? ending + 1 : "text";
}

static banyan_status draw(const cli_arguments *arguments, const banyan_topology *topology, banyan_error *err)
{
    const char *format = drawing_format(arguments);
    banyan_status status;
    char *out = NULL;

    if (!strcmp(format, "text"))
        status = banyan_topology_draw_text(topology, &out, err);
    else if (!strcmp(format, "dot"))
        status = banyan_topology_draw_dot(topology, &out, err);
    else if (!strcmp(format, "svg"))
        status = banyan_topology_draw_svg(topology, &out, err);
    else
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--format %.40s is not text, dot or svg", format);
    if (!status)
        status = cli_write(arguments, out, err);
    if (!status)
        cli_say_written(arguments, cli_get(arguments, "output"));
    banyan_free(out);
    return status;
}

static banyan_status check(const cli_arguments *arguments, const banyan_topology *topology, banyan_error *err)
{
    int *active, count;
    banyan_status status =
        banyan_topology_parse_active(topology, cli_get(arguments, "active"), &active, &count, err);

    if (status)
        return status;
    status = banyan_topology_check_connected(topology, active, count, err);
    banyan_free(active);
    if (status)
        return status == BANYAN_INVALID_ARGUMENT ? BANYAN_PLAN_INVALID : status;
    if (cli_has(arguments, "json"))
        printf("{\"ok\":true,\"workers\":%d,\"switches\":%d,\"links\":%d}\n", topology->worker_count,
               topology->node_count - topology->worker_count, topology->link_count);
    else if (!cli_has(arguments, "quiet"))
        printf("%s is well formed and its %d active workers reach one another\n", topology->name, count);
    return BANYAN_SUCCESS;
}

static int run(const cli_arguments *arguments)
{
    static const char *const actions[] = {"show", "convert", "check", "draw", "discover"};
    const char *action = arguments->word_count ? arguments->words[0] : "";
    banyan_topology *topology;
    banyan_error err;
    banyan_status status;
    int which = 0;

    while (which < 5 && strcmp(action, actions[which]) != 0)
        which++;
    if (which == 5) {
        int near = banyan_near_find(action, actions, 5);

        if (near >= 0)
            return cli_usage_error(arguments, "«%s» is not an action (did you mean %s?)", action,
                                   actions[near]);
        return cli_usage_error(arguments, "say what to do: show, convert, check, draw or discover");
    }
    if (which != 3 && cli_has(arguments, "format"))
        return cli_usage_error(arguments, "--format is for draw; %s %s", action,
                               which == 1 || which == 4 ? "writes JSON" : "prints text");
    if (which < 4 && arguments->word_count < 2)
        return cli_usage_error(arguments, "%s needs a network: a file or a string such as hosts:2+3", action);
    status = which == 4 ? banyan_topology_discover(&topology, &err)
                        : load(arguments, arguments->words[1], &topology, &err);
    if (status)
        return cli_fail(arguments, status, &err);
    switch (which) {
    case 0:
        status = show(arguments, topology, &err);
        break;
    case 2:
        status = check(arguments, topology, &err);
        break;
    case 3:
        status = draw(arguments, topology, &err);
        break;
    default:
        status = convert(arguments, topology, &err);
    }
    banyan_topology_destroy(topology);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_topo = {
    .name = "topo",
    .usage = "show SPEC\nconvert SPEC [--from FORM] [-o FILE]\ncheck SPEC [--active RANKS]\n"
             "draw SPEC [--format text|dot|svg] [-o FILE]\ndiscover [-o FILE]",
    .summary = "inspect, convert, check and draw networks; look at this machine",
    .words = "show|convert|check|draw|discover",
    .word_limit = 2,
    .options = options,
    .run = run};
