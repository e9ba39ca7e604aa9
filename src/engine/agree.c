/* SPDX-License-Identifier: Apache-2.0 */
/* engine/agree.c: do all ranks mean the same gradients.
 *
 * Rank 0 sends its list; every other rank looks for each of rank 0's names among its own, whatever their
 * order, and compares; then everybody's verdict goes to everybody, and all fail with the words of the lowest
 * rank that found something. The list is a line of what the config says, then 'COUNT TYPE NAME' a line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/text.h"
#include "engine/engine.h"

enum { VERDICT_BYTES = 400, MAX_LIST_BYTES = 64 << 20 };

typedef struct {
    const char *name;
    int tensor;
} by_name;

typedef struct {
    size_t count;
    banyan_datatype type;
    char name[BANYAN_ENGINE_NAME];
} entry;

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const by_name *)a)->name, ((const by_name *)b)->name);
}

static void describe_config(const banyan_train *train, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s, policy %.60s, cost %.120s, %d streams, %d profiled, drift %g, unused %s",
             banyan_op_string(train->config.op), train->policy_text,
             *train->cost_text ? train->cost_text : "measured", train->config.streams,
             train->config.profile_iterations, train->config.drift, train->config.unused ? "zeros" : "error");
}

static void write_list(const banyan_train *train, banyan_text *text)
{
    char config[320];

    describe_config(train, config, sizeof config);
    banyan_text_add(text, "%s\n", config);
    for (int i = 0; i < train->tensor_count; i++) {
        const banyan_engine_tensor *tensor = &train->tensors[i];

        banyan_text_add(text, "%zu %d %s\n", tensor->count, (int)tensor->type, tensor->name);
    }
}

/* Rank 0's list, on all ranks; the caller frees it. */
static banyan_status share_list(banyan_train *train, char **out, banyan_error *err)
{
    banyan_comm *comm = train->streams[0].comm;
    banyan_text text = BANYAN_TEXT_EMPTY;
    int64_t length = 0;
    char *list = NULL;
    banyan_status status = BANYAN_SUCCESS;

    if (train->rank == 0)
        write_list(train, &text);
    length = text.failed ? -1 : (int64_t)text.length;
    status = banyan_broadcast(&length, &length, 1, BANYAN_INT64, 0, comm);
    if (status)
        banyan_fail(err, status, "%s", banyan_last_error(comm));
    else if (length <= 0 || length > MAX_LIST_BYTES)
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR,
                             "rank 0 has no memory for its list of gradients, or too long a one");
    else if (!(list = banyan_alloc((size_t)length + 1, 1)))
        status = banyan_fail_memory(err);
    if (!status && train->rank == 0)
        memcpy(list, text.bytes, (size_t)length);
    banyan_text_fini(&text);
    if (!status && (status = banyan_broadcast(list, list, (size_t)length, BANYAN_UINT8, 0, comm)))
        banyan_fail(err, status, "%s", banyan_last_error(comm));
    if (status)
        banyan_free(list);
    else
        *out = list;
    return status;
}

