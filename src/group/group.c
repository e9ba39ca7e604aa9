/* SPDX-License-Identifier: Apache-2.0 */
/* group/group.c: the log of calls, under one lock that is held for moments, except while a new plan is
 * made. */
#include "group/group.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "group/world.h"

/* With BANYAN_DETERMINISTIC, unless an algorithm was named: a binomial tree for all-reduce. It has one tree
 * for the whole vector, whatever its size, so every element's values are added in one order, wherever it
 * lies. Plans of several trees or rings add each piece in an order of its own. */
static banyan_status prefer_one_order(banyan_setup *setup, banyan_error *err)
{
    banyan_choice *choice = &setup->choices[BANYAN_COLLECTIVE_ALLREDUCE];
    banyan_choice choices[BANYAN_COLLECTIVE_COUNT];
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    if (!status && !choice->algorithm && !setup->forced &&
        banyan_settings_integer(settings, BANYAN_SETTING_DETERMINISTIC)) {
        status = banyan_choices_parse("allreduce:binomial", choices, err);
        if (!status)
            *choice = choices[BANYAN_COLLECTIVE_ALLREDUCE];
    }
    banyan_settings_destroy(settings);
    return status;
}

banyan_status banyan_group_create(banyan_setup *setup, banyan_world *world, banyan_group **out,
                                  banyan_error *err)
{
    banyan_group *group = banyan_alloc(1, sizeof *group);
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (!group)
        return banyan_fail_memory(err);
    pthread_mutex_init(&group->lock, NULL);
    pthread_cond_init(&group->changed, NULL);
    group->calls_made = banyan_alloc((size_t)setup->size, sizeof *group->calls_made);
    group->has_left = banyan_alloc((size_t)setup->size, 1);
    if (!group->calls_made || !group->has_left)
        status = banyan_fail_memory(err);
    else
        status = prefer_one_order(setup, err);
    if (!status && !world)
        status = banyan_memory_hub_create(setup->topology->node_count, &group->hub, err);
    if (status) {
        banyan_group_destroy(group);
        return status;
    }
    group->setup = *setup;
    *setup = (banyan_setup){0};
    group->world = world;
    group->handle_count = world ? 1 : group->setup.size;
    *out = group;
    return BANYAN_SUCCESS;
}

void banyan_group_destroy(banyan_group *group)
{
    if (!group)
        return;
    pthread_mutex_lock(&group->lock);
    group->is_closing = 1;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
    banyan_relays_join(group);
    while (group->entries) {
        banyan_call_entry *next = group->entries->next;

        banyan_free(group->entries);
        group->entries = next;
    }
    banyan_group_plans_destroy(group->plans);
    banyan_world_destroy(group->world);
    banyan_memory_hub_destroy(group->hub);
    banyan_setup_fini(&group->setup);
    banyan_free(group->calls_made);
    banyan_free(group->has_left);
    pthread_cond_destroy(&group->changed);
    pthread_mutex_destroy(&group->lock);
    banyan_free(group);
}

banyan_call_entry *banyan_group_find(banyan_group *group, uint64_t number)
{
    banyan_call_entry *entry = group->entries;

    while (entry && entry->number < number)
        entry = entry->next;
    return entry && entry->number == number ? entry : NULL;
}

const char *banyan_call_describe(const banyan_call *call, char *buffer, size_t size)
{
    int reduces = banyan_collective_reduces(call->collective);
    static const char *const places[] = {"", "(before calls on host memory)", "(before calls on a GPU)"};
    char root[24] = "";

    if (banyan_collective_has_root(call->collective))
        snprintf(root, sizeof root, ", root %d", call->root);
    if (call->is_barrier)
        snprintf(buffer, size, "barrier%s", places[call->before]);
    else
        snprintf(buffer, size, "%s(count %zu, %s%s%s%s)", banyan_collective_name(call->collective),
                 call->count, banyan_datatype_string(call->type), reduces ? ", " : "",
                 reduces ? banyan_op_string(call->op) : "", root);
    return buffer;
}

size_t banyan_call_whole(const banyan_call *call, int size)
{
    return call->count * banyan_collective_parts(call->collective, size);
}

int banyan_call_is_same(const banyan_call *a, const banyan_call *b)
{
    return a->collective == b->collective && a->is_barrier == b->is_barrier && a->before == b->before &&
           a->root == b->root && a->count == b->count && a->type == b->type && a->op == b->op;
}

static banyan_status end_group(banyan_endpoint *endpoint, banyan_status status, const char *sentence,
                               banyan_error *err)
{
    endpoint->transport->abort(endpoint, status, sentence);
    return banyan_fail(err, status, "%s", sentence);
}

