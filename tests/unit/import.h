/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the importers share: samples from tests/data/import, questions to a topology by name,
 * sentences, and the walk through all failures of allocation. */
#ifndef TESTS_UNIT_IMPORT_H
#define TESTS_UNIT_IMPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above first */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "topology/import.h"

/* The sample as text; the caller frees it. */
static inline char *sample(const char *name, size_t *length)
{
    char path[512];
    char *text;
    banyan_error err;

    snprintf(path, sizeof path, TEST_DATA "/data/import/%s", name);
    if (banyan_file_load(path, &text, length, &err))
        fail_msg("%s", err.text);
    return text;
}

static inline banyan_topology *import_text(const banyan_importer *importer, const char *text, size_t length)
{
    banyan_topology *topology;
    banyan_error err;

    if (importer->parse(text, length, &topology, &err))
        fail_msg("%s", err.text);
    assert_non_null(topology);
    return topology;
}

static inline banyan_topology *import_sample(const banyan_importer *importer, const char *name)
{
    size_t length;
    char *text = sample(name, &length);
    banyan_topology *topology;

    assert_true(importer->looks_like(text, length));
    topology = import_text(importer, text, length);
    banyan_free(text);
    return topology;
}

/* Asserts that the text is refused with exactly this sentence. */
static inline void expect_sentence(const banyan_importer *importer, const char *text, const char *sentence)
{
    banyan_topology *topology = (banyan_topology *)&topology;
    banyan_error err = {{0}};

    assert_int_equal(importer->parse(text, strlen(text), &topology, &err), BANYAN_INVALID_ARGUMENT);
    assert_null(topology);
    assert_string_equal(err.text, sentence);
    assert_int_equal(importer->parse(text, strlen(text), &topology, NULL), BANYAN_INVALID_ARGUMENT);
}

/* GB/s of all links from one node to another together; 0: none. */
static inline double gigabytes(const banyan_topology *topology, const char *src, const char *dst)
{
    int from = banyan_topology_find_node(topology, src), to = banyan_topology_find_node(topology, dst);
    double sum = 0;

    if (from < 0 || to < 0)
        fail_msg("there is no node %s", from < 0 ? src : dst);
    for (int i = 0; i < topology->link_count; i++)
        if (topology->links[i].src == from && topology->links[i].dst == to)
            sum += topology->links[i].bytes_per_s / 1e9;
    return sum;
}

#define assert_gigabytes(topology, src, dst, expected)                                                       \
    do {                                                                                                     \
        double there = gigabytes(topology, src, dst), back = gigabytes(topology, dst, src);                  \
        if (there - (expected) > 1e-6 || (expected)-there > 1e-6 || there - back > 1e-6 ||                   \
            back - there > 1e-6)                                                                             \
            fail_msg("%s-%s: %g there, %g back, not %g GB/s", src, dst, there, back, (double)(expected));    \
    } while (0)

/* Every prefix of the text is either read or refused with a sentence, and never crashes. */
static inline void walk_prefixes(const banyan_importer *importer, const char *name)
{
    size_t length;
    char *text = sample(name, &length);

    for (size_t cut = 0; cut < length; cut++) {
        char *prefix = malloc(cut + 1); /* its own block, so that a byte too far is seen */
        banyan_topology *topology;
        banyan_error err = {{0}};

        memcpy(prefix, text, cut);
        importer->looks_like(prefix, cut);
        if (importer->parse(prefix, cut, &topology, &err))
            assert_true(err.text[0] && !topology);
        banyan_topology_destroy(topology);
        free(prefix);
    }
    banyan_free(text);
}

/* Fails each allocation in turn, until there are enough. */
static inline void walk_failures(const banyan_importer *importer, const char *name)
{
    size_t length;
    char *text = sample(name, &length);
    banyan_topology *topology = NULL;
    banyan_error err;
    int failures = 0;

    for (long calls = 0; !topology; calls++) {
        banyan_status status;

        banyan_alloc_fail_after(calls);
        status = importer->parse(text, length, &topology, &err);
        banyan_alloc_fail_after(-1);
        if (status) {
            assert_int_equal(status, BANYAN_SYSTEM_ERROR);
            assert_string_equal(err.text, "out of memory");
            assert_null(topology);
            failures++;
        }
    }
    assert_true(failures > 5);
    banyan_topology_destroy(topology);
    banyan_free(text);
}

#endif
