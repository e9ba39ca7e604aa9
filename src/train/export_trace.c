/* SPDX-License-Identifier: Apache-2.0 */
/* train/export_trace.c: iterations as Chrome trace JSON, for chrome://tracing and Perfetto: a process a
 * policy, one lane for compute and one per stream. */
#include "core/text.h"
#include "train/train.h"

static void add_name(banyan_text *text, const char *what, int process, int lane, const char *name)
{
    banyan_text_add(text, ",\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", what,
                    process, lane);
    banyan_text_add_json_string(text, name);
    banyan_text_add(text, "}}");
}

static void begin_slice(banyan_text *text, int process, int lane, double from_s, double to_s)
{
    banyan_text_add(text, ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":", process, lane);
    banyan_text_add_number(text, from_s * 1e6);
    banyan_text_add(text, ",\"dur\":");
    banyan_text_add_number(text, (to_s - from_s) * 1e6);
}

static void add_groups(banyan_text *text, const banyan_model *model, const banyan_grouping *g, int process)
{
    for (int i = 0; i < g->group_count; i++) {
        const banyan_gradient_group *group = &g->groups[i];
        const banyan_gradient_part *first = &g->parts[group->first_part];

        begin_slice(text, process, group->stream + 1, g->forward_s + group->start_s,
                    g->forward_s + group->end_s);
        banyan_text_add(text, ",\"cat\":\"allreduce\",\"name\":\"group %d\",\"args\":{\"bytes\":%zu,", i,
                        group->bytes);
        banyan_text_add(text, "\"tensors\":%d,\"level\":%d,\"first\":", group->part_count, group->level);
        banyan_text_add_json_string(text, model->tensors[first->tensor].name);
        banyan_text_add(text, ",\"last\":");
        banyan_text_add_json_string(text, model->tensors[first[group->part_count - 1].tensor].name);
        banyan_text_add(text, "}}");
    }
}

static void add_training(banyan_text *text, const banyan_model *model, const banyan_training *training,
                         int process)
{
    const banyan_grouping *g = training->grouping;
    double ready_s = 0;

    add_name(text, "process_name", process, 0, training->title);
    add_name(text, "thread_name", process, 0, "compute");
    for (int stream = 0; stream < g->streams; stream++) {
        char name[] = "stream 0";

        name[7] = (char)('0' + stream);
        add_name(text, "thread_name", process, stream + 1, name);
    }
    begin_slice(text, process, 0, 0, g->forward_s);
    banyan_text_add(text, ",\"cat\":\"compute\",\"name\":\"forward\"}");
    for (int i = 0; i < model->tensor_count; ready_s = model->tensors[i++].ready_s) {
        begin_slice(text, process, 0, g->forward_s + ready_s, g->forward_s + model->tensors[i].ready_s);
        banyan_text_add(text, ",\"cat\":\"compute\",\"name\":");
        banyan_text_add_json_string(text, model->tensors[i].name);
        banyan_text_add(text, "}");
    }
    add_groups(text, model, g, process);
}

banyan_status banyan_training_export_trace(const banyan_model *model, const banyan_training *trainings,
                                           int count, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    *out = NULL;
    banyan_text_add(&text, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"model\":");
    banyan_text_add_json_string(&text, model->name);
    banyan_text_add(&text, "},\n\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"trace_name\",\"pid\":0,"
                           "\"args\":{\"name\":\"banyan\"}}");
    for (int i = 0; i < count; i++)
        add_training(&text, model, &trainings[i], i);
    banyan_text_add(&text, "\n]}\n");
    return banyan_text_take(&text, out, err);
}
