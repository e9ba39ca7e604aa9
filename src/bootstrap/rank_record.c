/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/rank_record.c: a record's fields stand at fixed places, low byte first, except for the word that
 * tells the byte order of the machine. */
#include "bootstrap/rank_record.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "bootstrap/quorum.h"
#include "transport/bytes.h"

#define ADDRESS_BYTES 24

enum {
    PROTOCOL = 0,
    VERSION = 4,
    BYTE_ORDER_WORD = 8,
    SIZE = 12,
    RANK = 16,
    PROCESS = 20,
    FIRST_ADDRESS = 24,
    CONNECTIONS = FIRST_ADDRESS + ADDRESS_BYTES,
    LEARN_AND_FANOUT = CONNECTIONS + 4, /* 16 bits each */
    SLICE = 56,
    WINDOW = 64,
    HOST = 72,
    TOPOLOGY = HOST + BANYAN_RANK_RECORD_TEXT,
    ALGORITHM = TOPOLOGY + BANYAN_RANK_RECORD_TEXT,
    TRANSPORT = ALGORITHM + BANYAN_RANK_RECORD_TEXT,
    PLACE = TRANSPORT + BANYAN_RANK_RECORD_TEXT,
    SECRET = PLACE + BANYAN_RANK_RECORD_TEXT,
    OLD_RANK = SECRET + BANYAN_AUTH_BYTES,
    COLOR = OLD_RANK + 4,
    KEY = COLOR + 4,
    OTHERS = KEY + 4,
    QUORUM = OTHERS + (BANYAN_INTERFACES - 1) * ADDRESS_BYTES,
    END = QUORUM + 4
};

_Static_assert(END <= BANYAN_RANK_RECORD_BYTES, "a record has room for its fields");

static void put_text(unsigned char *to, const char *text)
{
    snprintf((char *)to, BANYAN_RANK_RECORD_TEXT, "%s", text);
}

/* Port and family (4 or 6; 0: none) in one word, scope, and the address itself. */
static void put_address(unsigned char *to, const banyan_address *address)
{
    uint32_t family = address->family == AF_INET ? 4 : address->family == AF_INET6 ? 6 : 0;

    banyan_put32(to, family << 16 | address->port);
    banyan_put32(to + 4, address->scope);
    memcpy(to + 8, address->bytes, 16);
}

static int get_address(const unsigned char *from, banyan_address *to)
{
    uint32_t word = banyan_get32(from), family = word >> 16;

    *to = (banyan_address){.family = family == 4   ? AF_INET
                                     : family == 6 ? AF_INET6
                                                   : 0,
                           .port = (uint16_t)word,
                           .scope = banyan_get32(from + 4)};
    memcpy(to->bytes, from + 8, 16);
    return family == 0 || family == 4 || family == 6;
}

void banyan_rank_record_write(const banyan_rank_record *record, unsigned char out[BANYAN_RANK_RECORD_BYTES])
{
    memset(out, 0, BANYAN_RANK_RECORD_BYTES);
    banyan_put32(out + PROTOCOL, (uint32_t)record->protocol);
    banyan_put32(out + VERSION, (uint32_t)record->version);
    memcpy(out + BYTE_ORDER_WORD, &record->byte_order, 4);
    banyan_put32(out + SIZE, (uint32_t)record->size);
    banyan_put32(out + RANK, (uint32_t)record->rank);
    banyan_put32(out + PROCESS, (uint32_t)record->process);
    put_address(out + FIRST_ADDRESS, &record->address);
    for (int i = 0; i < BANYAN_INTERFACES - 1; i++)
        put_address(out + OTHERS + ADDRESS_BYTES * i, &record->others[i]);
    banyan_put32(out + CONNECTIONS, (uint32_t)record->connections);
    banyan_put64(out + SLICE, record->slice_bytes);
    banyan_put64(out + WINDOW, record->window_bytes);
    put_text(out + HOST, record->host);
    put_text(out + PLACE, record->place);
    put_text(out + TOPOLOGY, record->topology);
    put_text(out + ALGORITHM, record->algorithm);
    put_text(out + TRANSPORT, record->transport);
    memcpy(out + SECRET, record->secret.bytes, BANYAN_AUTH_BYTES);
    banyan_put32(out + OLD_RANK, (uint32_t)record->old_rank);
    banyan_put32(out + COLOR, (uint32_t)record->color);
    banyan_put32(out + KEY, (uint32_t)record->key);
    banyan_put32(out + QUORUM, (uint32_t)record->quorum);
    banyan_put32(out + LEARN_AND_FANOUT, (uint32_t)record->fanout << 16 | (uint32_t)record->learn);
}

/* What is shown to people later must be plain text. */
static int get_text(const unsigned char *from, char *to)
{
    for (int i = 0; i < BANYAN_RANK_RECORD_TEXT; i++) {
        to[i] = (char)from[i];
        if (!from[i])
            return 1;
        if (from[i] < 0x20 || from[i] == 0x7f)
            return 0;
    }
    return 0;
}

