/* SPDX-License-Identifier: Apache-2.0 */
/* group/relay.c: workers without data, and switches that can add or multiply, served by threads of this
 * process.
 *
 * A relay follows the group's log: for each call whose plan leads through its node it runs that node's
 * program on memory of its own. It starts with the first such plan and ends with the group. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "group/group.h"

struct banyan_relay {
    banyan_relay *next;
    banyan_group *group;
    banyan_endpoint *endpoint;
    uint64_t call; /* the next one to look at */
    char *memory;
    size_t bytes;
    pthread_t thread;
};

/* The next call's entry, or NULL when the group closes. */
static banyan_call_entry *wait_for_entry(banyan_relay *relay)
{
    banyan_group *group = relay->group;
    banyan_call_entry *entry;

    pthread_mutex_lock(&group->lock);
    while (!(entry = banyan_group_find(group, relay->call)) && !group->is_closing)
        pthread_cond_wait(&group->changed, &group->lock);
    if (group->is_closing)
        entry = NULL;
    pthread_mutex_unlock(&group->lock);
    return entry;
}

static int make_room(banyan_relay *relay, size_t bytes)
{
    char *memory;

    if (bytes <= relay->bytes)
        return 1;
    memory = banyan_realloc(relay->memory, bytes, 1);
    if (!memory)
        return 0;
    relay->memory = memory;
    relay->bytes = bytes;
    return 1;
}

static banyan_status serve(banyan_relay *relay, const banyan_call_entry *entry)
{
    const banyan_setup *setup = &relay->group->setup;
    banyan_run_request request = {.count = entry->whole,
                                  .type = entry->call.type,
                                  .op = entry->call.op,
                                  .timeout_ms = setup->timeout_ms};
    banyan_runner *runner = NULL;
    banyan_error err = {""};
    banyan_status status;
    char sentence[sizeof err.text];

    if (!entry->whole)
        return BANYAN_SUCCESS;
    status = banyan_group_plan_runner(entry->plan, setup, relay->endpoint, &runner, &err);
    if (!status && !entry->plan->programs[relay->endpoint->member]->operation_count)
        return BANYAN_SUCCESS;
    if (!status && !make_room(relay, entry->whole * banyan_datatype_bytes(entry->call.type)))
        status = banyan_fail_memory(&err);
    request.buffer = relay->memory;
    if (!status)
        return banyan_runner_run(runner, &request, &err);
    snprintf(sentence, sizeof sentence, "relay node %d: %.400s", relay->endpoint->member, err.text);
    relay->endpoint->transport->abort(relay->endpoint, BANYAN_REMOTE_ERROR, sentence);
    return status;
}

static void *follow(void *argument)
{
    banyan_relay *relay = argument;
    banyan_call_entry *entry;

    while ((entry = wait_for_entry(relay))) {
        banyan_status status = serve(relay, entry);

        banyan_group_leave(relay->group, entry);
        if (status)
            break;
        relay->call++;
    }
    return NULL;
}

static int has_relay(const banyan_group *group, int node)
{
    for (const banyan_relay *r = group->relays; r; r = r->next)
        if (r->endpoint->member == node)
            return 1;
    return 0;
}

static void destroy_relay(banyan_relay *relay)
{
    if (!relay)
        return;
    if (relay->endpoint)
        relay->endpoint->transport->close(relay->endpoint);
    banyan_free(relay->memory);
    banyan_free(relay);
}

static banyan_status start_relay(banyan_group *group, int node, uint64_t first_call, banyan_error *err)
{
    banyan_opening opening = {node, group->setup.topology->node_count, group->hub};
    banyan_relay *relay = banyan_alloc(1, sizeof *relay);
    banyan_status status;
    int error;

    if (!relay)
        return banyan_fail_memory(err);
    relay->group = group;
    relay->call = first_call;
    status = banyan_transport_memory.open(&opening, &relay->endpoint, err);
    if (!status) {
        error = pthread_create(&relay->thread, NULL, follow, relay);
        if (error)
            status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "cannot start a thread for relay node %d: %s",
                                 node, strerror(error));
    }
    if (status) {
        destroy_relay(relay);
        return status;
    }
    relay->next = group->relays;
    group->relays = relay;
    group->relay_count++;
    return BANYAN_SUCCESS;
}

banyan_status banyan_relays_start(banyan_group *group, banyan_group_plan *plan, uint64_t first_call,
                                  banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (plan->has_relays)
        return BANYAN_SUCCESS;
    for (size_t i = 0; i < 2 * plan->schedule->transfer_count && !status; i++) {
        const banyan_transfer *t = &plan->schedule->transfers[i / 2];
        int node = i % 2 ? t->src : t->dst;

        if (banyan_schedule_rank(plan->schedule, node) < 0 && !has_relay(group, node))
            status = start_relay(group, node, first_call, err);
    }
    plan->has_relays = !status;
    return status;
}

void banyan_relays_join(banyan_group *group)
{
    while (group->relays) {
        banyan_relay *next = group->relays->next;

        pthread_join(group->relays->thread, NULL);
        destroy_relay(group->relays);
        group->relays = next;
    }
}
