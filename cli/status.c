/* SPDX-License-Identifier: Apache-2.0 */
/* cli/status.c: banyan status: asks the ranks of running jobs how they are and puts the answers together.
 *
 *     sockets in the user's folder ─> one report each ─> by group: what each rank does, who is missing, who differs
 *
 * A rank of this machine tells of itself; rank 0 also of ranks elsewhere, as their last heartbeats had it. A process
 * that is stopped does not answer, and that is told, too. */
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli.h"
#include "comm/control.h"
#include "comm/status.h"
#include "comm/store.h"
#include "core/alloc.h"
#include "core/clock.h"
#include "core/json.h"
#include "core/settings.h"
#include "core/value.h"

#define PATIENCE_S 0.3 /* ranks come to a call one after the other */

enum { MOST_GROUPS = 256, MOST_RANKS = 4096, MOST_REPORT_BYTES = 16 << 20 };

static const cli_option options[] = {
    {"folder", 0, "DIR", "where to look (default: BANYAN_STATUS_FOLDER, else /tmp/banyan-UID)"},
    {"timeout", 'T', "TIME", "how long to wait for each rank's answer (default: 1s)"},
    {NULL, 0, NULL, NULL}};

typedef enum { UNKNOWN, TOLD, MUTE } knowledge;

typedef struct {
    knowledge known; /* MUTE: its socket is there, but it does not answer */
    int is_own_word; /* not only rank 0's */
    int process;
    char host[64];
    banyan_rank_state state;
    double age_s;
} rank_view;

typedef struct {
    char id[BANYAN_STATUS_GROUP_TEXT];
    int size;
    rank_view *ranks;
    char *lost, *left, *silent; /* by rank: what any rank says */
    char failure[512];
} group_view;

typedef struct {
    const cli_arguments *arguments;
    char folder[BANYAN_STATUS_FOLDER_TEXT];
    double timeout_s;
    group_view groups[MOST_GROUPS];
    int count;
} overview;

