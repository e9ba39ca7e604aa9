/* SPDX-License-Identifier: Apache-2.0 */
/* group/world_calls.c: calls and plans of a world.
 *
 *     rank 0 enters call 7, has no plan for it: makes one ── PLAN {label of call 7, status, digest, text} ──>
 * all rank 2 enters call 7, has no plan for it: ── WANT {label} ──> rank 0, and waits for the PLAN
 *
 * Rank 0 compares what others want with its own call of that number, and each rank the label of a plan that
 * comes with its own call: so different calls are found even before the streams would find them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "core/text.h"
#include "group/world_internal.h"
#include "schedule/wire.h"
#include "transport/bytes.h"

/* A label: number 0, count 8, collective 16, type 20, op 24, root 28, plan digest 32. */
enum { DIGEST = 32, PLAN_HEADER = BANYAN_LABEL_BYTES + 4, PLACE_SHIFT = 9 };
#define FOR_ALL_TYPES 256u /* beside the status: the plan serves whatever the elements are, */
#define NO_CALL UINT64_MAX /* instead of a call's number: what follows is no plan */
#define PACED 512u         /* and its connections are paced */

struct banyan_wish {
    banyan_wish *next;
    int rank;
    unsigned char label[BANYAN_LABEL_BYTES];
};

static void write_label(uint64_t number, const banyan_call *call, uint64_t digest,
                        unsigned char out[BANYAN_LABEL_BYTES])
{
    banyan_put64(out, number);
    banyan_put64(out + 8, call->count);
    banyan_put32(out + 16, (uint32_t)call->collective | (call->is_barrier ? 256u : 0u) |
                               (uint32_t)call->before << PLACE_SHIFT);
    banyan_put32(out + 20, (uint32_t)call->type);
    banyan_put32(out + 24, (uint32_t)call->op);
    banyan_put32(out + 28, (uint32_t)call->root);
    banyan_put64(out + DIGEST, digest);
}

void banyan_world_read_label(const unsigned char *label, uint64_t *number, banyan_call *call)
{
    uint32_t collective = banyan_get32(label + 16);

    *number = banyan_get64(label);
    *call = (banyan_call){.collective = (banyan_collective)(collective & 255u),
                          .is_barrier = (collective & 256u) != 0,
                          .before = (banyan_call_place)(collective >> PLACE_SHIFT & 3u),
                          .count = (size_t)banyan_get64(label + 8),
                          .type = (banyan_datatype)banyan_get32(label + 20),
                          .op = (banyan_op)banyan_get32(label + 24),
                          .root = (int)banyan_get32(label + 28)};
    if (call->collective >= BANYAN_COLLECTIVE_COUNT)
        call->collective = BANYAN_COLLECTIVE_ALLREDUCE;
    if (call->before > BANYAN_PLACE_DEVICE)
        call->before = BANYAN_PLACE_ANY;
}

/* Everything but the plan. */
static int is_same_call(const unsigned char *a, const unsigned char *b)
{
    return memcmp(a, b, DIGEST) == 0;
}

static void describe_difference(int rank, const unsigned char *mine, int other, const unsigned char *theirs,
                                banyan_error *out)
{
    uint64_t number, their_number;
    banyan_call call, their_call;
    char a[150], b[150], which[40] = "";

    banyan_world_read_label(mine, &number, &call);
    banyan_world_read_label(theirs, &their_number, &their_call);
    if (their_number != number)
        snprintf(which, sizeof which, " as its call %llu", (unsigned long long)their_number);
    if (is_same_call(mine, theirs))
        snprintf(out->text, sizeof out->text,
                 "call %llu (%s) differs in its plan: rank %d has %016llx, rank %d has %016llx",
                 (unsigned long long)number, banyan_call_describe(&call, a, sizeof a), rank,
                 (unsigned long long)banyan_get64(mine + DIGEST), other,
                 (unsigned long long)banyan_get64(theirs + DIGEST));
    else
        snprintf(out->text, sizeof out->text, "call %llu differs: rank %d calls %s, rank %d calls %s%s",
                 (unsigned long long)number, rank, banyan_call_describe(&call, a, sizeof a), other,
                 banyan_call_describe(&their_call, b, sizeof b), which);
}

