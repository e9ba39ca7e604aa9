/* SPDX-License-Identifier: Apache-2.0 */
/* cli/info.c: banyan info: version, settings and where their values come from. */
#include <stdio.h>

#include "cli.h"
#include "core/alloc.h"
#include "core/settings.h"

static const cli_option options[] = {
    {"config", 'c', NULL, "only the settings, in the form of a settings file"}, {NULL, 0, NULL, NULL}};

static void print_warnings(const banyan_settings *settings)
{
    for (int i = 0; i < banyan_settings_warning_count(settings); i++)
        fprintf(stderr, "banyan info: %s\n", banyan_settings_warning(settings, i));
}

static void print_text(const banyan_settings *settings)
{
    printf("banyan %d.%d.%d\n\nSettings (environment, BANYAN_CONF_FILE, ~/.banyan.conf, /etc/banyan.conf):\n",
           BANYAN_VERSION_MAJOR, BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH);
    for (int i = 0; i < BANYAN_SETTING_COUNT; i++) {
        const banyan_setting_info *info = banyan_setting_at((banyan_setting)i);

        printf("  %-22s %-14s %s\n", info->name, banyan_setting_type_name(info->type), info->summary);
        printf("  %-22s = %s (%s)\n", "", banyan_settings_shown(settings, (banyan_setting)i),
               banyan_settings_origin(settings, (banyan_setting)i));
    }
}

static banyan_status print_json(const banyan_settings *settings, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text, "{\"version\":\"%d.%d.%d\",\"settings\":[", BANYAN_VERSION_MAJOR,
                    BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH);
    for (int i = 0; i < BANYAN_SETTING_COUNT; i++) {
        const banyan_setting_info *info = banyan_setting_at((banyan_setting)i);

        banyan_text_add(&text, "%s\n{\"name\":\"%s\",\"type\":\"%s\",\"default\":", i ? "," : "", info->name,
                        banyan_setting_type_name(info->type));
        banyan_text_add_json_string(&text, info->fallback);
        banyan_text_add(&text, ",\"value\":");
        banyan_text_add_json_string(&text, banyan_settings_shown(settings, (banyan_setting)i));
        banyan_text_add(&text, ",\"origin\":");
        banyan_text_add_json_string(&text, banyan_settings_origin(settings, (banyan_setting)i));
        banyan_text_add(&text, ",\"summary\":");
        banyan_text_add_json_string(&text, info->summary);
        banyan_text_add(&text, "}");
    }
    banyan_text_add(&text, "]}");
    return cli_print(&text, err);
}

static int run(const cli_arguments *arguments)
{
    banyan_settings *settings;
    banyan_error err;
    banyan_status status = banyan_settings_load(&settings, &err);
    char *text;

    if (status)
        return cli_fail(arguments, status, &err);
    print_warnings(settings);
    if (cli_has(arguments, "json")) {
        status = print_json(settings, &err);
    } else if (cli_has(arguments, "config")) {
        status = banyan_settings_format(settings, &text, &err);
        if (!status)
            fputs(text, stdout);
        if (!status)
            banyan_free(text);
    } else {
        print_text(settings);
    }
    banyan_settings_destroy(settings);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_info = {.name = "info",
                                .usage = "[-c]",
                                .summary = "version and settings, with where each value comes from",
                                .options = options,
                                .run = run};
