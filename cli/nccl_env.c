/* SPDX-License-Identifier: Apache-2.0 */
/* cli/nccl_env.c: banyan nccl-env: what to set so that NCCL uses the plugin. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "core/settings.h"
#include "core/shared_object.h"
#include "core/text.h"
#include "nccl.h"

#define PLUGIN "libnccl-net-banyan.so"

static const cli_option options[] = {
    {"choose", 0, NULL, "leave NCCL its algorithms where the plugin's tuner finds no gain"},
    {NULL, 0, NULL, NULL}};

/* What only the job's other ranks could not know: the user has set it here. */
static banyan_status pass_on(nccl_variable each, void *context, banyan_error *err)
{
    const char *interfaces = banyan_environment("NCCL_SOCKET_IFNAME");
    banyan_settings *settings = NULL;
    banyan_status status = banyan_settings_load(&settings, err);

    if (status)
        return status;
    if (!banyan_settings_is_default(settings, BANYAN_SETTING_TOPO))
        each(context, "BANYAN_TOPO", banyan_settings_string(settings, BANYAN_SETTING_TOPO));
    if (!banyan_settings_is_default(settings, BANYAN_SETTING_SOCKET_IFNAME))
        interfaces = banyan_settings_string(settings, BANYAN_SETTING_SOCKET_IFNAME);
    if (interfaces && *interfaces)
        each(context, "BANYAN_SOCKET_IFNAME", interfaces);
    banyan_settings_destroy(settings);
    return BANYAN_SUCCESS;
}

banyan_status nccl_variables(int chooses, nccl_variable each, void *context, banyan_error *err)
{
    char found[BANYAN_SHARED_OBJECT_PATH_SIZE], path[PATH_MAX];

    if (!banyan_shared_object_find_file(PLUGIN, found, sizeof found) || !realpath(found, path))
        return banyan_fail(err, BANYAN_UNSUPPORTED, PLUGIN " is neither beside this program nor installed");
    each(context, "NCCL_NET_PLUGIN", path);
    each(context, "NCCL_COLLNET_ENABLE", "1");
    if (chooses)
        each(context, "NCCL_TUNER_PLUGIN", path);
    else
        each(context, "NCCL_ALGO", "allreduce:collnetchain");
    each(context, "NCCL_MIN_NCHANNELS",
         "8"); /* more in flight: NCCL makes one call of up to eight channels */
    return pass_on(each, context, err);
}

/* In single quotes, in which a shell reads all but these as they are. */
static void add_export(void *context, const char *name, const char *value)
{
    banyan_text *text = context;

    banyan_text_add(text, "export %s=", name);
    if (!value[strcspn(value, " \t\n\"'\\$`*?[]{}()<>|&;~#!^")]) {
        banyan_text_add(text, "%s\n", value);
        return;
    }
    banyan_text_add(text, "'");
    for (const char *at = value; *at; at++)
        banyan_text_add(text, *at == '\'' ? "'\\''" : "%c", *at);
    banyan_text_add(text, "'\n");
}

static void add_member(void *context, const char *name, const char *value)
{
    banyan_text *text = context;

    banyan_text_add(text, "%s\"%s\":", text->length > 1 ? "," : "", name);
    banyan_text_add_json_string(text, value);
}

static int run(const cli_arguments *arguments)
{
    int is_json = cli_has(arguments, "json");
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_error err = {""};
    banyan_status status;

    if (is_json)
        banyan_text_add(&text, "{");
    status = nccl_variables(cli_has(arguments, "choose"), is_json ? add_member : add_export, &text, &err);
    if (is_json)
        banyan_text_add(&text, "}\n");
    if (!status)
        status = cli_print(&text, &err);
    else
        banyan_text_fini(&text);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_nccl_env = {.name = "nccl-env",
                                    .usage = "[--choose]",
                                    .summary = "prints the variables with which NCCL uses Banyan",
                                    .options = options,
                                    .run = run};
