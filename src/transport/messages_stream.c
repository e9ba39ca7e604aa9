/* SPDX-License-Identifier: Apache-2.0 */
/* transport/messages_stream.c: one pair's streams: messages out, messages in, and the credits between them.
 *
 * What is offered becomes messages at once, as far as the credit goes; nothing is queued. Short things (a
 * call's label, a small vector) gather in a message of our own and leave together, at the next wait at the
 * latest. Where the engine cannot take a send back, everything is copied first: then the user's memory is the
 * user's again whenever he wants. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "transport/bytes.h"
#include "transport/messages_internal.h"

#define SLOTS BANYAN_MESSAGES_SLOTS
#define GRANT (SLOTS / 2) /* messages that are worth a credit */

static banyan_status no_memory(char *why)
{
    snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "memory ran out");
    return BANYAN_SYSTEM_ERROR;
}

static banyan_status strange(char *why, const char *what)
{
    snprintf(why, BANYAN_MESSAGE_ENGINE_SENTENCE, "%s", what);
    return BANYAN_REMOTE_ERROR;
}

banyan_message_peer *banyan_messages_make_peer(banyan_messages_endpoint *e, int member)
{
    banyan_message_peer *peer = e->peers[member];

    if (peer)
        return peer;
    peer = banyan_alloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->member = member;
    e->peers[member] = peer;
    e->connected[e->connected_count++] = member;
    return peer;
}

static banyan_status await_notes(banyan_messages_endpoint *e, banyan_message_peer *peer, unsigned slot,
                                 char *why)
{
    peer->control_in[slot] = (banyan_ticket){0};
    return e->engine->receive(e->port, peer->member, BANYAN_MESSAGES_CONTROL, peer->notes_in[slot],
                              sizeof peer->notes_in[slot], &peer->control_in[slot], why);
}

banyan_status banyan_messages_begin_control(banyan_messages_endpoint *e, banyan_message_peer *peer, char *why)
{
    banyan_status status = BANYAN_SUCCESS;

    for (unsigned i = 0; i < BANYAN_MESSAGES_CONTROL_SLOTS && !status; i++)
        status = await_notes(e, peer, i, why);
    return status;
}

static banyan_status await_message(banyan_messages_endpoint *e, banyan_message_peer *peer, int stream,
                                   uint64_t number, char *why)
{
    banyan_message_in *in = peer->in[stream];
    size_t slot = (size_t)(number % SLOTS);

    in->tickets[slot] = (banyan_ticket){0};
    return e->engine->receive(e->port, peer->member, stream, in->memory + slot * e->message_bytes,
                              e->message_bytes, &in->tickets[slot], why);
}

static banyan_status add_out(const banyan_messages_endpoint *e, banyan_message_peer *peer, char *why)
{
    banyan_message_out *out = banyan_alloc(1, sizeof *out);

    if (out)
        out->copies = banyan_alloc(SLOTS, e->copy_bytes);
    if (!out || !out->copies) {
        banyan_free(out);
        return no_memory(why);
    }
    out->credit = SLOTS;
    peer->out[peer->out_count++] = out;
    return BANYAN_SUCCESS;
}

static banyan_status add_in(banyan_messages_endpoint *e, banyan_message_peer *peer, char *why)
{
    banyan_message_in *in = banyan_alloc(1, sizeof *in);
    banyan_status status = BANYAN_SUCCESS;

    if (in)
        in->memory = banyan_alloc(SLOTS, e->message_bytes);
    if (!in || !in->memory) {
        banyan_free(in);
        return no_memory(why);
    }
    peer->in[peer->in_count++] = in;
    for (uint64_t i = 0; i < SLOTS && !status; i++)
        status = await_message(e, peer, peer->in_count - 1, i, why);
    return status;
}

static int make_room(void **list, int have, int count, size_t size)
{
    void *longer;

    if (count <= have)
        return 1;
    longer = banyan_realloc(*list, (size_t)count, size);
    if (longer)
        *list = longer;
    return longer != NULL;
}

banyan_status banyan_messages_widen(banyan_messages_endpoint *e, banyan_message_peer *peer, int to_peer,
                                    int from_peer, char *why)
{
    banyan_status status = BANYAN_SUCCESS;
    void *out = peer->out, *in = peer->in;

    if (make_room(&out, peer->out_count, to_peer, sizeof *peer->out))
        peer->out = out;
    else
        status = no_memory(why);
    if (!status && make_room(&in, peer->in_count, from_peer, sizeof *peer->in))
        peer->in = in;
    else if (!status)
        status = no_memory(why);
    while (!status && peer->out_count < to_peer)
        status = add_out(e, peer, why);
    while (!status && peer->in_count < from_peer)
        status = add_in(e, peer, why);
    return status;
}

