/* SPDX-License-Identifier: Apache-2.0 */
/* train/json.c: the text form of a grouping: what was decided, without times, so that one rank can plan for
 * all.
 *
 *     {"format":"banyan-grouping","version":1,"streams":2,
 *      "parts":[[0,0,4000],[1,0,8192000]],     tensor, offset, bytes
 *      "groups":[[2,1,0]]}                     parts, level, not before that many seconds
 *
 * A reader has the model: parts must hold every byte of its tensors once, in the order of tensors. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "core/text.h"
#include "train/train.h"

banyan_status banyan_grouping_format(const banyan_grouping *grouping, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    *out = NULL;
    banyan_text_add(&text, "{\"format\":\"banyan-grouping\",\"version\":1,\"streams\":%d,\n\"parts\":[",
                    grouping->streams);
    for (int i = 0; i < grouping->part_count; i++)
        banyan_text_add(&text, "%s[%d,%zu,%zu]", i ? "," : "", grouping->parts[i].tensor,
                        grouping->parts[i].offset_bytes, grouping->parts[i].bytes);
    banyan_text_add(&text, "],\n\"groups\":[");
    for (int g = 0; g < grouping->group_count; g++) {
        banyan_text_add(&text, "%s[%d,%d,", g ? "," : "", grouping->groups[g].part_count,
                        grouping->groups[g].level);
        banyan_text_add_number(&text, grouping->groups[g].release_s);
        banyan_text_add(&text, "]");
    }
    banyan_text_add(&text, "]}\n");
    return banyan_text_take(&text, out, err);
}

static banyan_status read_head(const banyan_json *root, int *streams, banyan_error *err)
{
    static const char *const known[] = {"format", "version", "streams", "parts", "groups"};
    const char *format = "", *unknown;
    int64_t version = 0, number = 0;

    if (banyan_json_kind(root) != BANYAN_JSON_OBJECT)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a grouping should be an object, not %s",
                           banyan_json_kind_name(root));
    unknown = banyan_json_unknown_field(root, known, 5);
    if (unknown)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "a grouping: unknown field \"%.60s\"", unknown);
    if (!banyan_json_get_string(banyan_json_field(root, "format"), &format) ||
        strcmp(format, "banyan-grouping") != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "this is not a banyan-grouping");
    if (!banyan_json_get_integer(banyan_json_field(root, "version"), &version) || version != 1)
        return banyan_fail(err, BANYAN_VERSION_MISMATCH, "a grouping of a version other than 1");
    if (!banyan_json_get_integer(banyan_json_field(root, "streams"), &number) || number < 1 ||
        number > BANYAN_MAX_STREAMS)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"streams\" should be a number from 1 to %d",
                           BANYAN_MAX_STREAMS);
    *streams = (int)number;
    return BANYAN_SUCCESS;
}

/* Reads [a, b, c]. */
static int read_triple(const banyan_json *item, int64_t *a, int64_t *b, double *c)
{
    return banyan_json_count(item) == 3 && banyan_json_get_integer(banyan_json_item(item, 0), a) &&
           banyan_json_get_integer(banyan_json_item(item, 1), b) &&
           banyan_json_get_number(banyan_json_item(item, 2), c);
}

static banyan_status read_parts(const banyan_json *array, const banyan_model *model, banyan_grouping *out,
                                banyan_error *err)
{
    size_t offset = 0;
    int tensor = 0;

    for (int i = 0; i < out->part_count; i++) {
        int64_t number, from;
        double bytes;

        if (!read_triple(banyan_json_item(array, (size_t)i), &number, &from, &bytes))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "part %d should be [tensor, offset, bytes]", i);
        if (tensor == model->tensor_count)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "part %d: all %d tensors are there already", i,
                               model->tensor_count);
        if (number != tensor || from != (int64_t)offset)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "part %d should begin at byte %zu of tensor %d, not at byte %" PRId64
                               " of tensor %" PRId64,
                               i, offset, tensor, from, number);
        if (!(bytes >= 1) || bytes != floor(bytes) || bytes > (double)(model->tensors[tensor].bytes - offset))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "part %d: tensor %d has no %g bytes left", i,
                               tensor, bytes);
        out->parts[i] = (banyan_gradient_part){tensor, offset, (size_t)bytes};
        offset += (size_t)bytes;
        if (offset == model->tensors[tensor].bytes) {
            tensor++;
            offset = 0;
        }
    }
    if (tensor < model->tensor_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "tensor %d (%.100s) is not all there", tensor,
                           model->tensors[tensor].name);
    return BANYAN_SUCCESS;
}

