/* SPDX-License-Identifier: Apache-2.0 */
/* train/find.c: where the models that come with Banyan lie.
 *
 * A program knows its own place. From there we look upwards: PREFIX/bin/banyan finds
 * PREFIX/share/banyan/models, wherever PREFIX was moved to; build/dev/banyan finds data/models of the source
 * tree. The prefix that was configured comes last, for programs that only use the library. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "train/train.h"

#ifndef BANYAN_DATA_FOLDER
#define BANYAN_DATA_FOLDER "/usr/local/share/banyan"
#endif

enum { PATH_SIZE = 4096, MOST_STEPS_UP = 4 };

static int exists_in(const char *folder, const char *below, const char *name, char *path)
{
    int length = snprintf(path, PATH_SIZE, "%s/%s/%s.csv", folder, below, name);

    return length > 0 && length < PATH_SIZE && banyan_file_exists(path);
}

static int find(const char *name, char *path)
{
    static const char own[] = "/proc/self/exe";
    char folder[PATH_SIZE];
    ssize_t length = readlink(own, folder, sizeof folder - 1);

    folder[length > 0 ? length : 0] = '\0';
    for (int step = 0; step < MOST_STEPS_UP; step++) {
        char *slash = strrchr(folder, '/');

        if (!slash)
            break;
        *slash = '\0';
        if (exists_in(folder, "share/banyan/models", name, path) ||
            exists_in(folder, "data/models", name, path))
            return 1;
    }
    return exists_in(BANYAN_DATA_FOLDER, "models", name, path);
}

/* A word, as opposed to a path. */
static int is_plain(const char *name)
{
    return *name && !strpbrk(name, "/.") && strlen(name) < 100;
}

banyan_status banyan_model_load(const char *name, int element_bytes, banyan_model **out, banyan_error *err)
{
    char path[PATH_SIZE];
    int is_ours = is_plain(name) && find(name, path);
    banyan_status status;
    size_t length;
    char *text;

    *out = NULL;
    if (is_plain(name) && !is_ours && !banyan_file_exists(name))
        return banyan_fail(
            err, BANYAN_INVALID_ARGUMENT,
            "no model is named %s, and no file either (models: bert_base densenet201 gpt2_small "
            "inceptionv4 resnet152 resnet50 vgg16)",
            name);
    status = banyan_file_load(is_ours ? path : name, &text, &length, err);
    if (status)
        return status;
    status = banyan_model_parse(text, length, name, element_bytes, out, err);
    if (status)
        banyan_error_prefix(err, name);
    banyan_free(text);
    return status;
}
