/* SPDX-License-Identifier: Apache-2.0 */
/* cli/style.h: bold, underlined and coloured text on standard output, where BANYAN_COLOR and NO_COLOR
 * (https://no-color.org) allow it. What a style says, words or marks say as well. */
#ifndef BANYAN_CLI_STYLE_H
#define BANYAN_CLI_STYLE_H

typedef enum { CLI_BOLD, CLI_UNDERLINED, CLI_GREEN, CLI_RED } cli_style;

/* Whether standard output gets styles at all; a wrong setting is no reason to withhold a result. */
int cli_wants_style(void);

/* What switches the style on, and what switches all styles off: empty strings where none are wanted. */
const char *cli_style_on(cli_style style);
const char *cli_style_off(void);

#endif