static banyan_status end_with_difference(banyan_world *world, int rank, const unsigned char *mine, int other,
                                         const unsigned char *theirs, banyan_error *err)
{
    banyan_error sentence = {""};

    describe_difference(rank, mine, other, theirs, &sentence);
    banyan_control_abort(world->control, BANYAN_MISMATCH, sentence.text);
    return banyan_fail(err, BANYAN_MISMATCH, "%s", sentence.text);
}

banyan_status banyan_world_open_calls(banyan_world *world, banyan_error *err)
{
    world->has_left = banyan_alloc((size_t)world->size, 1);
    world->left_after = banyan_alloc((size_t)world->size, sizeof *world->left_after);
    return world->has_left && world->left_after ? BANYAN_SUCCESS : banyan_fail_memory(err);
}

void banyan_world_close_calls(banyan_world *world)
{
    while (world->letters) {
        banyan_plan_letter *next = world->letters->next;

        banyan_free(world->letters);
        world->letters = next;
    }
    while (world->wishes) {
        banyan_wish *next = world->wishes->next;

        banyan_free(world->wishes);
        world->wishes = next;
    }
    banyan_free(world->has_left);
    banyan_free(world->left_after);
}

void banyan_world_hear_left(void *context, int rank, uint64_t calls)
{
    banyan_world *world = context;
    char sentence[300], text[150] = "";
    uint64_t number = 0;
    banyan_call call;
    int is_missed;

    pthread_mutex_lock(&world->lock);
    world->has_left[rank] = 1;
    world->left_after[rank] = calls;
    is_missed = calls < world->current;
    if (is_missed) {
        banyan_world_read_label(world->recent[(world->current - 1) % BANYAN_WORLD_RECENT], &number, &call);
        banyan_call_describe(&call, text, sizeof text);
    }
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
    if (!is_missed)
        return;
    snprintf(sentence, sizeof sentence, "rank %d has destroyed its communicator; rank %d waits in %s", rank,
             world->rank, text);
    banyan_control_abort(world->control, BANYAN_PEER_LOST, sentence);
}

static void keep_letter(banyan_world *world, int is_call, const unsigned char *body, size_t bytes)
{
    banyan_plan_letter *letter = banyan_alloc(1, sizeof *letter + bytes + 1);
    banyan_plan_letter **end = &world->letters;

    if (!letter)
        return; /* whoever waits for it will say so */
    letter->is_call = is_call;
    letter->bytes = bytes;
    memcpy(letter->body, body, bytes);
    pthread_mutex_lock(&world->lock);
    while (*end)
        end = &(*end)->next;
    *end = letter;
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
}

void banyan_world_hear_plan(void *context, const unsigned char *body, size_t bytes)
{
    if (bytes >= PLAN_HEADER)
        keep_letter(context, 0, body, bytes);
}

void banyan_world_hear_call(void *context, const unsigned char *body, size_t bytes)
{
    if (bytes == BANYAN_LABEL_BYTES)
        keep_letter(context, 1, body, bytes);
}

/* At rank 0, with the lock held: whether the wish is for a call of ours, and whether it is the same. */
static int is_wish_strange(const banyan_world *world, const unsigned char *label)
{
    uint64_t number = banyan_get64(label);

    return number < world->current && number + BANYAN_WORLD_RECENT > world->current &&
           !is_same_call(world->recent[number % BANYAN_WORLD_RECENT], label);
}

void banyan_world_hear_want(void *context, int rank, const unsigned char *body, size_t bytes)
{
    banyan_world *world = context;
    unsigned char mine[BANYAN_LABEL_BYTES];
    banyan_wish *wish;
    int is_strange;

    if (bytes != BANYAN_LABEL_BYTES)
        return;
    pthread_mutex_lock(&world->lock);
    is_strange = is_wish_strange(world, body);
    if (is_strange)
        memcpy(mine, world->recent[banyan_get64(body) % BANYAN_WORLD_RECENT], sizeof mine);
    wish = !is_strange && banyan_get64(body) >= world->current ? banyan_alloc(1, sizeof *wish) : NULL;
    if (wish) {
        *wish = (banyan_wish){.next = world->wishes, .rank = rank};
        memcpy(wish->label, body, BANYAN_LABEL_BYTES);
        world->wishes = wish;
    }
    pthread_mutex_unlock(&world->lock);
    if (is_strange)
        end_with_difference(world, 0, mine, rank, body, NULL);
}

