/* SPDX-License-Identifier: Apache-2.0 */
/* transport/messages_meet.c: before the first message: everybody tells whether its engine is there and how it
 * is reached, so that all take it or none does, with the same sentence.
 *
 * A record: status 0, bytes of the address 4, message_bytes 8, sentence 12. Who is in no process leaves
 * zeros. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "transport/bytes.h"
#include "transport/messages_internal.h"

enum { SENTENCE = 12, RECORD = SENTENCE + BANYAN_MESSAGE_ENGINE_SENTENCE, LONGEST_ADDRESS = 65536 };

typedef struct {
    unsigned char *records; /* by member */
    unsigned char *padded;  /* ours */
    unsigned char *all;     /* addresses, by member, each of `longest` bytes */
    size_t longest;
    const void **addresses;
    size_t *bytes;
} introduction;

static banyan_status check_record(const banyan_messages_endpoint *e, int member, const unsigned char *record,
                                  banyan_error *err)
{
    banyan_status status = (banyan_status)(banyan_get32(record) & 0xff);
    size_t bytes = banyan_get32(record + 4), message_bytes = banyan_get32(record + 8);
    char name[64], own[64];

    if (status)
        return banyan_fail(err, status, "%s: %.*s", e->name(e->context, member, name, sizeof name),
                           BANYAN_MESSAGE_ENGINE_SENTENCE - 1, (const char *)record + SENTENCE);
    if (bytes > LONGEST_ADDRESS)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "%s has an address of %zu bytes",
                           e->name(e->context, member, name, sizeof name), bytes);
    if (bytes && message_bytes != e->message_bytes)
        return banyan_fail(err, BANYAN_MISMATCH, "BANYAN_MESSAGE_BYTES differs: %s has %zu, %s has %zu",
                           e->name(e->context, e->base.member, own, sizeof own), e->message_bytes,
                           e->name(e->context, member, name, sizeof name), message_bytes);
    return BANYAN_SUCCESS;
}

static banyan_status exchange_records(const banyan_messages_endpoint *e,
                                      const banyan_messages_meeting *meeting, banyan_status outcome,
                                      const banyan_error *why, introduction *i, banyan_error *err)
{
    unsigned char mine[RECORD] = {0};
    size_t bytes = 0;
    banyan_status status;

    if (!outcome)
        e->engine->address(e->port, &bytes);
    banyan_put32(mine, (uint32_t)outcome);
    banyan_put32(mine + 4, (uint32_t)bytes);
    banyan_put32(mine + 8, (uint32_t)e->message_bytes);
    snprintf((char *)mine + SENTENCE, BANYAN_MESSAGE_ENGINE_SENTENCE, "%.*s",
             BANYAN_MESSAGE_ENGINE_SENTENCE - 1, why->text);
    i->records = banyan_alloc((size_t)e->base.member_count, RECORD);
    if (!i->records)
        return banyan_fail_memory(err);
    status = meeting->exchange.allgather(meeting->exchange.context, mine, sizeof mine, i->records,
                                         meeting->deadline_ns, err);
    for (int m = 0; m < e->base.member_count && !status; m++) {
        const unsigned char *record = i->records + (size_t)m * RECORD;

        status = check_record(e, m, record, err);
        if (banyan_get32(record + 4) > i->longest)
            i->longest = banyan_get32(record + 4);
    }
    return status;
}

static banyan_status exchange_addresses(const banyan_messages_endpoint *e,
                                        const banyan_messages_meeting *meeting, introduction *i,
                                        banyan_error *err)
{
    size_t count = (size_t)e->base.member_count, bytes;
    const void *mine = e->engine->address(e->port, &bytes);
    banyan_status status;

    i->padded = banyan_alloc(1, i->longest);
    i->all = banyan_alloc(count, i->longest);
    i->addresses = banyan_alloc(count, sizeof *i->addresses);
    i->bytes = banyan_alloc(count, sizeof *i->bytes);
    if (!i->padded || !i->all || !i->addresses || !i->bytes)
        return banyan_fail_memory(err);
    memcpy(i->padded, mine, bytes);
    status = meeting->exchange.allgather(meeting->exchange.context, i->padded, i->longest, i->all,
                                         meeting->deadline_ns, err);
    for (size_t m = 0; m < count && !status; m++) {
        i->addresses[m] = i->all + m * i->longest;
        i->bytes[m] = banyan_get32(i->records + m * RECORD + 4);
    }
    return status;
}

static int left_ms(int64_t deadline_ns)
{
    int64_t left = (deadline_ns - banyan_clock_ns()) / 1000000;

    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

banyan_status banyan_messages_introduce(banyan_messages_endpoint *e, const banyan_messages_meeting *meeting,
                                        banyan_status outcome, const banyan_error *why, banyan_error *err)
{
    introduction i = {0};
    char sentence[BANYAN_MESSAGE_ENGINE_SENTENCE] = "";
    banyan_status status = exchange_records(e, meeting, outcome, why, &i, err);

    if (!status)
        status = exchange_addresses(e, meeting, &i, err);
    if (!status) {
        status = e->engine->meet(e->port, i.addresses, i.bytes, left_ms(meeting->deadline_ns), sentence);
        if (status)
            banyan_fail(err, status, "%s: %s", e->base.transport->name, sentence);
    }
    banyan_free(i.records);
    banyan_free(i.padded);
    banyan_free(i.all);
    banyan_free(i.addresses);
    banyan_free(i.bytes);
    return status;
}
