/* SPDX-License-Identifier: Apache-2.0 */
/* cli/status.c: banyan status: asks the ranks of running jobs how they are and puts the answers together.
 *
 *     sockets in a folder ─> one report each ─> by group: what each rank does, who is missing or differs
 *
 * A rank of this machine tells of itself; rank 0 also of ranks elsewhere, as their last heartbeats had it. A
 * process that is stopped does not answer, and that is told, too. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/settings.h"
#include "core/value.h"
#include "status_view.h"

static const cli_option options[] = {
    {"folder", 0, "DIR", "where to look (default: BANYAN_STATUS_FOLDER, else /tmp/banyan-UID)"},
    {"timeout", 'T', "TIME", "how long to wait for each rank's answer (default: 1s)"},
    {NULL, 0, NULL, NULL}};

static banyan_status show(const status_overview *o, int *code, banyan_error *err)
{
    char *flags = banyan_alloc(STATUS_MAX_RANKS, 1), *json = NULL;
    banyan_text text = BANYAN_TEXT_EMPTY;
    int is_json = cli_has(o->arguments, "json");
    banyan_status status = BANYAN_SUCCESS;

    if (!flags)
        return banyan_fail_memory(err);
    *code = CLI_OK;
    banyan_text_add(&text, "{\"groups\":[");
    for (int i = 0; i < o->count; i++) {
        if (is_json && i)
            banyan_text_add(&text, ",");
        if (is_json)
            status_json_group(&text, &o->groups[i], flags);
        else
            status_print_group(&o->groups[i], flags);
        *code = status_is_well(&o->groups[i], flags) ? *code : CLI_FAILED;
    }
    banyan_text_add(&text, "]}");
    if (is_json)
        status = banyan_text_take(&text, &json, err);
    if (json)
        printf("%s\n", json);
    else if (!o->count && !cli_has(o->arguments, "quiet"))
        printf("no job of yours is running on this machine (%s)\n", o->folder);
    banyan_text_fini(&text);
    banyan_free(json);
    banyan_free(flags);
    return status;
}

static banyan_status read_options(status_overview *o, banyan_error *err)
{
    const char *folder = cli_get(o->arguments, "folder"), *timeout = cli_get(o->arguments, "timeout");
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    if (!status) {
        folder = folder ? folder : banyan_settings_string(settings, BANYAN_SETTING_STATUS_FOLDER);
        banyan_status_folder(folder, o->folder);
        if (!*o->folder && strcmp(folder, "off") != 0)
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the folder %.80s... has more than %d letters",
                                 folder, BANYAN_STATUS_FOLDER_TEXT - 1);
    }
    banyan_settings_destroy(settings);
    o->timeout_s = 1;
    if (!status && timeout) {
        status = banyan_value_seconds(timeout, 1, &o->timeout_s, err);
        if (status)
            banyan_error_prefix(err, "--timeout");
    }
    return status;
}

static int run(const cli_arguments *arguments)
{
    status_overview *o = banyan_alloc(1, sizeof *o);
    banyan_error err = {""};
    banyan_status status = o ? BANYAN_SUCCESS : banyan_fail_memory(&err);
    int code = CLI_OK;

    if (!status) {
        o->arguments = arguments;
        status = read_options(o, &err);
    }
    if (!status && *o->folder)
        status_ask_all(o);
    if (!status)
        status = show(o, &code, &err);
    if (o)
        status_forget(o);
    return status ? cli_fail(arguments, status, &err) : code;
}

const cli_verb cli_verb_status = {.name = "status",
                                  .usage = "[--folder DIR] [--timeout TIME]",
                                  .summary =
                                      "what the ranks of running jobs are doing, and which are missing",
                                  .options = options,
                                  .run = run};
