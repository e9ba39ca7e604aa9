/* SPDX-License-Identifier: Apache-2.0 */
/* cli/wrap.c: a greedy line breaker for help texts. */
#include "wrap.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS 80

/* Bytes up to the next space outside of brackets. */
static size_t measure(const char *text)
{
    int depth = 0;
    size_t length = 0;

    for (; text[length] && (depth > 0 || text[length] != ' '); length++)
        depth += (text[length] == '[') - (text[length] == ']');
    return length;
}

/* Columns of UTF-8 text: bytes that do not continue a character. */
static int count_columns(const char *text, size_t length)
{
    int columns = 0;

    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

void cli_wrap(const char *text, int column, int indent)
{
    int is_first = 1;

    while (*text) {
        size_t length = measure(text);
        int width;

        if (count_columns(text, length) > COLUMNS - indent)
            length = strcspn(text, " ");
        width = count_columns(text, length);
        if (!is_first && column + 1 + width > COLUMNS) {
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