void banyan_messages_destroy_peer(banyan_message_peer *peer, int keeps_memory)
{
    if (keeps_memory)
        return; /* the library may still write to it: lost with it, on purpose */
    for (int i = 0; i < peer->out_count; i++) {
        banyan_free(peer->out[i]->copies);
        banyan_free(peer->out[i]);
    }
    for (int i = 0; i < peer->in_count; i++) {
        banyan_free(peer->in[i]->memory);
        banyan_free(peer->in[i]);
    }
    banyan_free(peer->out);
    banyan_free(peer->in);
    banyan_free(peer);
}

uint64_t banyan_messages_sent(banyan_message_out *out)
{
    while (out->finished < out->posted && out->messages[out->finished % SLOTS].ticket.is_done)
        out->sent_bytes += out->messages[out->finished++ % SLOTS].bytes;
    return out->sent_bytes;
}

static int has_slot(banyan_message_out *out)
{
    banyan_messages_sent(out);
    return out->posted < out->credit && out->posted - out->finished < SLOTS;
}

static char *copy_of(const banyan_messages_endpoint *e, const banyan_message_out *out)
{
    return out->copies + (size_t)(out->posted % SLOTS) * e->copy_bytes;
}

static banyan_status post(banyan_messages_endpoint *e, banyan_message_peer *peer, int stream,
                          const void *memory, size_t bytes, char *why)
{
    banyan_message_out *out = peer->out[stream];
    banyan_message *message = &out->messages[out->posted % SLOTS];

    *message = (banyan_message){.bytes = bytes};
    out->posted++;
    peer->wants_push = 1;
    return e->engine->send(e->port, peer->member, stream, memory, bytes, &message->ticket, why);
}

static banyan_status post_open(banyan_messages_endpoint *e, banyan_message_peer *peer, int stream, char *why)
{
    banyan_message_out *out = peer->out[stream];
    size_t bytes = out->open_bytes;

    out->open_bytes = 0;
    return bytes ? post(e, peer, stream, copy_of(e, out), bytes, why) : BANYAN_SUCCESS;
}

/* Into the message that is being filled; it has a slot since its first byte. */
static banyan_status offer_copy(banyan_messages_endpoint *e, banyan_message_peer *peer, int stream,
                                const void *memory, size_t bytes, size_t *taken, char *why)
{
    banyan_message_out *out = peer->out[stream];
    size_t room = e->copy_bytes - out->open_bytes;

    if (!out->open_bytes && !has_slot(out))
        return BANYAN_SUCCESS;
    *taken = bytes < room ? bytes : room;
    memcpy(copy_of(e, out) + out->open_bytes, memory, *taken);
    out->open_bytes += *taken;
    if (out->open_bytes > BANYAN_MESSAGES_SHORT || out->open_bytes == e->copy_bytes)
        return post_open(e, peer, stream, why);
    e->has_open = 1;
    return BANYAN_SUCCESS;
}

banyan_status banyan_messages_offer(banyan_messages_endpoint *e, banyan_message_peer *peer, int stream,
                                    const void *memory, size_t bytes, size_t *taken, char *why)
{
    banyan_message_out *out = peer->out[stream];
    banyan_status status;

    *taken = 0;
    if (e->engine->keeps_memory || bytes + out->open_bytes <= e->copy_bytes)
        return offer_copy(e, peer, stream, memory, bytes, taken, why);
    status = post_open(e, peer, stream, why);
    if (status || !has_slot(out))
        return status;
    *taken = bytes < e->message_bytes ? bytes : e->message_bytes;
    return post(e, peer, stream, memory, *taken, why);
}

