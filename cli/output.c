/* SPDX-License-Identifier: Apache-2.0 */
/* cli/output.c: numbers as people and programs read them, and where results go. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "core/alloc.h"
#include "core/file.h"

double cli_bus_factor(const char *collective, int workers)
{
    double p = workers;

    if (!strcmp(collective, "allreduce"))
        return 2 * (p - 1) / p;
    return !strcmp(collective, "reducescatter") || !strcmp(collective, "allgather") ? (p - 1) / p : 1;
}

/* Names are compared without - and _, as the library does. */
banyan_status cli_check_root(const char *collective, banyan_error *err)
{
    static const char *const rootless[] = {"allreduce", "reducescatter", "allgather", "alltoall"};
    char name[32];
    size_t length = 0;

    for (const char *c = collective ? collective : rootless[0]; *c && length < sizeof name - 1; c++)
        if (*c != '-' && *c != '_')
            name[length++] = *c;
    name[length] = 0;
    for (size_t i = 0; i < sizeof rootless / sizeof *rootless; i++)
        if (!strcmp(name, rootless[i]))
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "--root: %s has no root", name);
    return BANYAN_SUCCESS;
}

void cli_json_number(banyan_text *text, const char *key, double value)
{
    banyan_text_add(text, "\"%s\":", key);
    if (isfinite(value))
        banyan_text_add_number(text, value);
    else
        banyan_text_add(text, "null");
}

banyan_status cli_write(const cli_arguments *arguments, const char *text, banyan_error *err)
{
    const char *path = cli_get(arguments, "output");

    return banyan_file_save(path ? path : "-", text, strlen(text), err);
}

banyan_status cli_print(banyan_text *text, banyan_error *err)
{
    char *out;
    banyan_status status = banyan_text_take(text, &out, err);

    if (status)
        return status;
    printf("%s%s", out, *out && out[strlen(out) - 1] != '\n' ? "\n" : "");
    banyan_free(out);
    return status;
}

void cli_say_written(const cli_arguments *arguments, const char *path)
{
    struct stat facts;
    char size[32];

    if (!path || !strcmp(path, "-") || cli_has(arguments, "json") || cli_has(arguments, "quiet"))
        return;
    if (stat(path, &facts) == 0 && S_ISREG(facts.st_mode))
        printf("written to %s (%s)\n", path, banyan_show_bytes((double)facts.st_size, size, sizeof size));
    else
        printf("written to %s\n", path);
}
