/* SPDX-License-Identifier: Apache-2.0 */
/* core/settings.c: the one file that reads the environment. Sources are read from the strongest to the
 * weakest, and a value that is there already stays. */
#include "core/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/file.h"
#include "core/near.h"
#include "core/text.h"
#include "core/value.h"

static const char prefix[] = "BANYAN_";

static const banyan_setting_info table[] = {
#define ENTRY(name, type, fallback, form, text)                                                              \
    {"BANYAN_" #name, BANYAN_SETTING_##type, fallback, form, text},
    BANYAN_SETTING_MAP(ENTRY)
#undef ENTRY
};

typedef struct {
    char *text;
    char *origin; /* NULL: the default */
    int64_t integer;
    double seconds;
} stored;

struct banyan_settings {
    stored values[BANYAN_SETTING_COUNT];
    char **warnings;
    size_t warning_count, warning_capacity;
};

const banyan_setting_info *banyan_setting_at(banyan_setting setting)
{
    return &table[setting];
}

const char *banyan_setting_type_name(banyan_setting_type type)
{
    static const char *const names[] = {"string",       "integer", "bytes",  "seconds",
                                        "milliseconds", "boolean", "choice", "hidden"};

    return names[type];
}

int banyan_setting_find(const char *name)
{
    for (int i = 0; i < BANYAN_SETTING_COUNT; i++)
        if (!strcmp(table[i].name, name))
            return i;
    return -1;
}

/* The form's bounds are in the type's own unit; without a form there are none. */
static void find_range(const banyan_setting_info *info, long long *low, long long *high)
{
    if (!info->form || sscanf(info->form, "%lld..%lld", low, high) != 2) {
        *low = INT64_MIN;
        *high = INT64_MAX;
    }
}

/* Numbers are kept as seconds or integers. */
static banyan_status check_range(const banyan_setting_info *info, const char *text, double value,
                                 banyan_error *err)
{
    long long low, high;

    find_range(info, &low, &high);
    if (value < (double)low || value > (double)high)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "\"%.80s\" is not from %lld to %lld", text, low,
                           high);
    return BANYAN_SUCCESS;
}

static banyan_status read_value(const banyan_setting_info *info, const char *text, stored *value,
                                banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    long long low, high;
    int small = 0;

    switch (info->type) {
    case BANYAN_SETTING_STRING:
    case BANYAN_SETTING_HIDDEN:
        return BANYAN_SUCCESS;
    case BANYAN_SETTING_BOOLEAN:
        status = banyan_value_boolean(text, &small, err);
        value->integer = small;
        return status;
    case BANYAN_SETTING_CHOICE:
        status = banyan_value_choice(text, info->form, &small, err);
        value->integer = small;
        return status;
    case BANYAN_SETTING_INTEGER:
        find_range(info, &low, &high);
        return banyan_value_integer(text, low, high, &value->integer, err);
    case BANYAN_SETTING_BYTES:
        status = banyan_value_bytes(text, &value->integer, err);
        break;
    case BANYAN_SETTING_SECONDS:
        status = banyan_value_seconds(text, 1, &value->seconds, err);
        return status ? status : check_range(info, text, value->seconds, err);
    case BANYAN_SETTING_MILLISECONDS:
        status = banyan_value_seconds(text, 1e-3, &value->seconds, err);
        status = status ? status : check_range(info, text, 1e3 * value->seconds, err);
        if (!status)
            value->integer = (int64_t)(1e3 * value->seconds + 0.5);
        return status;
    }
    return status ? status : check_range(info, text, (double)value->integer, err);
}

static void forget(stored *value)
{
    banyan_free(value->text);
    banyan_free(value->origin);
    *value = (stored){0};
}

/* origin NULL is the default. */
static banyan_status store(banyan_settings *settings, banyan_setting setting, const char *text,
                           const char *origin, banyan_error *err)
{
    const banyan_setting_info *info = &table[setting];
    stored value = {0};
    banyan_status status = read_value(info, text, &value, err);

    if (status) {
        banyan_error_prefix(err, info->name);
        if (origin)
            banyan_error_prefix(err, origin);
        return status;
    }
    value.text = banyan_strdup(text);
    value.origin = origin ? banyan_strdup(origin) : NULL;
    if (!value.text || (origin && !value.origin)) {
        forget(&value);
        return banyan_fail_memory(err);
    }
    forget(&settings->values[setting]);
    settings->values[setting] = value;
    return BANYAN_SUCCESS;
}

