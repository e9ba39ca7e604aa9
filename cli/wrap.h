/* SPDX-License-Identifier: Apache-2.0 */
/* cli/wrap.h: text broken into lines of at most 80 columns, and of fewer on a narrower terminal. */
#ifndef BANYAN_CLI_WRAP_H
#define BANYAN_CLI_WRAP_H

/* Prints the words of text to standard output, from the given column on; further lines begin at the column
 * indent. A word that is longer than a line gets one of its own. What stands in [brackets] stays together
 * where it fits a line. Ends with a newline. */
void cli_wrap(const char *text, int column, int indent);

/* The same, but whole on a line where standard output is no terminal: for grep. */
void cli_wrap_on_terminal(const char *text, int column, int indent);

#endif