static banyan_status mismatch(const banyan_call_entry *entry, int rank, const banyan_call *call,
                              banyan_endpoint *endpoint, banyan_error *err)
{
    char mine[160], theirs[160], sentence[sizeof err->text];

    snprintf(sentence, sizeof sentence, "call %llu differs: rank %d calls %s, rank %d calls %s",
             (unsigned long long)entry->number, entry->first_rank,
             banyan_call_describe(&entry->call, theirs, sizeof theirs), rank,
             banyan_call_describe(call, mine, sizeof mine));
    return end_group(endpoint, BANYAN_MISMATCH, sentence, err);
}

/* Whether everybody can still make this call. */
static banyan_status check_present(const banyan_group *group, int rank, const banyan_call *call,
                                   banyan_endpoint *endpoint, banyan_error *err)
{
    char text[160], sentence[sizeof err->text];

    for (int i = 0; i < group->setup.size; i++)
        if (group->has_left[i] && group->calls_made[i] <= group->calls_made[rank]) {
            snprintf(sentence, sizeof sentence,
                     "rank %d calls %s, but rank %d has destroyed its communicator", rank,
                     banyan_call_describe(call, text, sizeof text), i);
            return end_group(endpoint, BANYAN_PEER_LOST, sentence, err);
        }
    return BANYAN_SUCCESS;
}

/* The first rank to come makes the plan and starts its relays; nothing is left behind if that fails. */
static banyan_status append_entry(banyan_group *group, int rank, const banyan_call *call,
                                  banyan_call_entry **out, banyan_error *err)
{
    banyan_call_entry *entry = banyan_alloc(1, sizeof *entry), **end = &group->entries;
    banyan_status status;

    if (!entry)
        return banyan_fail_memory(err);
    entry->number = group->calls_made[rank];
    entry->first_rank = rank;
    entry->call = *call;
    entry->whole = banyan_call_whole(call, group->setup.size);
    status = banyan_group_plan_get(&group->plans, &group->setup, call->collective, call->root,
                                   entry->whole * banyan_datatype_bytes(call->type), call->type, &entry->plan,
                                   err);
    if (!status)
        status = banyan_relays_start(group, entry->plan, entry->number, err);
    if (status) {
        banyan_free(entry);
        return status;
    }
    entry->users = group->setup.size + group->relay_count;
    while (*end)
        end = &(*end)->next;
    *end = entry;
    pthread_cond_broadcast(&group->changed);
    *out = entry;
    return BANYAN_SUCCESS;
}

banyan_status banyan_group_enter(banyan_group *group, int rank, banyan_endpoint *endpoint,
                                 const banyan_call *call, banyan_call_entry **out, banyan_error *err)
{
    banyan_status status;

    *out = NULL;
    if (group->world)
        return banyan_world_enter(group->world, &group->plans, call, out, err);
    pthread_mutex_lock(&group->lock);
    status = endpoint->transport->failure(endpoint, err);
    if (!status)
        status = check_present(group, rank, call, endpoint, err);
    if (!status) {
        *out = banyan_group_find(group, group->calls_made[rank]);
        if (!*out)
            status = append_entry(group, rank, call, out, err);
        else if (!banyan_call_is_same(&(*out)->call, call))
            status = mismatch(*out, rank, call, endpoint, err);
    }
    if (!status)
        group->calls_made[rank]++;
    pthread_mutex_unlock(&group->lock);
    return status;
}

void banyan_group_leave(banyan_group *group, banyan_call_entry *entry)
{
    if (group->world) {
        banyan_world_finish(group->world);
        banyan_free(entry);
        return;
    }
    pthread_mutex_lock(&group->lock);
    entry->users--;
    while (group->entries && !group->entries->users) {
        banyan_call_entry *next = group->entries->next;

        banyan_free(group->entries);
        group->entries = next;
    }
    pthread_mutex_unlock(&group->lock);
}

void banyan_group_part(banyan_group *group, int rank, banyan_endpoint *endpoint)
{
    banyan_call_entry *missed;
    char text[160], sentence[256];

    if (group->world) {
        banyan_world_leave(group->world);
        return;
    }
    pthread_mutex_lock(&group->lock);
    missed = banyan_group_find(group, group->calls_made[rank]);
    if (missed) {
        snprintf(sentence, sizeof sentence, "rank %d has destroyed its communicator; rank %d waits in %s",
                 rank, missed->first_rank, banyan_call_describe(&missed->call, text, sizeof text));
        endpoint->transport->abort(endpoint, BANYAN_PEER_LOST, sentence);
    }
    group->has_left[rank] = 1;
    pthread_mutex_unlock(&group->lock);
}

int banyan_group_release(banyan_group *group)
{
    int is_last;

    pthread_mutex_lock(&group->lock);
    is_last = --group->handle_count == 0;
    pthread_mutex_unlock(&group->lock);
    return is_last;
}