static banyan_status read_groups(const banyan_json *array, banyan_grouping *out, banyan_error *err)
{
    int first = 0;

    for (int g = 0; g < out->group_count; g++) {
        banyan_gradient_group *group = &out->groups[g];
        int64_t count, level;
        double release_s;

        if (!read_triple(banyan_json_item(array, (size_t)g), &count, &level, &release_s))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "group %d should be [parts, level, release]", g);
        if (count < 1 || count > out->part_count - first)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "group %d has %" PRId64 " parts, but %d are left", g, count,
                               out->part_count - first);
        if (level < 0 || level >= out->streams)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "group %d has level %" PRId64 ", which is not from 0 to %d", g, level,
                               out->streams - 1);
        if (!(release_s >= 0) || release_s > 1e9)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "group %d: no time is %g s", g, release_s);
        *group = (banyan_gradient_group){
            .first_part = first, .part_count = (int)count, .level = (int)level, .release_s = release_s};
        for (int i = 0; i < group->part_count; i++)
            group->bytes += out->parts[first + i].bytes;
        first += group->part_count;
    }
    if (first < out->part_count)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "part %d is in no group", first);
    return BANYAN_SUCCESS;
}

static banyan_status read_grouping(const banyan_json *root, const banyan_model *model, banyan_grouping *out,
                                   banyan_error *err)
{
    const banyan_json *parts = banyan_json_field(root, "parts"), *groups = banyan_json_field(root, "groups");
    size_t part_count = banyan_json_count(parts), group_count = banyan_json_count(groups);
    banyan_status status;

    if (part_count < 1 || part_count > BANYAN_MAX_TENSORS || banyan_json_kind(parts) != BANYAN_JSON_ARRAY)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"parts\" should be an array of 1 to %d",
                           BANYAN_MAX_TENSORS);
    if (group_count < 1 || group_count > part_count || banyan_json_kind(groups) != BANYAN_JSON_ARRAY)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"groups\" should be an array of 1 to %zu",
                           part_count);
    out->parts = banyan_alloc(part_count, sizeof *out->parts);
    out->groups = banyan_alloc(group_count, sizeof *out->groups);
    if (!out->parts || !out->groups)
        return banyan_fail_memory(err);
    out->part_count = (int)part_count;
    out->group_count = (int)group_count;
    status = read_parts(parts, model, out, err);
    return status ? status : read_groups(groups, out, err);
}

banyan_status banyan_grouping_parse(const char *text, size_t length, const banyan_model *model,
                                    const banyan_cost *cost, banyan_grouping **out, banyan_error *err)
{
    banyan_grouping *grouping = NULL;
    banyan_json *root;
    banyan_status status = banyan_json_parse(text, length, &root, err);

    *out = NULL;
    if (status)
        return status;
    grouping = banyan_alloc(1, sizeof *grouping);
    status = grouping ? read_head(root, &grouping->streams, err) : banyan_fail_memory(err);
    if (!status)
        status = read_grouping(root, model, grouping, err);
    if (!status)
        status = banyan_grouping_judge(grouping, model, cost, err);
    banyan_json_destroy(root);
    if (status) {
        banyan_grouping_destroy(grouping);
        return status;
    }
    *out = grouping;
    return BANYAN_SUCCESS;
}