static banyan_status warn_unknown(banyan_settings *settings, const char *name, const char *origin,
                                  banyan_error *err)
{
    const char *names[BANYAN_SETTING_COUNT];
    banyan_text sentence = BANYAN_TEXT_EMPTY;
    void *warnings = settings->warnings;
    int near;

    for (int i = 0; i < BANYAN_SETTING_COUNT; i++)
        names[i] = table[i].name + strlen(prefix);
    near = banyan_near_find(name + strlen(prefix), names, BANYAN_SETTING_COUNT);
    banyan_text_add(&sentence, "%s: %.80s is not a setting", origin, name);
    if (near >= 0)
        banyan_text_add(&sentence, " (maybe %s?)", table[near].name);
    if (!banyan_grow(&warnings, settings->warning_count, &settings->warning_capacity, sizeof(char *))) {
        banyan_text_fini(&sentence);
        return banyan_fail_memory(err);
    }
    settings->warnings = warnings;
    settings->warnings[settings->warning_count] = NULL;
    if (banyan_text_take(&sentence, &settings->warnings[settings->warning_count], err))
        return BANYAN_SYSTEM_ERROR;
    settings->warning_count++;
    return BANYAN_SUCCESS;
}

/* One NAME=VALUE from any source: kept, passed over because a stronger source has spoken, or warned about.
 * An empty number or choice is not set, as in 'BANYAN_DEBUG= program'. */
static banyan_status offer(banyan_settings *settings, const char *name, const char *value, const char *origin,
                           banyan_error *err)
{
    int setting = banyan_setting_find(name);

    if (setting < 0)
        return strncmp(name, prefix, strlen(prefix)) ? BANYAN_SUCCESS
                                                     : warn_unknown(settings, name, origin, err);
    if (settings->values[setting].text || (!*value && table[setting].type != BANYAN_SETTING_STRING))
        return BANYAN_SUCCESS;
    return store(settings, (banyan_setting)setting, value, origin, err);
}

static banyan_status read_environment(banyan_settings *settings, const char *const *environment,
                                      banyan_error *err)
{
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        banyan_status status;
        char *name;

        if (strncmp(*environment, prefix, strlen(prefix)) != 0 || !equals)
            continue;
        name = banyan_strdup(*environment);
        if (!name)
            return banyan_fail_memory(err);
        name[equals - *environment] = 0;
        status = offer(settings, name, equals + 1, "environment", err);
        banyan_free(name);
        if (status)
            return status;
    }
    return BANYAN_SUCCESS;
}

/* Cuts white space off both ends, in place. */
static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " \t\r");
    length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1]))
        text[--length] = 0;
    return text;
}

/* A value may stand in double quotes, to keep the spaces at its ends. */
static char *unquote(char *value)
{
    size_t length = strlen(value);

    if (length < 2 || value[0] != '"' || value[length - 1] != '"')
        return value;
    value[length - 1] = 0;
    return value + 1;
}

static banyan_status read_line(banyan_settings *settings, char *line, const char *origin, banyan_error *err)
{
    char *name = trim(line);
    char *equals = strchr(name, '=');

    if (!*name || *name == '#')
        return BANYAN_SUCCESS;
    if (!equals)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: expected NAME=VALUE, found \"%.80s\"", origin,
                           name);
    *equals = 0;
    name = trim(name);
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: \"%.80s\" does not begin with %s", origin, name,
                           prefix);
    if (!strcmp(name, table[BANYAN_SETTING_CONF_FILE].name))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: a file cannot set %s", origin, name);
    return offer(settings, name, unquote(trim(equals + 1)), origin, err);
}

static banyan_status read_file(banyan_settings *settings, const char *path, banyan_error *err)
{
    char *text = NULL, *line, *next;
    size_t length = 0;
    int number = 1;
    banyan_status status = banyan_file_load(path, &text, &length, err);

    if (!status && strlen(text) != length)
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: holds a NUL byte, so it is not text", path);
    for (line = text; !status && line; line = next, number++) {
        banyan_text origin = BANYAN_TEXT_EMPTY;

        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        banyan_text_add(&origin, "%s:%d", path, number);
        status = origin.failed ? banyan_fail_memory(err) : read_line(settings, line, origin.bytes, err);
        banyan_text_fini(&origin);
    }
    banyan_free(text);
    return status;
}

static banyan_status read_file_if_there(banyan_settings *settings, const char *path, banyan_error *err)
{
    return path && banyan_file_exists(path) ? read_file(settings, path, err) : BANYAN_SUCCESS;
}

static banyan_status read_conf_file(banyan_settings *settings, const char *given, banyan_error *err)
{
    const stored *value = &settings->values[BANYAN_SETTING_CONF_FILE];
    banyan_status status;

    if (given) {
        status = store(settings, BANYAN_SETTING_CONF_FILE, given, "program", err);
        if (status)
            return status;
    }
    if (!value->text || !*value->text)
        return BANYAN_SUCCESS;
    status = read_file(settings, value->text, err);
    if (status == BANYAN_INVALID_ARGUMENT && !banyan_file_exists(value->text))
        banyan_error_prefix(err, table[BANYAN_SETTING_CONF_FILE].name);
    return status;
}

static banyan_status fill_defaults(banyan_settings *settings, banyan_error *err)
{
    for (int i = 0; i < BANYAN_SETTING_COUNT; i++) {
        banyan_status status = BANYAN_SUCCESS;

        if (!settings->values[i].text)
            status = store(settings, (banyan_setting)i, table[i].fallback, NULL, err);
        if (status)
            return status;
    }
    return BANYAN_SUCCESS;
}

