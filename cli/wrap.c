/* SPDX-License-Identifier: Apache-2.0 */
/* cli/wrap.c: a greedy line breaker for help texts. */
#include "wrap.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MIN_COLUMNS = 40, MAX_COLUMNS = 80 };

/* Of the terminal, within reason; elsewhere what most have. */
static int find_columns(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col ||
        size.ws_col > MAX_COLUMNS)
        return MAX_COLUMNS;
    return size.ws_col < MIN_COLUMNS ? MIN_COLUMNS : size.ws_col;
}

/* Bytes of a sequence that sets a style (style.h), or 0. */
static size_t skip_style(const char *text)
{
    return text[0] == '\033' ? strcspn(text, "m") + 1 : 0;
}

/* Bytes up to the next space outside of brackets. */
static size_t measure(const char *text)
{
    int depth = 0;
    size_t length = 0;

    while (text[length] && (depth > 0 || text[length] != ' ')) {
        size_t style = skip_style(text + length);

        depth += (text[length] == '[') - (text[length] == ']');
        length += style ? style : 1;
    }
    return length;
}

/* Columns of UTF-8 text: bytes that do not continue a character, nor set a style. */
static int count_columns(const char *text, size_t length)
{
    int columns = 0;

    for (size_t i = 0; i < length;) {
        size_t style = skip_style(text + i);

        columns += !style && ((unsigned char)text[i] & 0xc0) != 0x80;
        i += style ? style : 1;
    }
    return columns;
}

void cli_wrap(const char *text, int column, int indent)
{
    int is_first = 1, columns = find_columns();

    while (*text) {
        size_t length = measure(text);
        int width;

        if (count_columns(text, length) > columns - indent)
            length = strcspn(text, " ");
        width = count_columns(text, length);
        if (!is_first && column + 1 + width > columns) {
            printf("\n%*s", indent, "");
            column = indent;
        } else if (!is_first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)length, text);
        column += width;
        is_first = 0;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

void cli_wrap_on_terminal(const char *text, int column, int indent)
{
    if (isatty(STDOUT_FILENO))
        cli_wrap(text, column, indent);
    else
        puts(text);
}
