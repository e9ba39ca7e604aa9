/* SPDX-License-Identifier: Apache-2.0 */
/* core/gzip.c: the one file that meets zlib. */
#include "core/gzip.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "core/alloc.h"
#include "core/text.h"

enum { BLOCK_BYTES = 1 << 16, GZIP_WINDOW = 15 + 16 };

int banyan_gzip_looks_like(const char *bytes, size_t length)
{
    return length >= 3 && !memcmp(bytes, "\x1f\x8b\x08", 3);
}

static void *allocate(void *context, unsigned count, unsigned size)
{
    (void)context;
    return banyan_alloc(count, size);
}

static void release(void *context, void *memory)
{
    (void)context;
    banyan_free(memory);
}

static banyan_status unpack(z_stream *stream, size_t length, size_t most, banyan_text *out, banyan_error *err)
{
    unsigned char block[BLOCK_BYTES];
    int result = Z_OK;

    while (result == Z_OK || (result == Z_STREAM_END && stream->avail_in)) {
        if (result == Z_STREAM_END && inflateReset(stream) != Z_OK) /* another member follows */
            break;
        stream->next_out = block;
        stream->avail_out = sizeof block;
        result = inflate(stream, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END)
            break;
        banyan_text_add_bytes(out, (const char *)block, sizeof block - stream->avail_out);
        if (out->length > most)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "unpacked, the file has more than %zu bytes",
                               most);
        if (out->failed)
            return banyan_fail_memory(err);
        if (result == Z_OK && !stream->avail_in && stream->avail_out)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "byte %zu: the packed file is cut off", length);
    }
    if (result == Z_MEM_ERROR)
        return banyan_fail_memory(err);
    if (result != Z_STREAM_END)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "byte %zu: the packed file is damaged (%s)",
                           length - stream->avail_in, stream->msg ? stream->msg : "zlib cannot read it");
    return BANYAN_SUCCESS;
}

banyan_status banyan_gzip_unpack(const char *bytes, size_t length, size_t most, char **out,
                                 size_t *out_length, banyan_error *err)
{
    z_stream stream = {.zalloc = allocate, .zfree = release};
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status;

    *out = NULL;
    if (length > UINT_MAX)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the packed file is larger than 4 GiB");
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return banyan_fail_memory(err);
    stream.next_in = (unsigned char *)bytes; /* zlib does not write there */
    stream.avail_in = (unsigned)length;
    status = unpack(&stream, length, most, &text, err);
    inflateEnd(&stream);
    banyan_text_add_bytes(&text, "", 0);
    *out_length = text.length;
    if (!status)
        status = banyan_text_take(&text, out, err);
    banyan_text_fini(&text);
    return status;
}
