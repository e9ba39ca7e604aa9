/* SPDX-License-Identifier: Apache-2.0 */
/* topology/nccl_tests.c: the reader of nccl-tests' JSON, versions 1 and 2.
 *
 *     {"version": 2, "args": ["./all_reduce_perf", ...], "nccl_version": 22809,
 *      "config": {"nthreads": 1, "ngpus": 1, "devices": [{"rank": 0, "hostname": "a"}, ...]},
 *      "results": [{"size": 1024, "out_of_place": {"time": 11.2, "alg_bw": 0.09, "bus_bw": 0.16},
 *                   "in_place": ...}]}
 *
 * A process lists one device, however many threads and GPUs it drives: the ranks are processes x nthreads x
 * ngpus, in order. Times are in us, bandwidths in GB/s. */
#include "topology/nccl_tests.h"

#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"

enum { MAX_RANKS = 65536, MAX_ROWS = 65536 };

typedef struct {
    banyan_nccl_tests *results;
    banyan_error *err;
} reader;

static banyan_status complain(const reader *in, const char *what)
{
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "%s", what);
}

static const banyan_json *object_field(const banyan_json *object, const char *key)
{
    return object && banyan_json_kind(object) == BANYAN_JSON_OBJECT ? banyan_json_field(object, key) : NULL;
}

/* An array under the key that is not empty, or NULL. */
static const banyan_json *list_field(const banyan_json *object, const char *key)
{
    const banyan_json *list = object_field(object, key);

    return list && banyan_json_kind(list) == BANYAN_JSON_ARRAY && banyan_json_count(list) ? list : NULL;
}

static int64_t integer_field(const banyan_json *object, const char *key, int64_t otherwise)
{
    const banyan_json *value = object_field(object, key);
    int64_t number;

    return value && banyan_json_get_integer(value, &number) ? number : otherwise;
}

static void read_program(banyan_nccl_tests *results, const banyan_json *document)
{
    const banyan_json *list = list_field(document, "args");
    const char *path = "", *slash;

    if (list)
        banyan_json_get_string(banyan_json_item(list, 0), &path);
    slash = strrchr(path, '/');
    strncpy(results->program, slash ? slash + 1 : path, sizeof results->program - 1);
}

/* The host's number, by a walk over those known: there are few beside the ranks, and neighbours share one. */
static int find_host(banyan_nccl_tests *results, const char *name)
{
    for (int i = results->host_count - 1; i >= 0; i--)
        if (!strcmp(results->hosts[i], name))
            return i;
    results->hosts[results->host_count] = banyan_strdup(name);
    return results->hosts[results->host_count] ? results->host_count++ : -1;
}

static banyan_status read_devices(reader *in, const banyan_json *config)
{
    const banyan_json *devices = list_field(config, "devices");
    int64_t each = integer_field(config, "nthreads", 1) * integer_field(config, "ngpus", 1);
    banyan_nccl_tests *results = in->results;

    if (!devices)
        return complain(in, "there are no \"devices\" in \"config\"");
    if (each < 1 || each > MAX_RANKS || banyan_json_count(devices) > MAX_RANKS / (size_t)each)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "there are not 1 to %d ranks", MAX_RANKS);
    results->rank_count = (int)(each * (int64_t)banyan_json_count(devices));
    results->host_of = banyan_alloc((size_t)results->rank_count, sizeof *results->host_of);
    results->hosts = banyan_alloc(banyan_json_count(devices), sizeof *results->hosts);
    if (!results->host_of || !results->hosts)
        return banyan_fail_memory(in->err);
    for (int rank = 0; rank < results->rank_count; rank++) {
        size_t process = (size_t)rank / (size_t)each;
        const banyan_json *name = object_field(banyan_json_item(devices, process), "hostname");
        const char *text;

        if (!name || !banyan_json_get_string(name, &text) || !*text)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "device %zu has no \"hostname\"", process);
        results->host_of[rank] = find_host(results, text);
        if (results->host_of[rank] < 0)
            return banyan_fail_memory(in->err);
    }
    return BANYAN_SUCCESS;
}

/* Sets what is faster than before; a half without times (null, "nan", -1) is passed over. */
static void read_half(const banyan_json *row, const char *key, banyan_nccl_tests_row *out)
{
    const banyan_json *half = object_field(row, key);
    const banyan_json *time = object_field(half, "time"), *bus = object_field(half, "bus_bw");
    double microseconds, gigabytes;

    if (!time || !bus || !banyan_json_get_number(time, &microseconds) ||
        !banyan_json_get_number(bus, &gigabytes))
        return;
    if (microseconds <= 0 || gigabytes < 0 || (out->seconds > 0 && out->seconds <= microseconds * 1e-6))
        return;
    out->seconds = microseconds * 1e-6;
    out->bus_bytes_per_s = gigabytes * 1e9;
}

static banyan_status read_rows(reader *in, const banyan_json *rows)
{
    banyan_nccl_tests *results = in->results;
    size_t count = rows ? banyan_json_count(rows) : 0;

    if (!count || count > MAX_ROWS)
        return complain(in, "there is no array \"results\" of 1 to 65536 rows");
    results->rows = banyan_alloc(count, sizeof *results->rows);
    if (!results->rows)
        return banyan_fail_memory(in->err);
    for (size_t i = 0; i < count; i++) {
        const banyan_json *row = banyan_json_item(rows, i);
        int64_t bytes = integer_field(row, "size", -1);
        banyan_nccl_tests_row read = {.bytes = (double)bytes};

        if (bytes < 0)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "row %zu of \"results\" has no \"size\"", i);
        read_half(row, "out_of_place", &read);
        read_half(row, "in_place", &read);
        if (bytes && read.seconds > 0)
            results->rows[results->row_count++] = read;
    }
    return results->row_count ? BANYAN_SUCCESS : complain(in, "no row of \"results\" has a time");
}

banyan_status banyan_nccl_tests_parse(const char *text, size_t length, banyan_nccl_tests **out,
                                      banyan_error *err)
{
    banyan_json *document = NULL;
    reader in = {.err = err};
    banyan_status status;

    *out = NULL;
    in.results = banyan_alloc(1, sizeof *in.results);
    status = in.results ? banyan_json_parse(text, length, &document, err) : banyan_fail_memory(err);
    if (!status && !list_field(document, "results"))
        status = complain(&in, "there is no array \"results\" of 1 to 65536 rows");
    if (!status) {
        read_program(in.results, document);
        status = read_devices(&in, object_field(document, "config"));
    }
    if (!status)
        status = read_rows(&in, list_field(document, "results"));
    if (!status) {
        *out = in.results;
        in.results = NULL;
    }
    banyan_json_destroy(document);
    banyan_nccl_tests_destroy(in.results);
    return status;
}

void banyan_nccl_tests_destroy(banyan_nccl_tests *results)
{
    if (!results)
        return;
    for (int i = 0; i < results->host_count; i++)
        banyan_free(results->hosts[i]);
    banyan_free(results->hosts);
    banyan_free(results->host_of);
    banyan_free(results->rows);
    banyan_free(results);
}

/* The environment, which may be long, stands before what tells. */
int banyan_nccl_tests_looks_like(const char *text, size_t length)
{
    size_t start = 0;

    while (start < length && text[start] && strchr(" \t\r\n", text[start]))
        start++;
    return start < length && text[start] == '{' && memmem(text, length, "\"nccl_version\"", 14) &&
           memmem(text, length, "\"bus_bw\"", 8);
}
