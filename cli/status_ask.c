/* SPDX-License-Identifier: Apache-2.0 */
/* cli/status_ask.c: sockets in the user's folder ─> one report each ─> by group: what each rank does. */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/json.h"
#include "status_view.h"

enum { MAX_REPORT_BYTES = 16 << 20 };

static status_group *find_group(status_overview *o, const char *id, int size)
{
    status_group *g;
    size_t ranks = (size_t)size;

    for (int i = 0; i < o->count; i++)
        if (!strcmp(o->groups[i].id, id))
            return o->groups[i].size >= size ? &o->groups[i] : NULL;
    if (o->count == STATUS_MAX_GROUPS || size < 1 || size > STATUS_MAX_RANKS)
        return NULL;
    g = &o->groups[o->count];
    *g = (status_group){.size = size};
    snprintf(g->id, sizeof g->id, "%s", id);
    g->ranks = banyan_alloc(ranks, sizeof *g->ranks);
    g->lost = banyan_alloc(ranks, 1);
    g->left = banyan_alloc(ranks, 1);
    g->silent = banyan_alloc(ranks, 1);
    if (g->ranks && g->lost && g->left && g->silent) {
        o->count++;
        return g;
    }
    banyan_free(g->ranks);
    banyan_free(g->lost);
    banyan_free(g->left);
    banyan_free(g->silent);
    return NULL;
}

void status_forget(status_overview *o)
{
    for (int i = 0; i < o->count; i++) {
        banyan_free(o->groups[i].ranks);
        banyan_free(o->groups[i].lost);
        banyan_free(o->groups[i].left);
        banyan_free(o->groups[i].silent);
        banyan_free(o->groups[i].topology);
    }
    banyan_free(o);
}

static int64_t integer_of(const banyan_json *object, const char *key, int64_t fallback)
{
    int64_t value;

    return banyan_json_get_integer(banyan_json_field(object, key), &value) ? value : fallback;
}

static double number_of(const banyan_json *object, const char *key)
{
    double value;

    return banyan_json_get_number(banyan_json_field(object, key), &value) ? value : 0;
}

static const char *string_of(const banyan_json *object, const char *key)
{
    const char *value;

    return banyan_json_get_string(banyan_json_field(object, key), &value) ? value : "";
}

/* A rank's own word counts more than what rank 0 has heard of it. */
static void take_rank(status_group *g, const banyan_json *item, int is_own_word)
{
    int64_t rank = integer_of(item, "rank", -1);
    status_rank *view = rank >= 0 && rank < g->size ? &g->ranks[rank] : NULL;

    if (!view || (view->is_own_word && !is_own_word))
        return;
    view->known = view->known == STATUS_MUTE ? STATUS_MUTE : STATUS_TOLD;
    view->is_own_word = is_own_word;
    view->process = (int)integer_of(item, "process", 0);
    view->age_s = number_of(item, "age_s");
    snprintf(view->host, sizeof view->host, "%s", string_of(item, "host"));
    view->state.begun = (uint64_t)integer_of(item, "begun", 0);
    view->state.done = (uint64_t)integer_of(item, "done", 0);
    view->state.since_s = number_of(item, "since_s");
    snprintf(view->state.call, sizeof view->state.call, "%s", string_of(item, "call"));
    view->state.control_connections = (int)integer_of(item, "control_connections", 0);
    view->state.control_bytes_in = (uint64_t)integer_of(item, "control_bytes_in", 0);
    view->state.control_bytes_out = (uint64_t)integer_of(item, "control_bytes_out", 0);
}

static void take_flags(const banyan_json *array, char *flags, int size)
{
    int64_t rank;

    for (size_t i = 0; i < banyan_json_count(array); i++)
        if (banyan_json_get_integer(banyan_json_item(array, i), &rank) && rank >= 0 && rank < size)
            flags[rank] = 1;
}

/* All ranks say the same, but for a moment. */
static void take_network(status_group *g, const banyan_json *network)
{
    if (!network)
        return;
    snprintf(g->origin, sizeof g->origin, "%s", string_of(network, "origin"));
    g->hosts = (int)integer_of(network, "hosts", 0);
    g->racks = (int)integer_of(network, "racks", 0);
    g->measurements = (int)integer_of(network, "measurements", 0);
    g->explained = number_of(network, "explained");
    banyan_free(g->topology);
    g->topology = banyan_strdup(string_of(network, "topology"));
}

