/* SPDX-License-Identifier: Apache-2.0 */
/* cli/topo.c: banyan topo show|convert|check|draw SPEC, topo discover. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "core/near.h"
#include "core/settings.h"

static const cli_option options[] = {
    {"output", 'o', "FILE", "write there instead of to standard output"},
    {"format", 'f', "FORMAT", "draw: text, dot or svg (default: text, or by the ending of -o)"},
    {"from", 0, "FORM",
     "read SPEC as one of the forms of 'banyan list imports' (default: found from the content)"},
    {"active", 0, "RANKS", "check: workers that hold data (default: all)"},
    {NULL, 0, NULL, NULL}};

static banyan_status load(const cli_arguments *arguments, const char *spec, banyan_topology **out,
                          banyan_error *err)
{
    const char *form = cli_get(arguments, "from");

    return form ? banyan_topology_import(spec, form, out, err) : banyan_topology_load(spec, out, err);
}

static void add_json(banyan_text *text, const banyan_topology_info *info)
{
    banyan_text_add(text, "{\"name\":");
    banyan_text_add_json_string(text, info->name);
    banyan_text_add(text, ",\"workers\":%d,\"switches\":%d,\"links\":%d,\"hosts\":%d,\"digest\":\"%s\",",
                    info->worker_count, info->node_count - info->worker_count, info->link_count,
                    info->host_count, info->digest);
    cli_json_number(text, "slowest_bytes_per_s", info->slowest_bytes_per_s);
    banyan_text_add(text, ",");
    cli_json_number(text, "fastest_bytes_per_s", info->fastest_bytes_per_s);
    banyan_text_add(text, "}\n");
}

static void add_text(banyan_text *text, const banyan_topology_info *info)
{
    char low[32], high[32];

    banyan_text_add(text, "%s: %d workers, %d switches, %d links (one way)", info->name, info->worker_count,
                    info->node_count - info->worker_count, info->link_count);
    if (info->host_count)
        banyan_text_add(text, ", %d hosts", info->host_count);
    banyan_text_add(text, "\nlinks from %s to %s; digest %s\n",
                    banyan_show_rate(info->slowest_bytes_per_s, low, sizeof low),
                    banyan_show_rate(info->fastest_bytes_per_s, high, sizeof high), info->digest);
}

static banyan_status show(const cli_arguments *arguments, const banyan_topology *topology, banyan_error *err)
{
    banyan_topology_info info = {.size = sizeof info};
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status = banyan_topology_get_info(topology, &info, err);
    char *out;

    if (status)
        return status;
    if (cli_has(arguments, "json"))
        add_json(&text, &info);
    else
        add_text(&text, &info);
    status = banyan_text_take(&text, &out, err);
    if (status)
        return status;
    status = cli_write(arguments, out, err);
    banyan_free(out);
    return status;
}

static banyan_status convert(const cli_arguments *arguments, const banyan_topology *topology,
                             banyan_error *err)
{
    char *out;
    banyan_status status = banyan_topology_export(topology, "json", &out, err);

    if (!status)
        status = cli_write(arguments, out, err);
    if (!status)
        cli_say_written(arguments, cli_get(arguments, "output"));
    banyan_free(out);
    return status;
}

/* By --format, or else by the ending of the file; other endings are refused, so that no picture.png holds
 * text. */
static banyan_status find_drawing_format(const cli_arguments *arguments, const char **out, banyan_error *err)
{
    const char *path = cli_get(arguments, "output"), *name = path ? strrchr(path, '/') : NULL;
    const char *ending = path ? strrchr(name ? name : path, '.') : NULL;

    *out = cli_get(arguments, "format");
    if (*out)
        return BANYAN_SUCCESS;
    *out = "text";
    if (!ending || !strcmp(ending, ".txt"))
        return BANYAN_SUCCESS;
    *out = ending + 1;
    if (!strcmp(ending, ".svg") || !strcmp(ending, ".dot"))
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "%s: drawings are .svg, .dot or .txt; --format names the form of another file", path);
}

/* Lines and crosses of a drawing in letters that every terminal has. */
static void make_ascii(char *text)
{
    static const struct {
        const char *from, *to;
    } letters[] = {{"\u2500", "-"}, {"\u2502", "|"},   {"\u251c", "|"},   {"\u2514", "`"},
                   {"\u00d7", "x"}, {"\u2573", "X"},   {"\u254c", "~"},   {"\u254e", "!"},
                   {"\u250a", ":"}, {"\u2026", "..."}, {"\u22ef", "..."}, {"\u22ee", ":"}};
    char *to = text;

    while (*text) {
        size_t i = 0, count = sizeof letters / sizeof *letters;

        while (i < count && strncmp(text, letters[i].from, strlen(letters[i].from)) != 0)
            i++;
        if (i == count) {
            *to++ = *text++;
            continue;
        }
        text += strlen(letters[i].from);
        for (const char *letter = letters[i].to; *letter; letter++) /* never more bytes than were there */
            *to++ = *letter;
    }
    *to = 0;
}

/* The first of these that is set says which letters the terminal has; nothing set: UTF-8. */
static int wants_ascii(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (int i = 0; i < 3; i++) {
        const char *value = banyan_environment(names[i]);

        if (value && *value)
            return !strcmp(value, "C") || !strcmp(value, "POSIX");
    }
    return 0;
}

static banyan_status draw(const cli_arguments *arguments, const banyan_topology *topology, banyan_error *err)
{
    const char *format;
    char *out = NULL;
    banyan_status status = find_drawing_format(arguments, &format, err);

    if (!status)
        status = banyan_topology_export(topology, format, &out, err);
    if (!status && !strcmp(format, "text") && wants_ascii())
        make_ascii(out);
    if (!status)
        status = cli_write(arguments, out, err);
    if (!status)
        cli_say_written(arguments, cli_get(arguments, "output"));
    banyan_free(out);
    return status;
}

static banyan_status check(const cli_arguments *arguments, const banyan_topology *topology, banyan_error *err)
{
    banyan_topology_info info = {.size = sizeof info};
    int count;
    banyan_status status = banyan_topology_get_info(topology, &info, err);

    if (!status)
        status = banyan_topology_check(topology, cli_get(arguments, "active"), &count, err);
    if (status)
        return status;
    if (cli_has(arguments, "json"))
        printf("{\"ok\":true,\"workers\":%d,\"switches\":%d,\"links\":%d}\n", info.worker_count,
               info.node_count - info.worker_count, info.link_count);
    else if (!cli_has(arguments, "quiet"))
        printf("%s is well formed and its %d active workers reach one another\n", info.name, count);
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
            return cli_usage_error(arguments, "'%s' is not an action (did you mean %s?)", action,
                                   actions[near]);
        return cli_usage_error(arguments, "say what to do: show, convert, check, draw or discover");
    }
    if (which != 3 && cli_has(arguments, "format"))
        return cli_usage_error(arguments, "--format is for draw; %s %s", action,
                               which == 1 || which == 4 ? "writes JSON" : "prints text");
    if (which == 3 && cli_has(arguments, "json"))
        return cli_usage_error(arguments, "draw prints a drawing; show and convert print JSON");
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
    .summary = "inspect, convert, check and draw networks; discover this machine",
    .words = "show|convert|check|draw|discover",
    .word_limit = 2,
    .options = options,
    .run = run};
