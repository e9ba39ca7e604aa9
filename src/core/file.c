/* SPDX-License-Identifier: Apache-2.0 */
/* core/file.c: whole files in and out. */
#include "core/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/text.h"

static const size_t file_limit = (size_t)1 << 30;

static banyan_status read_all(FILE *stream, const char *path, banyan_text *text, banyan_error *err)
{
    char block[65536];
    size_t got;

    while ((got = fread(block, 1, sizeof block, stream)) > 0) {
        banyan_text_add_bytes(text, block, got);
        if (text->failed)
            return banyan_fail_memory(err);
        if (text->length > file_limit)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: larger than 1 GiB", path);
    }
    if (ferror(stream))
        return banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s: %s", path, strerror(errno));
    return BANYAN_SUCCESS;
}

banyan_status banyan_file_load(const char *path, char **out, size_t *length, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status;
    struct stat facts;
    FILE *stream = NULL;

    *out = NULL;
    if (!strcmp(path, "-")) {
        status = read_all(stdin, "standard input", &text, err);
        goto out;
    }
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: is a folder, not a file", path);
        goto out;
    }
    stream = fopen(path, "rbe");
    if (!stream) {
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: %s", path, strerror(errno));
        goto out;
    }
    status = read_all(stream, path, &text, err);
out:
    if (stream)
        fclose(stream);
    if (!status) {
        if (length)
            *length = text.length;
        return banyan_text_take(&text, out, err);
    }
    banyan_text_fini(&text);
    return status;
}

banyan_status banyan_file_save(const char *path, const char *bytes, size_t length, banyan_error *err)
{
    banyan_text temporary = BANYAN_TEXT_EMPTY;
    banyan_status status = BANYAN_SUCCESS;
    FILE *stream;

    if (!strcmp(path, "-")) {
        if (fwrite(bytes, 1, length, stdout) != length || fflush(stdout))
            return banyan_fail(err, BANYAN_SYSTEM_ERROR, "standard output: %s", strerror(errno));
        return BANYAN_SUCCESS;
    }
    /* A device or pipe cannot be replaced by a rename. */
    struct stat facts;
    int replace = stat(path, &facts) != 0 || S_ISREG(facts.st_mode);

    if (replace)
        banyan_text_add(&temporary, "%s.%ld.tmp", path, (long)getpid());
    else
        banyan_text_add(&temporary, "%s", path);
    if (temporary.failed)
        return banyan_fail_memory(err);
    stream = fopen(temporary.bytes, "wbe");
    if (!stream) {
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s: %s", path, strerror(errno));
        goto out;
    }
    int written = fwrite(bytes, 1, length, stream) == length;

    if (fclose(stream) != 0 || !written || (replace && rename(temporary.bytes, path) != 0)) {
        status = banyan_fail(err, BANYAN_SYSTEM_ERROR, "%s: %s", path, strerror(errno));
        if (replace)
            unlink(temporary.bytes);
    }
out:
    banyan_text_fini(&temporary);
    return status;
}

int banyan_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}
