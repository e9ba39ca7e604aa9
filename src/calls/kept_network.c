/* SPDX-License-Identifier: Apache-2.0 */
/* calls/kept_network.c: one file per list of hosts. */
#include "calls/kept_network.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/alloc.h"
#include "core/digest.h"
#include "core/file.h"
#include "core/text.h"

#define MAX_AGE_S (7.0 * 24 * 3600) /* cables are moved and switches replaced at some time */

/* Where rank r's host is met first: the same for all ranks of a host. */
static int first_of_host(const banyan_rank_record *records, int rank)
{
    int first = 0;

    while (strcmp(records[first].place, records[rank].place) != 0)
        first++;
    return first;
}

/* Ranks, by the names of their hosts: a host's place changes whenever it starts. The caller frees. */
static banyan_status path_of(const char *folder, const banyan_rank_record *records, int size, char **out,
                             banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_digest digest;
    char name[17];

    banyan_digest_init(&digest);
    banyan_digest_add_integer(&digest, size);
    for (int i = 0; i < size; i++) {
        banyan_digest_add_string(&digest, records[i].host);
        banyan_digest_add_integer(&digest, first_of_host(records, i));
    }
    banyan_digest_format(&digest, name);
    banyan_text_add(&text, "%s/network-%s.json", folder, name);
    return banyan_text_take(&text, out, err);
}

banyan_status banyan_kept_network_parse(const char *text, const banyan_rank_record *records, int size,
                                        banyan_topology **out, banyan_error *err)
{
    banyan_topology *t = NULL;
    banyan_status status = banyan_topology_parse(text, strlen(text), &t, err);

    *out = NULL;
    if (status)
        return status;
    if (t->worker_count != size)
        status =
            banyan_fail(err, BANYAN_INVALID_ARGUMENT, "it has %d workers, not %d", t->worker_count, size);
    for (int i = 0; i < size && !status; i++) {
        int first = first_of_host(records, i), host = t->nodes[i].host;

        if (t->workers[i] != i || host < 0 || host != t->nodes[first].host ||
            (first == i && i > 0 && host == t->nodes[i - 1].host))
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "rank %d is on another host there", i);
    }
    if (status)
        banyan_topology_destroy(t);
    else
        *out = t;
    return status;
}

static int is_fresh(const char *path)
{
    struct stat facts;

    return !stat(path, &facts) && difftime(time(NULL), facts.st_mtime) < MAX_AGE_S;
}

banyan_status banyan_kept_network_load(const char *folder, const banyan_rank_record *records, int size,
                                       char **out, banyan_error *err)
{
    banyan_topology *topology = NULL;
    char *path = NULL, *text = NULL;
    banyan_status status = path_of(folder, records, size, &path, err);

    *out = NULL;
    if (status || !is_fresh(path)) {
        banyan_free(path);
        return status;
    }
    status = banyan_file_load(path, &text, NULL, err);
    if (!status) {
        status = banyan_kept_network_parse(text, records, size, &topology, err);
        if (status)
            banyan_error_prefix(err, path);
    }
    if (!status) {
        *out = text;
        text = NULL; /* the caller's now */
    }
    banyan_topology_destroy(topology);
    banyan_free(text);
    banyan_free(path);
    return status;
}

banyan_status banyan_kept_network_save(const char *folder, const banyan_rank_record *records, int size,
                                       const banyan_topology *topology, banyan_error *err)
{
    char *path = NULL, *text = NULL;
    banyan_status status = path_of(folder, records, size, &path, err);

    if (!status && mkdir(folder, 0700) && errno != EEXIST)
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "%.200s cannot be made: %s", folder, strerror(errno));
    if (!status)
        status = banyan_topology_format(topology, &text, err);
    if (!status)
        status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    banyan_free(path);
    return status;
}
