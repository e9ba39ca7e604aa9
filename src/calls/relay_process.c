/* SPDX-License-Identifier: Apache-2.0 */
/* calls/relay_process.c: a process that serves a worker without data (its thread kind: group/relay.c). For
 * each call of the group it runs its node's program, if there is one, on memory of its own. */
#include <stdio.h>

#include "calls/comm.h"
#include "core/alloc.h"
#include "execute/run.h"
#include "group/pacing.h"

typedef struct {
    banyan_world *world;
    const banyan_setup *setup;
    const banyan_call_entry *entry;
    banyan_group_plan *plans;
    char *memory;
    size_t bytes;
} server;

static void explain(void *context, int peer, const void *theirs, banyan_error *out)
{
    const server *s = context;

    banyan_world_explain(s->world, s->entry, peer, theirs, out);
}

static banyan_status give_up(const server *s, banyan_status status, banyan_error *err)
{
    char sentence[sizeof err->text];

    snprintf(sentence, sizeof sentence, "relay %d: %.400s", banyan_world_rank(s->world) - s->setup->size,
             err->text);
    banyan_control_abort(banyan_world_control(s->world), BANYAN_REMOTE_ERROR, sentence);
    return status;
}

static banyan_status make_room(server *s, size_t bytes, banyan_error *err)
{
    char *memory;

    if (bytes <= s->bytes)
        return BANYAN_SUCCESS;
    memory = banyan_realloc(s->memory, bytes, 1);
    if (!memory)
        return banyan_fail_memory(err);
    s->memory = memory;
    s->bytes = bytes;
    return BANYAN_SUCCESS;
}

static banyan_status serve(server *s, banyan_error *err)
{
    const banyan_call_entry *entry = s->entry;
    banyan_endpoint *endpoint = banyan_world_endpoint(s->world);
    unsigned char label[BANYAN_LABEL_BYTES];
    banyan_run_request request = {.count = entry->whole,
                                  .type = entry->call.type,
                                  .op = entry->call.op,
                                  .timeout_ms = s->setup->timeout_ms,
                                  .label = label,
                                  .label_bytes = sizeof label,
                                  .explain = explain,
                                  .context = s};
    banyan_runner *runner = NULL;
    banyan_status status;

    if (!entry->whole)
        return BANYAN_SUCCESS;
    status = banyan_group_plan_runner(entry->plan, s->setup, endpoint, &runner, err);
    if (!status && !entry->plan->programs[endpoint->member]->operation_count)
        return BANYAN_SUCCESS;
    if (!status)
        status = make_room(s, entry->whole * banyan_datatype_bytes(entry->call.type), err);
    if (!status)
        status = banyan_pacing_begin(entry->plan, s->setup, endpoint, err);
    if (status)
        return give_up(s, status, err);
    banyan_world_label(entry, label);
    request.buffer = s->memory;
    status = banyan_runner_run(runner, &request, err);
    if (!status)
        banyan_pacing_end(entry->plan, endpoint, 0, 1); /* how long calls take is the ranks' to judge */
    if (status)
        banyan_control_failure(banyan_world_control(s->world), err);
    return status;
}

banyan_status banyan_relay_serve(banyan_world *world, const banyan_setup *setup, banyan_error *err)
{
    server s = {.world = world, .setup = setup};
    banyan_call_entry entry;
    banyan_status status = BANYAN_SUCCESS;
    int is_over = 0;

    s.entry = &entry;
    while (!status && !is_over) {
        status = banyan_world_follow(world, &s.plans, &entry, &is_over, err);
        if (!status && !is_over) {
            status = serve(&s, err);
            banyan_world_finish(world);
        }
    }
    banyan_group_plans_destroy(s.plans);
    banyan_free(s.memory);
    return status;
}