static size_t write_notes(banyan_message_peer *peer)
{
    unsigned char *to = peer->notes_out;
    const unsigned char *end = to + sizeof peer->notes_out;

    for (int i = 0; i < peer->in_count && peer->notes_due && to < end; i++) {
        banyan_message_in *in = peer->in[i];

        if (!in->is_due)
            continue;
        in->is_due = 0;
        in->granted = in->taken;
        peer->notes_due--;
        banyan_put32(to, (uint32_t)i);
        banyan_put64(to + 4, in->taken + SLOTS);
        to += BANYAN_MESSAGES_NOTE;
    }
    if (peer->says_bye && !peer->said_bye && to < end) {
        peer->said_bye = 1;
        banyan_put32(to, BANYAN_MESSAGES_BYE);
        banyan_put64(to + 4, 0);
        to += BANYAN_MESSAGES_NOTE;
    }
    return (size_t)(to - peer->notes_out);
}

/* One control message is under way at a time. */
static banyan_status send_notes(banyan_messages_endpoint *e, banyan_message_peer *peer, char *why)
{
    size_t bytes;

    if (peer->has_control_out && !peer->control_out.is_done)
        return BANYAN_SUCCESS;
    peer->has_control_out = 0;
    bytes = peer->notes_due || (peer->says_bye && !peer->said_bye) ? write_notes(peer) : 0;
    if (!bytes)
        return BANYAN_SUCCESS;
    peer->control_out = (banyan_ticket){0};
    peer->has_control_out = 1;
    return e->engine->send(e->port, peer->member, BANYAN_MESSAGES_CONTROL, peer->notes_out, bytes,
                           &peer->control_out, why);
}

banyan_status banyan_messages_push(banyan_messages_endpoint *e, banyan_message_peer *peer, char *why)
{
    banyan_status status = BANYAN_SUCCESS;

    if (peer->has_control_out && !peer->control_out.is_done)
        return BANYAN_IN_PROGRESS;
    if (!peer->wants_push)
        return BANYAN_SUCCESS;
    peer->wants_push = 0;
    peer->control_out = (banyan_ticket){0};
    peer->has_control_out = 1;
    status = e->engine->send(e->port, peer->member, BANYAN_MESSAGES_CONTROL, peer->notes_out, 0,
                             &peer->control_out, why);
    return status || peer->control_out.is_done ? status : BANYAN_IN_PROGRESS;
}

banyan_status banyan_messages_flush(banyan_messages_endpoint *e, banyan_message_peer *peer, char *why)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int i = 0; i < peer->out_count && !status; i++)
        status = post_open(e, peer, i, why);
    return status ? status : send_notes(e, peer, why);
}

banyan_status banyan_messages_consume(banyan_messages_endpoint *e, banyan_message_peer *peer, int stream,
                                      size_t bytes, char *why)
{
    banyan_message_in *in = peer->in[stream];
    banyan_status status;

    in->used += bytes;
    if (!bytes || in->used < in->tickets[in->taken % SLOTS].bytes)
        return BANYAN_SUCCESS;
    in->used = 0;
    status = await_message(e, peer, stream, in->taken++, why);
    if (status || in->is_due || in->taken - in->granted < GRANT)
        return status;
    in->is_due = 1;
    peer->notes_due++;
    return send_notes(e, peer, why);
}

static banyan_status read_note(banyan_message_peer *peer, const unsigned char *note, char *why)
{
    uint32_t stream = banyan_get32(note);
    uint64_t credit = banyan_get64(note + 4);
    banyan_message_out *out;

    if (stream == BANYAN_MESSAGES_BYE) {
        peer->heard_bye = 1;
        return BANYAN_SUCCESS;
    }
    out = stream < (uint32_t)peer->out_count ? peer->out[stream] : NULL;
    if (!out || credit < out->credit || credit > out->posted + SLOTS)
        return strange(why, "a credit that cannot be");
    out->credit = credit;
    return BANYAN_SUCCESS;
}

banyan_status banyan_messages_serve_control(banyan_messages_endpoint *e, banyan_message_peer *peer, char *why)
{
    banyan_ticket *ticket = &peer->control_in[peer->control_next];
    banyan_status status = BANYAN_SUCCESS;

    while (ticket->is_done && !status) {
        if (ticket->bytes % BANYAN_MESSAGES_NOTE)
            return strange(why, "a credit that cannot be");
        for (size_t at = 0; at < ticket->bytes && !status; at += BANYAN_MESSAGES_NOTE)
            status = read_note(peer, peer->notes_in[peer->control_next] + at, why);
        if (!status)
            status = await_notes(e, peer, peer->control_next, why);
        peer->control_next = (peer->control_next + 1) % BANYAN_MESSAGES_CONTROL_SLOTS;
        ticket = &peer->control_in[peer->control_next];
    }
    return status ? status : send_notes(e, peer, why);
}
