/* SPDX-License-Identifier: Apache-2.0 */
/* topology/load.c: whatever a user may type as a network: a file in any form that we read, or a generator.
 *
 *   cluster.json             a file (also one of the forms of import.h; '-' is standard input)
 *   cluster.json,down=g3-s0  the same, damaged
 *   torus:4x4,gbps=10        a generator, where no file has that name
 *
 * File names may hold commas: the longest beginning that names a file, cut at a comma, is the file. */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "topology/generate.h"
#include "topology/import.h"
#include "topology/topology.h"

/* A folder is no network: 'torus' may well be the name of one. */
static int is_file(const char *path)
{
    struct stat facts;

    return !strcmp(path, "-") || (stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode));
}

/* Length of the file's name at the beginning of the text, which is cut there; 0 when no file is named. */
static size_t cut_at_file(char *text)
{
    size_t length = strlen(text);

    for (;;) {
        if (*text && is_file(text))
            return length;
        while (length > 0 && text[length] != ',')
            length--;
        if (!length)
            return 0;
        text[length] = 0;
    }
}

static int ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return tail && length >= tail && !strcmp(text + length - tail, end);
}

static const banyan_importer *find_importer(const char *path, const char *text, size_t length)
{
    for (int i = 0; i < banyan_importer_count(); i++)
        if (banyan_importer_at(i)->looks_like(text, length))
            return banyan_importer_at(i);
    for (int i = 0; i < banyan_importer_count(); i++)
        if (banyan_importer_at(i)->extension && ends_with(path, banyan_importer_at(i)->extension))
            return banyan_importer_at(i);
    return NULL;
}

static banyan_status parse(const char *path, const char *text, size_t length, banyan_topology **out,
                           banyan_error *err)
{
    const banyan_importer *importer;
    size_t start = 0;

    while (start < length && isspace((unsigned char)text[start]))
        start++;
    importer = find_importer(path, text, length);
    if (start < length && text[start] == '{' && !(importer && importer->looks_like(text, length)))
        return banyan_topology_parse(text, length, out, err);
    if (importer)
        return importer->parse(text, length, out, err);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "neither a topology in JSON nor a form that we import");
}

static banyan_status load_file(const char *path, banyan_topology **out, banyan_error *err)
{
    banyan_status status;
    size_t length;
    char *text;

    status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = parse(path, text, length, out, err);
    if (status && err)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}

static banyan_status load_damaged(const char *path, const char *options, banyan_topology **out,
                                  banyan_error *err)
{
    banyan_topology *whole = NULL;
    banyan_status status = load_file(path, &whole, err);

    if (!status)
        status = banyan_topology_damage(whole, options, out, err);
    banyan_topology_destroy(whole);
    return status;
}

banyan_status banyan_topology_load(const char *spec, banyan_topology **out, banyan_error *err)
{
    banyan_status status;
    size_t length;
    char *path;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!spec)
        return banyan_fail_null("spec", err);
    path = banyan_strdup(spec);
    if (!path)
        return banyan_fail_memory(err);
    length = cut_at_file(path);
    if (!length && (strchr(path, '/') || ends_with(path, ".json") || ends_with(path, ".xml")))
        status = banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            access(path, F_OK) ? "%s: No such file or directory" : "%s: is a folder, not a file", path);
    else if (!length)
        status = banyan_topology_generate(spec, out, err);
    else if (spec[length] == ',')
        status = load_damaged(path, spec + length + 1, out, err);
    else
        status = load_file(path, out, err);
    banyan_free(path);
    return status;
}
