/* SPDX-License-Identifier: Apache-2.0 */
/* cli/style.c: ANSI's sequences, or nothing. */
#include "style.h"

#include <unistd.h>

#include "core/settings.h"

static int decide(void)
{
    banyan_settings *settings = NULL;
    const char *no_color = banyan_environment("NO_COLOR");
    int64_t choice = 0; /* auto, always, never */

    if (!banyan_settings_load(&settings, NULL))
        choice = banyan_settings_integer(settings, BANYAN_SETTING_COLOR);
    banyan_settings_destroy(settings);
    if (choice != 0)
        return choice == 1;
    return isatty(STDOUT_FILENO) && (!no_color || !*no_color);
}

int cli_wants_style(void)
{
    static int decided, wants;

    if (!decided)
        wants = decide();
    decided = 1;
    return wants;
}

const char *cli_style_on(cli_style style)
{
    static const char *const sequences[] = {"\033[1m", "\033[4m", "\033[32m", "\033[31m"};

    return cli_wants_style() ? sequences[style] : "";
}

const char *cli_style_off(void)
{
    return cli_wants_style() ? "\033[0m" : "";
}
