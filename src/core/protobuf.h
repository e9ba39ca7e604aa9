/* SPDX-License-Identifier: Apache-2.0 */
/* core/protobuf.h: the wire format of Protocol Buffers: fields with a number and one of four types. What a
 * field means is its reader's to know. */
#ifndef BANYAN_CORE_PROTOBUF_H
#define BANYAN_CORE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

/* A message that is read: what is left of it. */
typedef struct {
    const unsigned char *at, *end;
} banyan_protobuf;

enum {
    BANYAN_PROTOBUF_VARINT = 0,
    BANYAN_PROTOBUF_FIXED64 = 1,
    BANYAN_PROTOBUF_BYTES = 2,
    BANYAN_PROTOBUF_FIXED32 = 5
};

typedef struct {
    int number, type;      /* one of the four above */
    uint64_t value;        /* of the numbers */
    banyan_protobuf bytes; /* of strings, messages and packed numbers; borrowed */
} banyan_protobuf_field;

/* Each returns 1 and moves on, 0 at the end of the message, or -1 where the bytes are no field (number) and
 * stays. */
int banyan_protobuf_next(banyan_protobuf *message, banyan_protobuf_field *out);
int banyan_protobuf_next_varint(banyan_protobuf *message, uint64_t *out);

/* ---- Writing: a text holds the bytes. */

void banyan_protobuf_add_varint(banyan_text *out, uint64_t value); /* without a field's head */
void banyan_protobuf_add_number(banyan_text *out, int number, uint64_t value);
void banyan_protobuf_add_bytes(banyan_text *out, int number, const char *bytes, size_t length);

#endif