banyan_status banyan_rank_record_read(const unsigned char in[BANYAN_RANK_RECORD_BYTES],
                                      banyan_rank_record *out, banyan_error *err)
{
    int is_sound;
    banyan_rank_record record = {.protocol = (int)banyan_get32(in + PROTOCOL),
                                 .version = (int)banyan_get32(in + VERSION),
                                 .size = (int)banyan_get32(in + SIZE),
                                 .rank = (int)banyan_get32(in + RANK),
                                 .process = (int)banyan_get32(in + PROCESS),
                                 .connections = (int)banyan_get32(in + CONNECTIONS),
                                 .slice_bytes = banyan_get64(in + SLICE),
                                 .window_bytes = banyan_get64(in + WINDOW),
                                 .old_rank = (int)banyan_get32(in + OLD_RANK),
                                 .color = (int)banyan_get32(in + COLOR),
                                 .key = (int)banyan_get32(in + KEY),
                                 .quorum = (int)banyan_get32(in + QUORUM),
                                 .learn = (int)(banyan_get32(in + LEARN_AND_FANOUT) & 0xffff),
                                 .fanout = (int)(banyan_get32(in + LEARN_AND_FANOUT) >> 16)};

    memcpy(&record.byte_order, in + BYTE_ORDER_WORD, 4);
    is_sound = get_address(in + FIRST_ADDRESS, &record.address);
    for (int i = 0; i < BANYAN_INTERFACES - 1; i++)
        is_sound &= get_address(in + OTHERS + ADDRESS_BYTES * i, &record.others[i]);
    memcpy(record.secret.bytes, in + SECRET, BANYAN_AUTH_BYTES);
    if (record.protocol == 0)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "a rank's record is empty");
    if (record.size < 1 || record.size > BANYAN_MAX_RANKS || record.rank < 0 || record.rank >= record.size)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "a record says rank %d of %d", record.rank, record.size);
    if (!get_text(in + HOST, record.host) || !get_text(in + PLACE, record.place) ||
        !get_text(in + TOPOLOGY, record.topology) || !get_text(in + ALGORITHM, record.algorithm) ||
        !get_text(in + TRANSPORT, record.transport) || !is_sound)
        return banyan_fail(err, BANYAN_REMOTE_ERROR, "the record of rank %d holds rubbish", record.rank);
    *out = record;
    return BANYAN_SUCCESS;
}

static banyan_status differ(banyan_error *err, const char *what, int rank, const char *first,
                            const char *other)
{
    return banyan_fail(err, BANYAN_MISMATCH, "%s differs: rank 0 has %s, rank %d has %s", what,
                       *first ? first : "none", rank, *other ? other : "none");
}

static banyan_status compare_number(banyan_error *err, const char *what, int rank, uint64_t first,
                                    uint64_t other)
{
    char a[24], b[24];

    if (first == other)
        return BANYAN_SUCCESS;
    snprintf(a, sizeof a, "%llu", (unsigned long long)first);
    snprintf(b, sizeof b, "%llu", (unsigned long long)other);
    return differ(err, what, rank, a, b);
}

static banyan_status compare_text(banyan_error *err, const char *what, int rank, const char *first,
                                  const char *other)
{
    return strcmp(first, other) ? differ(err, what, rank, first, other) : BANYAN_SUCCESS;
}

static banyan_status compare_two(const banyan_rank_record *first, const banyan_rank_record *other, int rank,
                                 banyan_error *err)
{
    char rule[BANYAN_QUORUM_TEXT], other_rule[BANYAN_QUORUM_TEXT];
    banyan_status status;

    if (first->protocol != other->protocol)
        return banyan_fail(err, BANYAN_VERSION_MISMATCH, "rank 0 speaks protocol %d, rank %d speaks %d",
                           first->protocol, rank, other->protocol);
    if (first->version / 100 != other->version / 100)
        return banyan_fail(err, BANYAN_VERSION_MISMATCH,
                           "rank 0 has Banyan %d.%d, rank %d has %d.%d; both must be the same",
                           first->version / 10000, first->version / 100 % 100, rank, other->version / 10000,
                           other->version / 100 % 100);
    if (first->byte_order != other->byte_order)
        return banyan_fail(err, BANYAN_MISMATCH,
                           "rank 0 (%s) and rank %d (%s) write numbers in different byte orders", first->host,
                           rank, other->host);
    if (rank != other->rank)
        return banyan_fail(err, BANYAN_MISMATCH,
                           "the process that should be rank %d (%s, process %d) says rank %d", rank,
                           other->host, other->process, other->rank);
    status = compare_number(err, "the number of ranks", rank, (uint64_t)first->size, (uint64_t)other->size);
    if (!status)
        status = compare_text(err, "BANYAN_TOPO (digest)", rank, first->topology, other->topology);
    if (!status)
        status = compare_text(err, "BANYAN_ALGO", rank, first->algorithm, other->algorithm);
    if (!status)
        status = compare_text(err, "BANYAN_TRANSPORT", rank, first->transport, other->transport);
    if (!status)
        status = compare_text(err, "BANYAN_SHRINK", rank, banyan_quorum_format(first->quorum, rule),
                              banyan_quorum_format(other->quorum, other_rule));
    if (!status)
        status = compare_number(err, "BANYAN_LEARN", rank, (uint64_t)first->learn, (uint64_t)other->learn);
    if (!status)
        status = compare_number(err, "BANYAN_CONTROL_FANOUT", rank, (uint64_t)first->fanout,
                                (uint64_t)other->fanout);
    if (!status)
        status = compare_number(err, "BANYAN_SLICE_BYTES", rank, first->slice_bytes, other->slice_bytes);
    if (!status)
        status = compare_number(err, "BANYAN_TCP_CONNECTIONS", rank, (uint64_t)first->connections,
                                (uint64_t)other->connections);
    return status;
}

banyan_status banyan_rank_records_compare(const banyan_rank_record *records, int size, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    for (int rank = 0; rank < size && !status; rank++)
        status = compare_two(&records[0], &records[rank], rank, err);
    return status;
}
