/* SPDX-License-Identifier: Apache-2.0 */
/* core/protobuf.c: varints are seven bits a byte, the lowest first; a field's head is its number and type in
 * one. */
#include "core/protobuf.h"

int banyan_protobuf_next_varint(banyan_protobuf *message, uint64_t *out)
{
    const unsigned char *at = message->at;
    uint64_t value = 0;

    if (at == message->end)
        return 0;
    for (int shift = 0; shift < 70 && at < message->end; shift += 7) {
        unsigned char byte = *at++;

        if (shift == 63 && byte > 1)
            return -1;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            message->at = at;
            *out = value;
            return 1;
        }
    }
    return -1;
}

static int next_fixed(banyan_protobuf *message, int bytes, uint64_t *out)
{
    *out = 0;
    if (message->end - message->at < bytes)
        return -1;
    for (int i = 0; i < bytes; i++)
        *out |= (uint64_t)*message->at++ << (8 * i);
    return 1;
}

static int next_bytes(banyan_protobuf *message, banyan_protobuf *out)
{
    uint64_t length;

    if (banyan_protobuf_next_varint(message, &length) != 1 || length > (uint64_t)(message->end - message->at))
        return -1;
    *out = (banyan_protobuf){message->at, message->at + length};
    message->at += length;
    return 1;
}

int banyan_protobuf_next(banyan_protobuf *message, banyan_protobuf_field *out)
{
    banyan_protobuf rest = *message;
    uint64_t head;
    int result = banyan_protobuf_next_varint(&rest, &head);

    if (result != 1)
        return result;
    if (head >> 3 == 0 || head >> 3 > 0x1fffffff)
        return -1;
    *out = (banyan_protobuf_field){.number = (int)(head >> 3), .type = (int)(head & 7)};
    switch (out->type) {
    case BANYAN_PROTOBUF_VARINT:
        result = banyan_protobuf_next_varint(&rest, &out->value);
        break;
    case BANYAN_PROTOBUF_FIXED64:
        result = next_fixed(&rest, 8, &out->value);
        break;
    case BANYAN_PROTOBUF_BYTES:
        result = next_bytes(&rest, &out->bytes);
        break;
    case BANYAN_PROTOBUF_FIXED32:
        result = next_fixed(&rest, 4, &out->value);
        break;
    default:
        return -1;
    }
    if (result != 1)
        return -1;
    *message = rest;
    return 1;
}

void banyan_protobuf_add_varint(banyan_text *out, uint64_t value)
{
    char bytes[10];
    size_t length = 0;

    do {
        bytes[length] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        length++;
        value >>= 7;
    } while (value);
    banyan_text_add_bytes(out, bytes, length);
}

void banyan_protobuf_add_number(banyan_text *out, int number, uint64_t value)
{
    banyan_protobuf_add_varint(out, (uint64_t)number << 3 | BANYAN_PROTOBUF_VARINT);
    banyan_protobuf_add_varint(out, value);
}

void banyan_protobuf_add_bytes(banyan_text *out, int number, const char *bytes, size_t length)
{
    banyan_protobuf_add_varint(out, (uint64_t)number << 3 | BANYAN_PROTOBUF_BYTES);
    banyan_protobuf_add_varint(out, length);
    banyan_text_add_bytes(out, bytes, length);
}