static group_view *find_group(overview *o, const char *id, int size)
{
    group_view *g;
    size_t ranks = (size_t)size;

    for (int i = 0; i < o->count; i++)
        if (!strcmp(o->groups[i].id, id))
            return o->groups[i].size >= size ? &o->groups[i] : NULL;
    if (o->count == MOST_GROUPS || size < 1 || size > MOST_RANKS)
        return NULL;
    g = &o->groups[o->count];
    *g = (group_view){.size = size};
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

static void forget(overview *o)
{
    for (int i = 0; i < o->count; i++) {
        banyan_free(o->groups[i].ranks);
        banyan_free(o->groups[i].lost);
        banyan_free(o->groups[i].left);
        banyan_free(o->groups[i].silent);
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
static void take_rank(group_view *g, const banyan_json *item, int is_own_word)
{
    int64_t rank = integer_of(item, "rank", -1);
    rank_view *view = rank >= 0 && rank < g->size ? &g->ranks[rank] : NULL;

    if (!view || (view->is_own_word && !is_own_word))
        return;
    view->known = view->known == MUTE ? MUTE : TOLD;
    view->is_own_word = is_own_word;
    view->process = (int)integer_of(item, "process", 0);
    view->age_s = number_of(item, "age_s");
    snprintf(view->host, sizeof view->host, "%s", string_of(item, "host"));
    view->state.begun = (uint64_t)integer_of(item, "begun", 0);
    view->state.done = (uint64_t)integer_of(item, "done", 0);
    view->state.since_s = number_of(item, "since_s");
    snprintf(view->state.call, sizeof view->state.call, "%s", string_of(item, "call"));
}

static void take_flags(const banyan_json *array, char *flags, int size)
{
    int64_t rank;

    for (size_t i = 0; i < banyan_json_count(array); i++)
        if (banyan_json_get_integer(banyan_json_item(array, i), &rank) && rank >= 0 && rank < size)
            flags[rank] = 1;
}

static void take_report(overview *o, const char *text, size_t length)
{
    banyan_json *report = NULL;
    const banyan_json *peers;
    group_view *g = NULL;

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
        if (out->length > MOST_REPORT_BYTES)
            return 0;
    }
}

/* «GROUP-RANK-PROCESS»: what can be said of one that does not answer, once its group is known. */
static void note_mute(overview *o, const char *name)
{
    char id[BANYAN_STATUS_GROUP_TEXT];
    int rank, process;

    if (sscanf(name, "%16[0-9a-f]-%d-%d", id, &rank, &process) != 3)
        return;
    for (int i = 0; i < o->count; i++)
        if (!strcmp(o->groups[i].id, id) && rank >= 0 && rank < o->groups[i].size) {
            rank_view *view = &o->groups[i].ranks[rank];

            view->known = MUTE;
            view->process = process;
        }
}

static void ask(overview *o, const char *name, int only_mute)
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

static int is_asked(const overview *o, const char *name)
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
static void ask_all(overview *o)
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

static uint64_t furthest(const group_view *g)
{
    uint64_t most = 0;

    for (int i = 0; i < g->size; i++)
        if (g->ranks[i].known != UNKNOWN && g->ranks[i].state.begun > most)
            most = g->ranks[i].state.begun;
    return most;
}

/* Whether somebody is in the last call, and who has not come to it yet. */
static int find_missing(const group_view *g, char *missing)
{
    uint64_t last = furthest(g);
    int waits = 0, count = 0;

    for (int i = 0; i < g->size; i++) {
        const rank_view *view = &g->ranks[i];

        waits |= view->known != UNKNOWN && view->state.begun == last && view->state.done < last &&
                 view->state.since_s > PATIENCE_S;
        missing[i] = view->known != UNKNOWN && !g->left[i] && view->state.begun < last;
        count += missing[i];
    }
    return waits ? count : 0;
}

/* Ranks in the last call that make another one than the first of them; returns how many. */
static int find_different(const group_view *g, char *different, int *first)
{
    uint64_t last = furthest(g);
    int count = 0;

    *first = -1;
    for (int i = 0; i < g->size; i++) {
        const rank_view *view = &g->ranks[i];

        different[i] = 0;
        if (!last || view->known == UNKNOWN || view->state.begun != last)
            continue;
        if (*first < 0)
            *first = i;
        different[i] = strcmp(view->state.call, g->ranks[*first].state.call) != 0;
        count += different[i];
    }
    return count;
}

static const char *word_for(const group_view *g, int rank, char *buffer, size_t size)
{
    const rank_view *view = &g->ranks[rank];

    if (g->lost[rank])
        snprintf(buffer, size, "DEAD");
    else if (g->left[rank])
        snprintf(buffer, size, "left");
    else if (view->known == MUTE || g->silent[rank])
        snprintf(buffer, size, "SILENT");
    else if (view->known == UNKNOWN)
        snprintf(buffer, size, "unknown");
    else if (view->state.done < view->state.begun)
        snprintf(buffer, size, "in it for %.1f s", view->state.since_s);
    else if (view->state.begun)
        snprintf(buffer, size, "done %.1f s ago", view->state.since_s);
    else
        snprintf(buffer, size, "no call yet");
    return buffer;
}

static int has_any(const char *flags, int size)
{
    return memchr(flags, 1, (size_t)size) != NULL;
}

static void print_group(const group_view *g, char *flags)
{
    char ranks[300], word[40];
    int first, width = 20;

    for (int i = 0; i < g->size; i++)
        width = (int)strlen(g->ranks[i].state.call) > width ? (int)strlen(g->ranks[i].state.call) : width;
    printf("group %s: %d rank%s\n  %5s  %-16s %8s  %6s  %-*s  %s\n", g->id, g->size, g->size == 1 ? "" : "s",
           "rank", "host", "process", "calls", width, "last call", "state");
    for (int i = 0; i < g->size; i++) {
        const rank_view *view = &g->ranks[i];

        printf("  %5d  %-16.16s %8d  %6llu  %-*s  %s\n", i, view->host, view->process,
               (unsigned long long)view->state.begun, width, view->state.call,
               word_for(g, i, word, sizeof word));
    }
    if (find_different(g, flags, &first)) {
        printf("  MISMATCH in call %llu: rank %d calls %s\n", (unsigned long long)furthest(g) - 1, first,
               g->ranks[first].state.call);
        for (int i = 0; i < g->size; i++)
            if (flags[i])
                printf("    rank %d calls %s\n", i, g->ranks[i].state.call);
    }
    if (find_missing(g, flags))
        printf("  INCOMPLETE: call %llu waits for rank %s\n", (unsigned long long)furthest(g) - 1,
               banyan_ranks_format(flags, g->size, ranks, sizeof ranks));
    if (has_any(g->lost, g->size))
        printf("  DEAD: rank %s\n", banyan_ranks_format(g->lost, g->size, ranks, sizeof ranks));
    if (*g->failure)
        printf("  FAILED: %s\n", g->failure);
}

static void json_ranks(banyan_text *text, const char *name, const char *flags, int size)
{
    int count = 0;

    banyan_text_add(text, ",\"%s\":[", name);
    for (int i = 0; i < size; i++)
        if (flags[i])
            banyan_text_add(text, "%s%d", count++ ? "," : "", i);
    banyan_text_add(text, "]");
}

static void json_group(banyan_text *text, const group_view *g, char *flags)
{
    static const char *const knowledges[] = {"unknown", "told", "mute"};
    int first;

    banyan_text_add(text, "\n{\"group\":\"%s\",\"size\":%d,\"ranks\":[", g->id, g->size);
    for (int i = 0; i < g->size; i++) {
        const rank_view *view = &g->ranks[i];

        banyan_text_add(text, "%s\n {\"rank\":%d,\"knowledge\":\"%s\",\"host\":", i ? "," : "", i,
                        knowledges[view->known]);
        banyan_text_add_json_string(text, view->host);
        banyan_text_add(text, ",\"process\":%d,\"begun\":%llu,\"done\":%llu,\"call\":", view->process,
                        (unsigned long long)view->state.begun, (unsigned long long)view->state.done);
        banyan_text_add_json_string(text, view->state.call);
        banyan_text_add(text, ",\"since_s\":%.3f,\"age_s\":%.3f}", view->state.since_s, view->age_s);
    }
    banyan_text_add(text, "]");
    if (!find_missing(g, flags))
        memset(flags, 0, (size_t)g->size);
    json_ranks(text, "missing", flags, g->size);
    find_different(g, flags, &first);
    json_ranks(text, "mismatched", flags, g->size);
    json_ranks(text, "dead", g->lost, g->size);
    json_ranks(text, "left", g->left, g->size);
    for (int i = 0; i < g->size; i++)
        flags[i] = g->silent[i] || g->ranks[i].known == MUTE;
    json_ranks(text, "silent", flags, g->size);
    banyan_text_add(text, ",\"failure\":");
    banyan_text_add_json_string(text, g->failure);
    banyan_text_add(text, "}");
}

static int is_well(const group_view *g, char *flags)
{
    int first, is_mute = 0;

    for (int i = 0; i < g->size; i++)
        is_mute |= g->ranks[i].known == MUTE;
    return !*g->failure && !is_mute && !has_any(g->lost, g->size) && !has_any(g->silent, g->size) &&
           !find_different(g, flags, &first);
}

static banyan_status show(const overview *o, int *code, banyan_error *err)
{
    char *flags = banyan_alloc(MOST_RANKS, 1), *json = NULL;
    banyan_text text = BANYAN_TEXT_EMPTY;
    int is_json = cli_has(o->arguments, "json");
    banyan_status status = BANYAN_SUCCESS;

    if (!flags)
        return banyan_fail_memory(err);
    *code = CLI_OK;
    banyan_text_add(&text, "{\"groups\":[");
    for (int i = 0; i < o->count; i++) {
        if (is_json && i)
            banyan_text_add(&text, ",");
        if (is_json)
            json_group(&text, &o->groups[i], flags);
        else
            print_group(&o->groups[i], flags);
        *code = is_well(&o->groups[i], flags) ? *code : CLI_FAILED;
    }
    banyan_text_add(&text, "]}");
    if (is_json)
        status = banyan_text_take(&text, &json, err);
    if (json)
        printf("%s\n", json);
    else if (!o->count && !cli_has(o->arguments, "quiet"))
        printf("no job of yours is running on this machine (%s)\n", o->folder);
    banyan_text_fini(&text);
    banyan_free(json);
    banyan_free(flags);
    return status;
}

static banyan_status read_options(overview *o, banyan_error *err)
{
    const char *folder = cli_get(o->arguments, "folder"), *timeout = cli_get(o->arguments, "timeout");
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    if (!status) {
        folder = folder ? folder : banyan_settings_string(settings, BANYAN_SETTING_STATUS_FOLDER);
        banyan_status_folder(folder, o->folder);
        if (!*o->folder && strcmp(folder, "off") != 0)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the folder %.80s... has more than %d letters",
                                 folder, BANYAN_STATUS_FOLDER_TEXT - 1);
    }
    banyan_settings_destroy(settings);
    o->timeout_s = 1;
    if (!status && timeout) {
        status = banyan_value_seconds(timeout, 1, &o->timeout_s, err);
        if (status)
            banyan_error_prefix(err, "--timeout");
    }
    return status;
}

static int run(const cli_arguments *arguments)
{
    overview *o = banyan_alloc(1, sizeof *o);
    banyan_error err = {""};
    banyan_status status = o ? BANYAN_SUCCESS : banyan_fail_memory(&err);
    int code = CLI_OK;

    if (!status) {
        o->arguments = arguments;
        status = read_options(o, &err);
    }
    if (!status && *o->folder)
        ask_all(o);
    if (!status)
        status = show(o, &code, &err);
    if (o)
        forget(o);
    return status ? cli_fail(arguments, status, &err) : code;
}

const cli_verb cli_verb_status = {.name = "status",
                                  .usage = "[--folder DIR] [--timeout TIME]",
                                  .summary = "what the ranks of running jobs are doing, and who is missing",
                                  .options = options,
                                  .run = run};
