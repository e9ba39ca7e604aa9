/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/flexreduce_live.c: reading what bench/flexreduce_live.py measured. */
#include "reproduce/flexreduce_live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/data.h"
#include "core/file.h"
#include "reproduce/internal.h"

static void read_document(const banyan_json *document, flexreduce_live *out)
{
    const banyan_json *results = banyan_json_field(document, "results");

    out->bytes = banyan_reproduce_number_of(document, "bytes");
    out->bytes_per_s = banyan_reproduce_number_of(document, "bytes_per_s");
    out->is_there = out->bytes > 0 && out->bytes_per_s > 0 && results &&
                    banyan_json_count(results) == FLEXREDUCE_LIVE_CASES;
    for (int i = 0; out->is_there && i < FLEXREDUCE_LIVE_CASES; i++) {
        const banyan_json *row = banyan_json_item(results, (size_t)i);

        out->ring_s[i] = banyan_reproduce_number_of(row, "ring_s");
        out->flexreduce_s[i] = banyan_reproduce_number_of(row, "flexreduce_s");
        out->is_there = out->ring_s[i] > 0 && out->flexreduce_s[i] > 0;
    }
    snprintf(out->about, sizeof out->about, "%s, %s, %s", banyan_reproduce_string_of(document, "command"),
             banyan_reproduce_string_of(document, "when"), banyan_reproduce_string_of(document, "machine"));
}

banyan_status flexreduce_live_load(flexreduce_live *out, banyan_error *err)
{
    char path[BANYAN_DATA_PATH_SIZE], *text = NULL;
    banyan_json *document = NULL;
    banyan_status status;
    size_t length;

    memset(out, 0, sizeof *out);
    if (!banyan_data_find("reproduce", "flexreduce-live.json", path))
        return BANYAN_SUCCESS;
    status = banyan_file_load(path, &text, &length, err);
    if (!status)
        status = banyan_json_parse(text, length, &document, err);
    if (!status)
        read_document(document, out);
    else
        banyan_error_prefix(err, path);
    banyan_json_destroy(document);
    banyan_free(text);
    return status;
}