/* Notes that the call has begun. At rank 0, those who wait for a plan of that number must mean the same. */
static banyan_status note_call(banyan_world *world, const unsigned char *label, banyan_error *err)
{
    unsigned char theirs[BANYAN_LABEL_BYTES];
    banyan_wish **w = &world->wishes;
    int stranger = -1;

    pthread_mutex_lock(&world->lock);
    memcpy(world->recent[world->calls_made % BANYAN_WORLD_RECENT], label, BANYAN_LABEL_BYTES);
    world->current = world->calls_made + 1;
    world->changed_ns = banyan_clock_ns();
    while (*w) {
        banyan_wish *wish = *w;

        if (banyan_get64(wish->label) >= world->current) {
            w = &wish->next;
            continue;
        }
        if (!is_same_call(wish->label, label)) {
            stranger = wish->rank;
            memcpy(theirs, wish->label, sizeof theirs);
        }
        *w = wish->next;
        banyan_free(wish);
    }
    pthread_mutex_unlock(&world->lock);
    return stranger >= 0 ? end_with_difference(world, world->rank, label, stranger, theirs, err)
                         : BANYAN_SUCCESS;
}

static banyan_status check_present(banyan_world *world, const banyan_call *call, banyan_error *err)
{
    char sentence[300], text[150];
    int gone = -1;

    pthread_mutex_lock(&world->lock);
    for (int i = 0; i < world->size; i++)
        if (world->has_left[i] && world->left_after[i] <= world->calls_made)
            gone = i;
    pthread_mutex_unlock(&world->lock);
    if (gone < 0)
        return BANYAN_SUCCESS;
    snprintf(sentence, sizeof sentence, "rank %d calls %s, but rank %d has destroyed its communicator",
             world->rank, banyan_call_describe(call, text, sizeof text), gone);
    banyan_control_abort(world->control, BANYAN_PEER_LOST, sentence);
    return banyan_control_verdict(world->control, err); /* it may have left because the group had ended */
}

/* Rank 0: tells all what came of planning this call. */
static banyan_status publish(banyan_world *world, const banyan_call *call, const banyan_group_plan *plan,
                             banyan_status outcome, const banyan_error *why, banyan_error *err)
{
    unsigned char head[PLAN_HEADER];
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status;

    write_label(world->calls_made, call, outcome ? 0 : plan->digest, head);
    banyan_put32(head + BANYAN_LABEL_BYTES,
                 (uint32_t)outcome | (!outcome && plan->type == BANYAN_GROUP_ANY_TYPE ? FOR_ALL_TYPES : 0u) |
                     (!outcome && plan->is_paced ? PACED : 0u));
    banyan_text_add_bytes(&text, (const char *)head, sizeof head);
    if (outcome)
        banyan_text_add(&text, "%s", why->text);
    else
        banyan_schedule_pack(plan->schedule, &text);
    if (text.failed)
        status = banyan_fail_memory(err);
    else
        status = banyan_control_publish(world->control, text.bytes, text.length, err);
    banyan_text_fini(&text);
    return status;
}

static banyan_status make_plan(banyan_world *world, banyan_group_plan **plans, const banyan_call *call,
                               size_t bytes, banyan_group_plan **out, banyan_error *err)
{
    banyan_error why = {""};
    banyan_status outcome, status;

    banyan_group_plan_move(&world->unpublished, plans, call->collective, call->root,
                           banyan_group_plan_class(world->setup, call->collective, bytes), call->type);
    outcome = banyan_group_plan_get(plans, world->setup, call->collective, call->root, bytes, call->type, out,
                                    &why);
    status = publish(world, call, outcome ? NULL : *out, outcome, &why, err);

    if (outcome)
        return banyan_fail(err, outcome, "%s", why.text);
    if (status)
        banyan_control_abort(world->control, BANYAN_REMOTE_ERROR, "rank 0 could not send a plan");
    return status;
}

static banyan_status time_out(banyan_world *world, const char *what, banyan_error *err)
{
    char sentence[300];

    snprintf(sentence, sizeof sentence, "rank %d waited %d ms for rank 0 to %.200s", world->rank,
             world->setup->timeout_ms, what);
    banyan_control_abort(world->control, BANYAN_TIMEOUT, sentence);
    return banyan_control_verdict(world->control, err);
}

