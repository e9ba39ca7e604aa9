/* SPDX-License-Identifier: Apache-2.0 */
/* group/world_follow.c: calls as a relay sees them: rank 0 sends each plan once and tells of each call, in
 * order. */
#include <stdio.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "group/world_internal.h"

/* The next letter, taken off the list. NULL: the group has failed, or rank 0 has left and all it told is
 * done. */
static banyan_plan_letter *next_letter(banyan_world *world, banyan_status *status, banyan_error *err)
{
    banyan_plan_letter *letter;

    *status = BANYAN_SUCCESS;
    pthread_mutex_lock(&world->lock);
    while (!(*status = banyan_control_failure(world->control, err)) && !(letter = world->letters) &&
           !world->has_left[0])
        pthread_cond_wait(&world->changed, &world->lock);
    letter = *status ? NULL : world->letters;
    if (letter)
        world->letters = letter->next;
    pthread_mutex_unlock(&world->lock);
    return letter;
}

static void note_call(banyan_world *world, const unsigned char *label, uint64_t number)
{
    pthread_mutex_lock(&world->lock);
    for (int i = 0; i < BANYAN_LABEL_BYTES; i++)
        world->recent[number % BANYAN_WORLD_RECENT][i] = label[i];
    world->calls_made = world->current = number + 1;
    world->changed_ns = banyan_clock_ns();
    pthread_mutex_unlock(&world->lock);
}

static banyan_status take_plan(banyan_world *world, banyan_group_plan **plans,
                               const banyan_plan_letter *letter, banyan_error *err)
{
    banyan_group_plan *plan = NULL;
    banyan_call call;
    uint64_t number;
    size_t bytes;

    banyan_world_read_label(letter->body, &number, &call);
    if (letter->body[BANYAN_LABEL_BYTES]) { /* rank 0 found none: the call does not happen */
        note_call(world, letter->body, number);
        banyan_world_finish(world);
        return BANYAN_SUCCESS;
    }
    bytes = banyan_call_whole(&call, world->setup->size) * banyan_datatype_bytes(call.type);
    return banyan_world_adopt(world, plans, &call,
                              banyan_group_plan_class(world->setup, call.collective, bytes), letter, &plan,
                              err);
}

static banyan_status take_call(banyan_world *world, banyan_group_plan *plans, const unsigned char *label,
                               banyan_call_entry *entry, banyan_error *err)
{
    size_t bytes;

    *entry = (banyan_call_entry){0};
    banyan_world_read_label(label, &entry->number, &entry->call);
    entry->whole = banyan_call_whole(&entry->call, world->setup->size);
    bytes = entry->whole * banyan_datatype_bytes(entry->call.type);
    entry->plan = banyan_group_plan_find(plans, entry->call.collective, entry->call.root,
                                         banyan_group_plan_class(world->setup, entry->call.collective, bytes),
                                         entry->call.type);
    note_call(world, label, entry->number);
    if (entry->plan)
        return BANYAN_SUCCESS;
    banyan_control_abort(world->control, BANYAN_REMOTE_ERROR, "a relay was told of a call without its plan");
    return banyan_control_failure(world->control, err);
}

banyan_status banyan_world_follow(banyan_world *world, banyan_group_plan **plans, banyan_call_entry *entry,
                                  int *is_over, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    int is_call = 0;

    *is_over = 0;
    while (!status && !is_call) {
        banyan_plan_letter *letter = next_letter(world, &status, err);

        if (!letter) {
            *is_over = !status;
            return status;
        }
        is_call = letter->is_call;
        status = is_call ? take_call(world, *plans, letter->body, entry, err)
                         : take_plan(world, plans, letter, err);
        banyan_free(letter);
    }
    return status;
}
