/* SPDX-License-Identifier: Apache-2.0 */
/* train/load.c: a model from a file, or one of those that came with Banyan. */
#include <stdio.h>

#include "core/alloc.h"
#include "core/data.h"
#include "core/file.h"
#include "train/train.h"

banyan_status banyan_model_load(const char *name, int element_bytes, banyan_model **out, banyan_error *err)
{
    char path[BANYAN_DATA_PATH_SIZE], file[128];
    int is_word = banyan_data_is_word(name), is_ours;
    banyan_status status;
    size_t length;
    char *text;

    *out = NULL;
    snprintf(file, sizeof file, "%.100s.csv", name);
    is_ours = is_word && banyan_data_find("models", file, path);
    if (is_word && !is_ours && !banyan_file_exists(name))
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