/* The first letter, taken off the list, or NULL with the reason. what: rank 0 is to do. */
static banyan_plan_letter *wait_for_letter(banyan_world *world, const char *what, banyan_status *status,
                                           banyan_error *err)
{
    int64_t deadline_ns = banyan_clock_ns() + (int64_t)world->setup->timeout_ms * 1000000;
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    banyan_plan_letter *letter;
    int is_late = 0;

    pthread_mutex_lock(&world->lock);
    while (!(letter = world->letters) && !is_late && !(*status = banyan_control_failure(world->control, err)))
        is_late = pthread_cond_timedwait(&world->changed, &world->lock, &until) == ETIMEDOUT;
    if (letter)
        world->letters = letter->next;
    pthread_mutex_unlock(&world->lock);
    if (!letter)
        *status = *status ? banyan_control_verdict(world->control, err) : time_out(world, what, err);
    return letter;
}

banyan_status banyan_world_adopt(banyan_world *world, banyan_group_plan **plans, const banyan_call *call,
                                 size_t size_class, const banyan_plan_letter *letter, banyan_group_plan **out,
                                 banyan_error *err)
{
    uint32_t head = banyan_get32(letter->body + BANYAN_LABEL_BYTES);
    banyan_status outcome = (banyan_status)(head & 0xff);
    const char *text = (const char *)letter->body + PLAN_HEADER;
    unsigned char label[BANYAN_LABEL_BYTES];
    banyan_schedule *schedule = NULL;
    banyan_status status;

    if (outcome)
        return banyan_fail(err, outcome, "%s", text);
    status = banyan_schedule_unpack(text, letter->bytes - PLAN_HEADER, &schedule, err);
    if (!status)
        status = banyan_group_plan_adopt(plans, world->setup, call->collective, call->root, size_class,
                                         head & FOR_ALL_TYPES ? BANYAN_GROUP_ANY_TYPE : (int)call->type,
                                         (head & PACED) != 0, schedule, out, err);
    if (!status && (*out)->digest != banyan_get64(letter->body + DIGEST)) {
        write_label(world->calls_made, call, (*out)->digest, label);
        return end_with_difference(world, world->rank, label, 0, letter->body, err);
    }
    if (status) {
        char sentence[400];

        snprintf(sentence, sizeof sentence, "rank %d cannot use the plan of rank 0: %.300s", world->rank,
                 err ? err->text : "");
        banyan_control_abort(world->control, BANYAN_REMOTE_ERROR, sentence);
    }
    return status;
}

static banyan_status receive_plan(banyan_world *world, banyan_group_plan **plans, const banyan_call *call,
                                  size_t size_class, const unsigned char *label, banyan_group_plan **out,
                                  banyan_error *err)
{
    banyan_plan_letter *letter;
    char text[150], what[200];
    banyan_status status = banyan_control_want(world->control, label, BANYAN_LABEL_BYTES, err);

    if (status)
        return status;
    snprintf(what, sizeof what, "call %s and send its plan", banyan_call_describe(call, text, sizeof text));
    letter = wait_for_letter(world, what, &status, err);
    if (!letter)
        return status;
    if (is_same_call(label, letter->body))
        status = banyan_world_adopt(world, plans, call, size_class, letter, out, err);
    else
        status = end_with_difference(world, world->rank, label, 0, letter->body, err);
    banyan_free(letter);
    return status;
}

static banyan_status send_text(banyan_world *world, const char *bytes, banyan_error *err)
{
    unsigned char head[PLAN_HEADER] = {0};
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status;

    banyan_put64(head, NO_CALL);
    banyan_text_add_bytes(&text, (const char *)head, sizeof head);
    banyan_text_add(&text, "%s", bytes);
    status = text.failed ? banyan_fail_memory(err)
                         : banyan_control_publish(world->control, text.bytes, text.length, err);
    banyan_text_fini(&text);
    if (status)
        banyan_control_abort(world->control, BANYAN_REMOTE_ERROR, "rank 0 could not send what it knows");
    return status;
}

banyan_status banyan_world_share_text(banyan_world *world, const char *text, char **out, banyan_error *err)
{
    banyan_plan_letter *letter;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    if (world->rank == 0) {
        status = send_text(world, text, err);
        if (!status && !(*out = banyan_strdup(text)))
            status = banyan_fail_memory(err);
        return status;
    }
    letter = wait_for_letter(world, "send what it knows of the network", &status, err);
    if (!letter)
        return status;
    if (letter->is_call || banyan_get64(letter->body) != NO_CALL)
        status = banyan_fail(err, BANYAN_MISMATCH, "rank 0 sent a plan where rank %d expected a network",
                             world->rank);
    else if (!(*out = banyan_strdup((const char *)letter->body + PLAN_HEADER)))
        status = banyan_fail_memory(err);
    banyan_free(letter);
    return status;
}

