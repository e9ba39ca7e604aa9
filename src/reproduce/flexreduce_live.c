/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/flexreduce_live.c: reading what bench/flexreduce_live.py and bench/flexreduce_ddp.py measured. */
#include "reproduce/flexreduce_live.h"

#include <string.h>

#include "reproduce/internal.h"

/* Of all cases the seconds in that field; 0 where one lacks them. */
static int read_column(const banyan_json *document, const char *field, double out[FLEXREDUCE_LIVE_CASES])
{
    const banyan_json *results = banyan_json_field(document, "results");
    int is_there = results && banyan_json_count(results) == FLEXREDUCE_LIVE_CASES;

    for (int i = 0; is_there && i < FLEXREDUCE_LIVE_CASES; i++) {
        out[i] = banyan_reproduce_number_of(banyan_json_item(results, (size_t)i), field);
        is_there = out[i] > 0;
    }
    return is_there;
}

banyan_status flexreduce_live_load(flexreduce_live *out, banyan_error *err)
{
    banyan_json *document;
    banyan_status status;

    memset(out, 0, sizeof *out);
    status = live_load("flexreduce-live.json", &document, out->about, err);
    if (status || !document)
        return status;
    out->bytes = banyan_reproduce_number_of(document, "bytes");
    out->bytes_per_s = banyan_reproduce_number_of(document, "bytes_per_s");
    out->is_there = out->bytes > 0 && out->bytes_per_s > 0 && read_column(document, "ring_s", out->ring_s) &&
                    read_column(document, "flexreduce_s", out->flexreduce_s);
    banyan_json_destroy(document);
    return BANYAN_SUCCESS;
}

banyan_status flexreduce_ddp_load(flexreduce_ddp *out, banyan_error *err)
{
    banyan_json *document;
    banyan_status status;

    memset(out, 0, sizeof *out);
    status = live_load("flexreduce-ddp.json", &document, out->about, err);
    if (status || !document)
        return status;
    out->bytes_per_s = banyan_reproduce_number_of(document, "bytes_per_s");
    out->batch = banyan_reproduce_number_of(document, "batch");
    out->parameters =
        banyan_reproduce_number_of(banyan_json_item(banyan_json_field(document, "results"), 0), "parameters");
    out->is_there = out->bytes_per_s > 0 && out->batch > 0 &&
                    read_column(document, "compute_s", out->compute_s) &&
                    read_column(document, "ring_s", out->ring_s) &&
                    read_column(document, "blueconnect_s", out->blueconnect_s) &&
                    read_column(document, "flexreduce_s", out->flexreduce_s);
    banyan_json_destroy(document);
    return BANYAN_SUCCESS;
}
