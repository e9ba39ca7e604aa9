/* SPDX-License-Identifier: Apache-2.0 */
/* topology/scan.c: lines, words and numbers of plain text. Numbers are read here and not by strtod, because a
 * program that set a locale with a decimal comma would else read other bandwidths from the same file. */
#include "topology/scan.h"

#include <math.h>
#include <string.h>
#include <strings.h>

void banyan_scan_init(banyan_scan *scan, const char *text, size_t length)
{
    *scan = (banyan_scan){.at = text, .end = text + length};
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        scan->at += 3;
}

int banyan_scan_next_line(banyan_scan *scan)
{
    const char *newline;
    size_t left = (size_t)(scan->end - scan->at);

    if (!left)
        return 0;
    newline = memchr(scan->at, '\n', left);
    scan->line = (banyan_word){scan->at, newline ? (size_t)(newline - scan->at) : left};
    scan->at = newline ? newline + 1 : scan->end;
    if (scan->line.length && scan->line.at[scan->line.length - 1] == '\r')
        scan->line.length--;
    scan->number++;
    return 1;
}

/* Bytes of the UTF-8 character that begins here, or 0. */
static size_t character_length(const unsigned char *at, size_t left)
{
    size_t length = *at < 0x80 ? 1 : *at >= 0xc2 && *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;

    if ((*at >= 0x80 && *at < 0xc2) || *at > 0xf4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) || (*at == 0xf0 && at[1] < 0x90) ||
        (*at == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

banyan_status banyan_scan_check_text(const char *text, size_t length, banyan_error *err)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    int line = 1;

    if (!length)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the file is empty");
    while (at < end) {
        size_t step = character_length(at, (size_t)(end - at));
        int is_control = *at == 0x7f || (*at < 0x20 && !strchr("\t\n\r\f\v\x1b", *at));

        if (!step || !*at || is_control)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: the byte 0x%02x is not text in UTF-8",
                               line, *at);
        line += *at == '\n';
        at += step;
    }
    return BANYAN_SUCCESS;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

banyan_word banyan_word_trim(banyan_word word)
{
    while (word.length && is_blank(word.at[0])) {
        word.at++;
        word.length--;
    }
    while (word.length && is_blank(word.at[word.length - 1]))
        word.length--;
    return word;
}

int banyan_word_take(banyan_word *rest, banyan_word *taken)
{
    size_t length = 0;

    *rest = banyan_word_trim(*rest);
    while (length < rest->length && !is_blank(rest->at[length]))
        length++;
    *taken = (banyan_word){rest->at, length};
    rest->at += length;
    rest->length -= length;
    return length > 0;
}

int banyan_word_is(banyan_word word, const char *text)
{
    return word.length == strlen(text) && !memcmp(word.at, text, word.length);
}

int banyan_word_is_like(banyan_word word, const char *text)
{
    return word.length == strlen(text) && !strncasecmp(word.at, text, word.length);
}

int banyan_word_begins(banyan_word word, const char *text)
{
    return word.length >= strlen(text) && !memcmp(word.at, text, strlen(text));
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits add to the mantissa while it has room; later ones only move the exponent. */
static size_t read_digits(banyan_word word, size_t at, double *mantissa, long *exponent)
{
    for (; at < word.length && is_digit(word.at[at]); at++) {
        if (*mantissa < 1e17)
            *mantissa = 10 * *mantissa + (word.at[at] - '0');
        else
            ++*exponent;
    }
    return at;
}

static int read_exponent(banyan_word word, size_t at, long *exponent)
{
    int is_negative = at < word.length && word.at[at] == '-';
    long value = 0;

    if (at < word.length && (word.at[at] == '-' || word.at[at] == '+'))
        at++;
    if (at == word.length)
        return 0;
    for (; at < word.length; at++) {
        if (!is_digit(word.at[at]))
            return 0;
        value = value < 10000 ? 10 * value + (word.at[at] - '0') : value;
    }
    *exponent += is_negative ? -value : value;
    return 1;
}

/* Powers of ten up to 22 are exact, so short decimals come out as the nearest double. */
static double scale(double mantissa, long exponent)
{
    if (mantissa <= 0)
        return 0;
    if (exponent < 0 && exponent >= -22)
        return mantissa / pow(10, (double)-exponent);
    return mantissa * pow(10, (double)exponent);
}

int banyan_word_number(banyan_word word, double *out)
{
    size_t begin = word.length && (*word.at == '-' || *word.at == '+'), at, digits;
    double mantissa = 0;
    long exponent = 0;

    at = read_digits(word, begin, &mantissa, &exponent);
    digits = at - begin;
    if (at < word.length && word.at[at] == '.') {
        size_t point = ++at;

        at = read_digits(word, at, &mantissa, &exponent);
        exponent -= (long)(at - point);
        digits += at - point;
    }
    if (!digits)
        return 0;
    if (at < word.length &&
        ((word.at[at] != 'e' && word.at[at] != 'E') || !read_exponent(word, at + 1, &exponent)))
        return 0;
    *out = *word.at == '-' ? -scale(mantissa, exponent) : scale(mantissa, exponent);
    return 1;
}

int banyan_word_integer(banyan_word word, int high, int *out)
{
    long long value = 0;

    if (!word.length)
        return 0;
    for (size_t i = 0; i < word.length; i++) {
        if (!is_digit(word.at[i]))
            return 0;
        value = 10 * value + (word.at[i] - '0');
        if (value > high)
            return 0;
    }
    *out = (int)value;
    return 1;
}

banyan_shown banyan_word_show(banyan_word word)
{
    banyan_shown shown = {{0}};
    size_t length = word.length < 44 ? word.length : 40;

    while (length < word.length && length && ((unsigned char)word.at[length] & 0xc0) == 0x80)
        length--;
    memcpy(shown.text, word.at, length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)shown.text[i] < 0x20)
            shown.text[i] = ' ';
    if (length < word.length)
        memcpy(shown.text + length, "...", 4);
    return shown;
}

banyan_status banyan_word_check_name(banyan_word word, int line, banyan_error *err)
{
    if (!word.length)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: a name is empty", line);
    if (word.length > 255)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: the name %s has more than 255 bytes", line,
                           banyan_word_show(word).text);
    for (size_t i = 0; i < word.length; i++)
        if ((unsigned char)word.at[i] <= 0x20)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                               "line %d: the name %s holds a blank or a control character", line,
                               banyan_word_show(word).text);
    return BANYAN_SUCCESS;
}