static banyan_status get_plan(banyan_world *world, banyan_group_plan **plans, const banyan_call *call,
                              size_t bytes, const unsigned char *label, banyan_group_plan **out,
                              banyan_error *err)
{
    size_t size_class = banyan_group_plan_class(world->setup, call->collective, bytes);

    *out = banyan_group_plan_find(*plans, call->collective, call->root, size_class, call->type);
    if (*out)
        return BANYAN_SUCCESS;
    if (world->rank == 0)
        return make_plan(world, plans, call, bytes, out, err);
    return receive_plan(world, plans, call, size_class, label, out, err);
}

/* Rank 0: nobody calls anything at a relay, so it is told. */
static banyan_status tell_relays(banyan_world *world, const banyan_call_entry *entry, banyan_error *err)
{
    unsigned char label[BANYAN_LABEL_BYTES];
    banyan_status status = BANYAN_SUCCESS;

    if (world->rank != 0)
        return BANYAN_SUCCESS;
    banyan_world_label(entry, label);
    for (int i = world->setup->size; i < world->size && !status; i++)
        status = banyan_control_tell(world->control, i, label, sizeof label, err);
    if (status)
        banyan_control_abort(world->control, BANYAN_REMOTE_ERROR,
                             "rank 0 could not tell the relays of a call");
    return status;
}

banyan_status banyan_world_enter(banyan_world *world, banyan_group_plan **plans, const banyan_call *call,
                                 banyan_call_entry **out, banyan_error *err)
{
    banyan_call_entry *entry = banyan_alloc(1, sizeof *entry);
    unsigned char label[BANYAN_LABEL_BYTES];
    banyan_status status;

    if (!entry)
        return banyan_fail_memory(err);
    *entry = (banyan_call_entry){.number = world->calls_made, .first_rank = world->rank, .call = *call};
    entry->whole = banyan_call_whole(call, world->setup->size);
    write_label(world->calls_made, call, 0, label);
    status = banyan_control_verdict(world->control, err);
    if (!status)
        status = check_present(world, call, err);
    if (!status)
        status = note_call(world, label, err);
    if (!status) {
        status = get_plan(world, plans, call, entry->whole * banyan_datatype_bytes(call->type), label,
                          &entry->plan, err);
        /* A call that no plan was found for has no effect, but its number is used up, on all ranks: one that
         * asks for its plan late must not meet the next call under that number. */
        if (status) {
            world->calls_made++;
            banyan_world_finish(world);
        }
    }
    if (!status)
        status = tell_relays(world, entry, err);
    if (status) {
        banyan_free(entry);
        return status;
    }
    world->calls_made++;
    *out = entry;
    return BANYAN_SUCCESS;
}

void banyan_world_finish(banyan_world *world)
{
    pthread_mutex_lock(&world->lock);
    world->done = world->calls_made;
    world->changed_ns = banyan_clock_ns();
    pthread_mutex_unlock(&world->lock);
}

void banyan_world_tell_state(void *context, banyan_rank_state *out)
{
    banyan_world *world = context;
    unsigned char label[BANYAN_LABEL_BYTES];
    uint64_t number;
    banyan_call call;

    *out = (banyan_rank_state){0};
    pthread_mutex_lock(&world->lock);
    out->begun = world->current;
    out->done = world->done < world->current ? world->done : world->current;
    out->since_s = world->changed_ns ? (double)(banyan_clock_ns() - world->changed_ns) * 1e-9 : 0;
    if (world->current)
        memcpy(label, world->recent[(world->current - 1) % BANYAN_WORLD_RECENT], sizeof label);
    pthread_mutex_unlock(&world->lock);
    if (!out->begun)
        return;
    banyan_world_read_label(label, &number, &call);
    banyan_call_describe(&call, out->call, sizeof out->call);
}

void banyan_world_label(const banyan_call_entry *entry, unsigned char out[BANYAN_LABEL_BYTES])
{
    write_label(entry->number, &entry->call, entry->plan->digest, out);
}

void banyan_world_explain(banyan_world *world, const banyan_call_entry *entry, int node,
                          const unsigned char *theirs, banyan_error *out)
{
    unsigned char mine[BANYAN_LABEL_BYTES];

    banyan_world_label(entry, mine);
    describe_difference(world->rank, mine, world->rank_of[node], theirs, out);
}