static void take_report(status_overview *o, const char *text, size_t length)
{
    banyan_json *report = NULL;
    const banyan_json *peers;
    status_group *g = NULL;

    if (banyan_json_parse(text, length, &report, NULL))
        return;
    if (!strcmp(string_of(report, "format"), "banyan-rank-status"))
        g = find_group(o, string_of(report, "group"), (int)integer_of(report, "size", 0));
    if (g) {
        take_rank(g, banyan_json_field(report, "self"), 1);
        peers = banyan_json_field(report, "peers");
        for (size_t i = 0; i < banyan_json_count(peers); i++)
            take_rank(g, banyan_json_item(peers, i), 0);
        take_flags(banyan_json_field(report, "lost"), g->lost, g->size);
        take_flags(banyan_json_field(report, "left"), g->left, g->size);
        take_flags(banyan_json_field(report, "silent"), g->silent, g->size);
        take_network(g, banyan_json_field(report, "network"));
        if (*string_of(report, "loss"))
            snprintf(g->loss, sizeof g->loss, "%s", string_of(report, "loss"));
        if (*string_of(report, "failure"))
            snprintf(g->failure, sizeof g->failure, "%s", string_of(report, "failure"));
    }
    banyan_json_destroy(report);
}

/* All that comes until the end of the stream; 0: it did not come in time. */
static int read_all(int fd, double timeout_s, banyan_text *out)
{
    double deadline_s = banyan_clock_s() + timeout_s;
    struct pollfd look = {.fd = fd, .events = POLLIN};
    char bytes[65536];

    for (;;) {
        ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        int left_ms = (int)((deadline_s - banyan_clock_s()) * 1e3) + 1;

        if (got > 0)
            banyan_text_add_bytes(out, bytes, (size_t)got);
        else if (got == 0)
            return out->length > 0 && !out->failed;
        else if (left_ms <= 0 || poll(&look, 1, left_ms) <= 0)
            return 0;
        if (out->length > MAX_REPORT_BYTES)
            return 0;
    }
}

/* 'GROUP-RANK-PROCESS': what can be said of one that does not answer, once its group is known. */
static void note_mute(status_overview *o, const char *name)
{
    char id[BANYAN_STATUS_GROUP_TEXT];
    int rank, process;

    if (sscanf(name, "%16[0-9a-f]-%d-%d", id, &rank, &process) != 3)
        return;
    for (int i = 0; i < o->count; i++)
        if (!strcmp(o->groups[i].id, id) && rank >= 0 && rank < o->groups[i].size) {
            status_rank *view = &o->groups[i].ranks[rank];

            view->known = STATUS_MUTE;
            view->process = process;
        }
}

static void ask(status_overview *o, const char *name, int only_mute)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    char path[400];
    int is_stale, fd;

    snprintf(path, sizeof path, "%s/%s", o->folder, name);
    fd = banyan_status_connect(path, &is_stale);
    if (fd < 0) {
        if (!is_stale && only_mute)
            note_mute(o, name);
        return;
    }
    if (read_all(fd, o->timeout_s, &text) && !only_mute)
        take_report(o, text.bytes, text.length);
    else if (only_mute && !text.length)
        note_mute(o, name);
    banyan_text_fini(&text);
    close(fd);
}

static int is_asked(const status_overview *o, const char *name)
{
    char id[BANYAN_STATUS_GROUP_TEXT];
    int rank, process;

    if (sscanf(name, "%16[0-9a-f]-%d-%d", id, &rank, &process) != 3)
        return 1;
    for (int i = 0; i < o->count; i++)
        if (!strcmp(o->groups[i].id, id) && rank >= 0 && rank < o->groups[i].size &&
            o->groups[i].ranks[rank].is_own_word)
            return 1;
    return 0;
}

/* First those who answer, who tell which groups there are; then those who did not. */
void status_ask_all(status_overview *o)
{
    banyan_status_sweep(o->folder);
    for (int only_mute = 0; only_mute < 2; only_mute++) {
        DIR *names = opendir(o->folder);
        struct dirent *entry;

        while (names && (entry = readdir(names)))
            if (entry->d_name[0] != '.' && !(only_mute && is_asked(o, entry->d_name)))
                ask(o, entry->d_name, only_mute);
        if (names)
            closedir(names);
    }
}
