/* SPDX-License-Identifier: Apache-2.0 */
/* cli/status_show.c: a group for people and as JSON: who is where, who is missing, who differs. */
#include <stdio.h>
#include <string.h>

#include "bootstrap/store.h"
#include "core/show.h"
#include "status_view.h"

#define PATIENCE_S 0.3 /* ranks come to a call one after the other */

static uint64_t furthest(const status_group *g)
{
    uint64_t most = 0;

    for (int i = 0; i < g->size; i++)
        if (g->ranks[i].known != STATUS_UNKNOWN && g->ranks[i].state.begun > most)
            most = g->ranks[i].state.begun;
    return most;
}

/* Whether somebody is in the last call, and who has not come to it yet. */
static int find_missing(const status_group *g, char *missing)
{
    uint64_t last = furthest(g);
    int waits = 0, count = 0;

    for (int i = 0; i < g->size; i++) {
        const status_rank *view = &g->ranks[i];

        waits |= view->known != STATUS_UNKNOWN && view->state.begun == last && view->state.done < last &&
                 view->state.since_s > PATIENCE_S;
        missing[i] = view->known != STATUS_UNKNOWN && !g->left[i] && view->state.begun < last;
        count += missing[i];
    }
    return waits ? count : 0;
}

/* Ranks in the last call that make another one than the first of them; returns how many. */
static int find_different(const status_group *g, char *different, int *first)
{
    uint64_t last = furthest(g);
    int count = 0;

    *first = -1;
    for (int i = 0; i < g->size; i++) {
        const status_rank *view = &g->ranks[i];

        different[i] = 0;
        if (!last || view->known == STATUS_UNKNOWN || view->state.begun != last)
            continue;
        if (*first < 0)
            *first = i;
        different[i] = strcmp(view->state.call, g->ranks[*first].state.call) != 0;
        count += different[i];
    }
    return count;
}

static const char *word_for(const status_group *g, int rank, char *buffer, size_t size)
{
    const status_rank *view = &g->ranks[rank];

    if (g->lost[rank])
        snprintf(buffer, size, "DEAD");
    else if (g->left[rank])
        snprintf(buffer, size, "left");
    else if (view->known == STATUS_MUTE || g->silent[rank])
        snprintf(buffer, size, "SILENT");
    else if (view->known == STATUS_UNKNOWN)
        snprintf(buffer, size, "unknown");
    else if (view->state.done < view->state.begun)
        snprintf(buffer, size, "in it for %.1f s", view->state.since_s);
    else if (view->state.begun)
        snprintf(buffer, size, "done %.1f s ago", view->state.since_s);
    else
        snprintf(buffer, size, "no call yet");
    return buffer;
}

/* Control connections, and what they have carried: 17, 3.1 kB in, 40 kB out. */
static const char *describe_control(const banyan_rank_state *state, char *buffer, size_t size)
{
    char in[24], out[24];

    snprintf(buffer, size, "%d, %s in, %s out", state->control_connections,
             banyan_show_bytes((double)state->control_bytes_in, in, sizeof in),
             banyan_show_bytes((double)state->control_bytes_out, out, sizeof out));
    return buffer;
}

static int has_any(const char *flags, int size)
{
    return memchr(flags, 1, (size_t)size) != NULL;
}

static void print_network(const status_group *g)
{
    if (!*g->origin)
        return;
    printf("  network %s: %d host%s", g->origin, g->hosts, g->hosts == 1 ? "" : "s");
    if (g->racks)
        printf(", %d rack%s that explain %.0f %% of what flows lacked, %d measurements", g->racks,
               g->racks == 1 ? "" : "s", 100 * g->explained, g->measurements);
    printf("\n");
}