const char *banyan_environment(const char *name)
{
    return getenv(name);
}

banyan_status banyan_settings_load(banyan_settings **out, banyan_error *err)
{
    const char *home = getenv("HOME");
    banyan_text home_file = BANYAN_TEXT_EMPTY;
    banyan_settings_sources sources = {(const char *const *)environ, NULL, NULL, "/etc/banyan.conf"};
    banyan_status status;

    *out = NULL;
    if (home && *home) {
        banyan_text_add(&home_file, "%s/.banyan.conf", home);
        if (home_file.failed)
            return banyan_fail_memory(err);
        sources.home_file = home_file.bytes;
    }
    status = banyan_settings_load_from(&sources, out, err);
    banyan_text_fini(&home_file);
    return status;
}

banyan_status banyan_settings_load_from(const banyan_settings_sources *sources, banyan_settings **out,
                                        banyan_error *err)
{
    banyan_settings *settings = banyan_alloc(1, sizeof *settings);
    banyan_status status;

    *out = NULL;
    if (!settings)
        return banyan_fail_memory(err);
    status = read_environment(settings, sources->environment, err);
    if (!status)
        status = read_conf_file(settings, sources->conf_file, err);
    if (!status)
        status = read_file_if_there(settings, sources->home_file, err);
    if (!status)
        status = read_file_if_there(settings, sources->system_file, err);
    if (!status)
        status = fill_defaults(settings, err);
    if (!status) {
        *out = settings;
        settings = NULL;
    }
    banyan_settings_destroy(settings);
    return status;
}

void banyan_settings_destroy(banyan_settings *settings)
{
    if (!settings)
        return;
    for (int i = 0; i < BANYAN_SETTING_COUNT; i++)
        forget(&settings->values[i]);
    for (size_t i = 0; i < settings->warning_count; i++)
        banyan_free(settings->warnings[i]);
    banyan_free(settings->warnings);
    banyan_free(settings);
}

banyan_status banyan_settings_set(banyan_settings *settings, banyan_setting setting, const char *value,
                                  banyan_error *err)
{
    if (setting == BANYAN_SETTING_CONF_FILE)
        return banyan_fail(err, BANYAN_INVALID_USAGE, "%s: files have been read already",
                           table[setting].name);
    return store(settings, setting, value, "program", err);
}

const char *banyan_settings_string(const banyan_settings *settings, banyan_setting setting)
{
    return settings->values[setting].text;
}

const char *banyan_settings_shown(const banyan_settings *settings, banyan_setting setting)
{
    const char *value = settings->values[setting].text;

    return table[setting].type == BANYAN_SETTING_HIDDEN && *value ? "***" : value;
}

int64_t banyan_settings_integer(const banyan_settings *settings, banyan_setting setting)
{
    return settings->values[setting].integer;
}

double banyan_settings_seconds(const banyan_settings *settings, banyan_setting setting)
{
    return settings->values[setting].seconds;
}

const char *banyan_settings_origin(const banyan_settings *settings, banyan_setting setting)
{
    const char *origin = settings->values[setting].origin;

    return origin ? origin : "default";
}

int banyan_settings_is_default(const banyan_settings *settings, banyan_setting setting)
{
    return !settings->values[setting].origin;
}

int banyan_settings_warning_count(const banyan_settings *settings)
{
    return (int)settings->warning_count;
}

const char *banyan_settings_warning(const banyan_settings *settings, int i)
{
    return settings->warnings[i];
}

static int is_padded(const char *value)
{
    size_t length = strlen(value);

    return length && (strchr(" \t\"", value[0]) || strchr(" \t\r", value[length - 1]));
}

/* What is not set stands commented out, so that the text can be kept as a file and changed line by line. */
banyan_status banyan_settings_format(const banyan_settings *settings, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    for (int i = 0; i < BANYAN_SETTING_COUNT; i++) {
        const banyan_setting_info *info = &table[i];
        const char *value = banyan_settings_shown(settings, (banyan_setting)i);
        const char *quote = is_padded(value) ? "\"" : "";
        int is_comment = banyan_settings_is_default(settings, (banyan_setting)i) ||
                         i == BANYAN_SETTING_CONF_FILE || info->type == BANYAN_SETTING_HIDDEN;

        banyan_text_add(&text, "%s# %s\n# type: %s", i ? "\n" : "", info->summary,
                        banyan_setting_type_name(info->type));
        if (info->form)
            banyan_text_add(&text, " %s", info->form);
        banyan_text_add(&text, "; default: %s; from: %s\n", *info->fallback ? info->fallback : "empty",
                        banyan_settings_origin(settings, (banyan_setting)i));
        banyan_text_add(&text, "%s%s=%s%s%s\n", is_comment ? "#" : "", info->name, quote, value, quote);
    }
    return banyan_text_take(&text, out, err);
}