/* The next line, without its end; NULL after the last. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');

    if (!end)
        return NULL;
    *end = '\0';
    *rest = end + 1;
    return line;
}

static int read_entry(const char *line, entry *out)
{
    char *after;
    long type;

    errno = 0;
    out->count = (size_t)strtoull(line, &after, 10);
    if (errno || *after != ' ')
        return 0;
    type = strtol(after + 1, &after, 10);
    if (*after != ' ' || type < 0 || !banyan_datatype_bytes((banyan_datatype)type))
        return 0;
    out->type = (banyan_datatype)type;
    snprintf(out->name, sizeof out->name, "%s", after + 1);
    return 1;
}

static banyan_status compare_entry(const banyan_train *train, const entry *theirs, const by_name *names,
                                   char *is_met, int *out, banyan_error *err)
{
    by_name key = {theirs->name, 0};
    const by_name *found = bsearch(&key, names, (size_t)train->tensor_count, sizeof *names, compare_names);
    const banyan_engine_tensor *mine = found ? &train->tensors[found->tensor] : NULL;

    if (!found)
        return banyan_fail(err, BANYAN_MISMATCH, "rank %d has no gradient named '%.150s', which rank 0 has",
                           train->rank, theirs->name);
    if (mine->count != theirs->count || mine->type != theirs->type)
        return banyan_fail(err, BANYAN_MISMATCH,
                           "gradient '%.150s' differs: %zu %s on rank %d, %zu %s on rank 0", mine->name,
                           mine->count, banyan_datatype_string(mine->type), train->rank, theirs->count,
                           banyan_datatype_string(theirs->type));
    is_met[found->tensor] = 1;
    *out = found->tensor;
    return BANYAN_SUCCESS;
}

static banyan_status compare_entries(banyan_train *train, char *rest, const by_name *names, char *is_met,
                                     banyan_error *err)
{
    int count = 0;
    char *line;

    while ((line = next_line(&rest))) {
        banyan_status status;
        entry theirs;

        if (!read_entry(line, &theirs))
            return banyan_fail(err, BANYAN_INTERNAL_ERROR, "rank %d cannot read rank 0's list of gradients",
                               train->rank);
        if (count == train->tensor_count)
            return banyan_fail(err, BANYAN_MISMATCH,
                               "rank %d has %d gradients, rank 0 has more, the next one being '%.150s'",
                               train->rank, count, theirs.name);
        status = compare_entry(train, &theirs, names, is_met, &train->local_of[count], err);
        if (status)
            return status;
        count++;
    }
    for (int i = 0; i < train->tensor_count; i++)
        if (!is_met[i])
            return banyan_fail(err, BANYAN_MISMATCH,
                               "rank 0 has no gradient named '%.150s', which rank %d has",
                               train->tensors[i].name, train->rank);
    return BANYAN_SUCCESS;
}

static banyan_status sort_names(const banyan_train *train, by_name *names, banyan_error *err)
{
    for (int i = 0; i < train->tensor_count; i++)
        names[i] = (by_name){train->tensors[i].name, i};
    qsort(names, (size_t)train->tensor_count, sizeof *names, compare_names);
    for (int i = 1; i < train->tensor_count; i++)
        if (!strcmp(names[i].name, names[i - 1].name))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "rank %d has two gradients named '%.150s'",
                               train->rank, names[i].name);
    return BANYAN_SUCCESS;
}

static banyan_status compare_list(banyan_train *train, char *list, banyan_error *err)
{
    by_name *names = banyan_alloc((size_t)train->tensor_count, sizeof *names);
    char *is_met = banyan_alloc((size_t)train->tensor_count, 1), *config = next_line(&list);
    char mine[320];
    banyan_status status = names && is_met ? sort_names(train, names, err) : banyan_fail_memory(err);

    describe_config(train, mine, sizeof mine);
    if (!status && (!config || strcmp(config, mine) != 0))
        status = banyan_fail(err, BANYAN_MISMATCH, "rank %d trains with (%.170s), rank 0 with (%.170s)",
                             train->rank, mine, config ? config : "");
    if (!status)
        status = compare_entries(train, list, names, is_met, err);
    banyan_free(names);
    banyan_free(is_met);
    return status;
}

/* Everybody's verdict to everybody: the lowest rank's complaint counts. */
static banyan_status share_verdict(banyan_train *train, banyan_status verdict, banyan_error *err)
{
    banyan_comm *comm = train->streams[0].comm;
    unsigned char mine[VERDICT_BYTES] = {0}, *all = banyan_alloc((size_t)train->size, VERDICT_BYTES);
    banyan_status status;

    if (!all)
        return banyan_fail_memory(err);
    mine[0] = (unsigned char)verdict;
    if (verdict)
        snprintf((char *)mine + 1, VERDICT_BYTES - 1, "%.390s", err->text);
    status = banyan_all_gather(mine, all, VERDICT_BYTES, BANYAN_UINT8, comm);
    if (status)
        banyan_fail(err, status, "%s", banyan_last_error(comm));
    for (int i = 0; i < train->size && !status; i++) {
        const unsigned char *theirs = all + (size_t)i * VERDICT_BYTES;

        if (theirs[0])
            status = banyan_fail(err, (banyan_status)theirs[0], "%.390s", (const char *)theirs + 1);
    }
    banyan_free(all);
    return status;
}

banyan_status banyan_engine_agree(banyan_train *train, banyan_error *err)
{
    char *list = NULL;
    banyan_status status = share_list(train, &list, err);

    if (status)
        return status;
    train->local_of = banyan_alloc((size_t)train->tensor_count, sizeof *train->local_of);
    status = train->local_of ? compare_list(train, list, err) : banyan_fail_memory(err);
    banyan_free(list);
    return share_verdict(train, status, err);
}