void status_print_group(const status_group *g, char *flags)
{
    char ranks[300], word[40], control[80];
    int first, width = 20;

    for (int i = 0; i < g->size; i++)
        width = (int)strlen(g->ranks[i].state.call) > width ? (int)strlen(g->ranks[i].state.call) : width;
    printf("group %s: %d rank%s\n  %5s  %-16s %8s  %6s  %-*s  %-32s  %s\n", g->id, g->size,
           g->size == 1 ? "" : "s", "rank", "host", "process", "calls", width, "last call",
           "control connections", "state");
    for (int i = 0; i < g->size; i++) {
        const status_rank *view = &g->ranks[i];

        printf("  %5d  %-16.16s %8d  %6llu  %-*s  %-32s  %s\n", i, view->host, view->process,
               (unsigned long long)view->state.begun, width, view->state.call,
               describe_control(&view->state, control, sizeof control), word_for(g, i, word, sizeof word));
    }
    print_network(g);
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
    if (*g->loss)
        printf("  LOST: %s\n", g->loss);
    if (*g->failure)
        printf("  FAILED: %s\n", g->failure);
}

void status_json_group(banyan_text *text, const status_group *g, char *flags)
{
    static const char *const knowledges[] = {"unknown", "told", "mute"};
    int first;

    banyan_text_add(text, "\n{\"group\":\"%s\",\"size\":%d,\"ranks\":[", g->id, g->size);
    for (int i = 0; i < g->size; i++) {
        const status_rank *view = &g->ranks[i];

        banyan_text_add(text, "%s\n {\"rank\":%d,\"status_knowledge\":\"%s\",\"host\":", i ? "," : "", i,
                        knowledges[view->known]);
        banyan_text_add_json_string(text, view->host);
        banyan_text_add(text, ",\"process\":%d,\"begun\":%llu,\"done\":%llu,\"call\":", view->process,
                        (unsigned long long)view->state.begun, (unsigned long long)view->state.done);
        banyan_text_add_json_string(text, view->state.call);
        banyan_text_add(text,
                        ",\"control_connections\":%d,\"control_bytes_in\":%llu,\"control_bytes_out\":%llu",
                        view->state.control_connections, (unsigned long long)view->state.control_bytes_in,
                        (unsigned long long)view->state.control_bytes_out);
        banyan_text_add(text, ",\"since_s\":%.3f,\"age_s\":%.3f}", view->state.since_s, view->age_s);
    }
    banyan_text_add(text, "]");
    if (!find_missing(g, flags))
        memset(flags, 0, (size_t)g->size);
    banyan_text_add_json_set(text, "missing", flags, g->size);
    find_different(g, flags, &first);
    banyan_text_add_json_set(text, "mismatched", flags, g->size);
    banyan_text_add_json_set(text, "dead", g->lost, g->size);
    banyan_text_add_json_set(text, "left", g->left, g->size);
    for (int i = 0; i < g->size; i++)
        flags[i] = g->silent[i] || g->ranks[i].known == STATUS_MUTE;
    banyan_text_add_json_set(text, "silent", flags, g->size);
    banyan_text_add(text, ",\"failure\":");
    banyan_text_add_json_string(text, g->failure);
    banyan_text_add(text, ",\"loss\":");
    banyan_text_add_json_string(text, g->loss);
    if (*g->origin) {
        banyan_text_add(text,
                        ",\"network\":{\"origin\":\"%s\",\"hosts\":%d,\"racks\":%d,\"explained\":%.3f,"
                        "\"measurements\":%d,\"topology\":",
                        g->origin, g->hosts, g->racks, g->explained, g->measurements);
        banyan_text_add_json_string(text, g->topology ? g->topology : "");
        banyan_text_add(text, "}");
    }
    banyan_text_add(text, "}");
}

int status_is_well(const status_group *g, char *flags)
{
    int first, is_mute = 0;

    for (int i = 0; i < g->size; i++)
        is_mute |= g->ranks[i].known == STATUS_MUTE;
    return !*g->failure && !is_mute && !has_any(g->lost, g->size) && !has_any(g->silent, g->size) &&
           !find_different(g, flags, &first);
}
