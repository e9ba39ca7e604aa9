/* SPDX-License-Identifier: Apache-2.0 */
/* core/yaml.c: recursive descent over lines and columns.
 *
 *     - topology: a        a block: what begins in one column, line after line, with '- ' or 'KEY: ';
 *       tree:              the value of a key lies in deeper columns, or begins with '- ' in the key's own
 *         switches: [x, y] a flow: brackets, as in JSON, but strings need no quotes
 *
 * Texts go to one pool; while it grows, values hold offsets, which become pointers at the end. */
#include "core/yaml.h"

#include <string.h>

#include "core/alloc.h"
#include "core/text.h"

/* MAX_KEYS is of one mapping: the search for keys that come twice takes its square. */
enum { MAX_DEPTH = 64, MAX_KEYS = 1024, NO_TEXT = -1 };

typedef struct {
    const char *start, *at, *end; /* the text; at: what is read next */
    const char *line_start;
    int line, depth;
    banyan_yaml *document;
    size_t capacity, offset_capacity;
    long *offset; /* of each value's text in the pool, or NO_TEXT */
    banyan_text pool;
    banyan_error *err;
} reader;

static banyan_status complain(const reader *in, const char *what)
{
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: %s", in->line, what);
}

static int column(const reader *in)
{
    return (int)(in->at - in->line_start);
}

static int peek(const reader *in, size_t ahead)
{
    return (size_t)(in->end - in->at) > ahead ? (unsigned char)in->at[ahead] : '\n';
}

static void skip_blanks(reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t' || *in->at == '\r'))
        in->at++;
}

/* At a comment or a line's end: to the next text, in whatever line it begins. */
static void skip_lines(reader *in)
{
    for (;;) {
        skip_blanks(in);
        if (in->at < in->end && *in->at == '#')
            while (in->at < in->end && *in->at != '\n')
                in->at++;
        if (in->at == in->end || *in->at != '\n')
            return;
        in->at++;
        in->line++;
        in->line_start = in->at;
    }
}

static banyan_status expect_line_end(reader *in)
{
    int line = in->line;

    skip_lines(in);
    if (in->at < in->end && in->line == line)
        return complain(in, "a value ends here, but the line goes on");
    return BANYAN_SUCCESS;
}

/* Adds a value whose subtree is empty so far; -1 when memory ran out. */
static int add_value(reader *in, banyan_yaml_kind kind, long offset)
{
    banyan_yaml *document = in->document;
    void *values = document->values, *offsets = in->offset;
    int fits = banyan_grow(&values, (size_t)document->count, &in->capacity, sizeof *document->values);

    document->values = values;
    fits = fits && banyan_grow(&offsets, (size_t)document->count, &in->offset_capacity, sizeof *in->offset);
    in->offset = offsets;
    if (!fits)
        return -1;
    in->offset[document->count] = offset;
    document->values[document->count] =
        (banyan_yaml_value){.kind = kind, .line = in->line, .next = document->count + 1};
    return document->count++;
}

static void close_value(reader *in, int value)
{
    in->document->values[value].next = in->document->count;
}

static banyan_status add_scalar(reader *in, const char *text, size_t length)
{
    long offset = (long)in->pool.length;

    banyan_text_add_bytes(&in->pool, text, length);
    banyan_text_add_bytes(&in->pool, "", 1);
    return in->pool.failed || add_value(in, BANYAN_YAML_SCALAR, offset) < 0 ? banyan_fail_memory(in->err)
                                                                            : BANYAN_SUCCESS;
}

static banyan_status read_escape(reader *in)
{
    static const char names[] = "\"\\/ntr0 ", meanings[] = "\"\\/\n\t\r\0 ";
    const char *found = in->at < in->end ? memchr(names, *in->at, sizeof names - 1) : NULL;

    if (!found || *found == '0')
        return complain(in, "this escape in a quoted string is not read");
    banyan_text_add_bytes(&in->pool, &meanings[found - names], 1);
    in->at++;
    return BANYAN_SUCCESS;
}

static banyan_status read_quoted(reader *in)
{
    char quote = *in->at++;
    long offset = (long)in->pool.length;
    banyan_status status = BANYAN_SUCCESS;

    for (;;) {
        if (in->at == in->end || *in->at == '\n')
            return complain(in, "a quoted string does not end on its line");
        if (*in->at == quote && quote == '\'' && peek(in, 1) == '\'')
            in->at++; /* two of them are one */
        else if (*in->at == quote)
            break;
        if (quote == '"' && *in->at == '\\') {
            in->at++;
            status = read_escape(in);
            if (status)
                return status;
            continue;
        }
        banyan_text_add_bytes(&in->pool, in->at++, 1);
    }
    in->at++;
    banyan_text_add_bytes(&in->pool, "", 1);
    return in->pool.failed || add_value(in, BANYAN_YAML_SCALAR, offset) < 0 ? banyan_fail_memory(in->err)
                                                                            : BANYAN_SUCCESS;
}

static int ends_plain(const reader *in, int is_flow)
{
    int c = peek(in, 0), after = peek(in, 1);

    if (in->at == in->end || c == '\n' || (c == ':' && strchr(" \t\r\n", after)))
        return 1;
    if (is_flow && (strchr(",]}", c) || (c == ':' && strchr(",]}", after))))
        return 1;
    return c == '#' && in->at > in->start && strchr(" \t", in->at[-1]);
}

/* A hostlist such as n[1-2] has brackets inside, which end no flow. */
static void skip_plain(reader *in, int is_flow)
{
    int open = 0;

    for (; in->at < in->end && *in->at != '\n'; in->at++) {
        if (!open && ends_plain(in, is_flow))
            return;
        open += *in->at == '[' ? 1 : *in->at == ']' && open ? -1 : 0;
    }
}

static banyan_status read_plain(reader *in, int is_flow)
{
    const char *from = in->at, *to;

    if (memchr("&*!|>%@`?", peek(in, 0), 9) || (peek(in, 0) == '-' && strchr(" \r\n", peek(in, 1))))
        return complain(in, "anchors, aliases, tags, block scalars and explicit keys of YAML are not read");
    skip_plain(in, is_flow);
    for (to = in->at; to > from && strchr(" \t\r", to[-1]);)
        to--;
    return add_scalar(in, from, (size_t)(to - from));
}

static banyan_status read_scalar(reader *in, int is_flow)
{
    return peek(in, 0) == '"' || peek(in, 0) == '\'' ? read_quoted(in) : read_plain(in, is_flow);
}

/* Reads 'KEY:' and moves behind it. */
static banyan_status read_key(reader *in, int mapping, int is_flow)
{
    banyan_yaml *document = in->document;
    banyan_status status;
    int key = document->count, keys = 0;

    status = read_scalar(in, is_flow);
    if (status)
        return status;
    skip_blanks(in);
    if (peek(in, 0) != ':')
        return complain(in, "expected KEY: VALUE");
    in->at++;
    for (int i = mapping + 1; i < key; i = document->values[document->values[i].next].next)
        if (++keys == MAX_KEYS)
            return complain(in, "a mapping has more than 1024 keys");
        else if (!strcmp(in->pool.bytes + in->offset[i], in->pool.bytes + in->offset[key]))
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "line %d: the key %.60s is given twice",
                               in->line, in->pool.bytes + in->offset[key]);
    return BANYAN_SUCCESS;
}

static banyan_status read_flow(reader *in);

static banyan_status read_flow_items(reader *in, int value, int is_mapping)
{
    char close = is_mapping ? '}' : ']';
    banyan_status status = BANYAN_SUCCESS;

    for (;;) {
        skip_lines(in);
        if (in->at < in->end && *in->at == close)
            break;
        if (is_mapping)
            status = read_key(in, value, 1);
        skip_lines(in);
        if (!status)
            status = read_flow(in);
        skip_lines(in);
        if (status)
            return status;
        if (in->at == in->end || (*in->at != ',' && *in->at != close))
            return complain(in, is_mapping ? "expected , or } here" : "expected , or ] here");
        if (*in->at == ',')
            in->at++;
    }
    in->at++;
    close_value(in, value);
    return BANYAN_SUCCESS;
}

static banyan_status read_flow(reader *in)
{
    int c = peek(in, 0), value;
    banyan_status status;

    if (c != '[' && c != '{')
        return read_scalar(in, 1);
    if (in->depth == MAX_DEPTH)
        return complain(in, "values are nested more than 64 deep");
    value = add_value(in, c == '[' ? BANYAN_YAML_SEQUENCE : BANYAN_YAML_MAPPING, NO_TEXT);
    if (value < 0)
        return banyan_fail_memory(in->err);
    in->at++;
    in->depth++;
    status = read_flow_items(in, value, c == '{');
    in->depth--;
    return status;
}

static int is_item(const reader *in)
{
    return in->at < in->end && *in->at == '-' && strchr(" \t\r\n", peek(in, 1)) != NULL;
}

/* Does a mapping begin here: is there a key before the line ends? */
static int is_key(reader *in)
{
    const char *at = in->at;
    int result;

    if (peek(in, 0) == '"' || peek(in, 0) == '\'') {
        char quote = *in->at++;

        while (in->at < in->end && *in->at != '\n' && *in->at != quote)
            in->at += *in->at == '\\' && in->at + 1 < in->end ? 2 : 1;
        if (in->at < in->end && *in->at == quote)
            in->at++;
        skip_blanks(in);
    } else {
        skip_plain(in, 0);
    }
    result = peek(in, 0) == ':' && in->at < in->end;
    in->at = at;
    return result;
}

static banyan_status read_block(reader *in);

/* What follows '- ' or 'KEY:': on the same line, or in lines below that begin right of the column. */
static banyan_status read_below(reader *in, int parent_column, int may_be_item)
{
    int line = in->line;

    skip_lines(in);
    if (in->at == in->end || (in->line > line && column(in) <= parent_column &&
                              !(may_be_item && column(in) == parent_column && is_item(in))))
        return add_scalar(in, "", 0);
    if (may_be_item && in->line == line &&
        (is_item(in) || (peek(in, 0) != '[' && peek(in, 0) != '{' && is_key(in))))
        return complain(in, "a key's value that is a block begins on a line of its own");
    return read_block(in);
}

static banyan_status read_entries(reader *in, int value, int is_mapping)
{
    int at_column = column(in);
    banyan_status status = BANYAN_SUCCESS;

    while (!status && in->at < in->end && column(in) == at_column && is_item(in) == !is_mapping) {
        if (is_mapping)
            status = read_key(in, value, 0);
        else
            in->at++;
        if (!status)
            status = read_below(in, at_column, is_mapping);
    }
    if (!status && in->at < in->end && column(in) > at_column)
        status = complain(in, "this line is indented further than the one before it allows");
    close_value(in, value);
    return status;
}

static banyan_status read_block(reader *in)
{
    int is_mapping, value;
    banyan_status status;

    if (in->depth == MAX_DEPTH)
        return complain(in, "values are nested more than 64 deep");
    if (memchr(in->line_start, '\t', (size_t)column(in)))
        return complain(in, "a tab cannot indent YAML");
    if (peek(in, 0) == '[' || peek(in, 0) == '{') {
        status = read_flow(in);
        return status ? status : expect_line_end(in);
    }
    is_mapping = !is_item(in);
    if (is_mapping && !is_key(in)) {
        status = read_scalar(in, 0);
        return status ? status : expect_line_end(in);
    }
    value = add_value(in, is_mapping ? BANYAN_YAML_MAPPING : BANYAN_YAML_SEQUENCE, NO_TEXT);
    if (value < 0)
        return banyan_fail_memory(in->err);
    in->depth++;
    status = read_entries(in, value, is_mapping);
    in->depth--;
    return status;
}

static banyan_status read_document(reader *in)
{
    banyan_status status;

    if (memchr(in->start, 0, (size_t)(in->end - in->start)))
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "the text holds a zero byte");
    skip_lines(in);
    if (in->end - in->at >= 3 && !memcmp(in->at, "---", 3) && column(in) == 0) {
        in->at += 3;
        skip_lines(in);
    }
    if (in->at == in->end)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "there is no value in the file");
    status = read_block(in);
    if (!status && in->at < in->end)
        status = complain(in, "the document ends above this line");
    return status;
}

banyan_status banyan_yaml_parse(const char *text, size_t length, banyan_yaml **out, banyan_error *err)
{
    reader in = {.start = text, .at = text, .end = text + length, .line_start = text, .line = 1, .err = err};
    banyan_status status;

    *out = NULL;
    in.document = banyan_alloc(1, sizeof *in.document);
    if (!in.document)
        return banyan_fail_memory(err);
    status = read_document(&in);
    if (!status) {
        in.document->pool = in.pool.bytes;
        in.pool = (banyan_text)BANYAN_TEXT_EMPTY;
        for (int i = 0; i < in.document->count; i++)
            in.document->values[i].text = in.offset[i] == NO_TEXT ? NULL : in.document->pool + in.offset[i];
        *out = in.document;
        in.document = NULL;
    }
    banyan_yaml_destroy(in.document);
    banyan_text_fini(&in.pool);
    banyan_free(in.offset);
    return status;
}

void banyan_yaml_destroy(banyan_yaml *document)
{
    if (!document)
        return;
    banyan_free(document->values);
    banyan_free(document->pool);
    banyan_free(document);
}

int banyan_yaml_find(const banyan_yaml *document, int mapping, const char *key)
{
    const banyan_yaml_value *values = document->values;

    if (values[mapping].kind != BANYAN_YAML_MAPPING)
        return -1;
    for (int i = mapping + 1; i < values[mapping].next; i = values[values[i].next].next)
        if (!strcmp(values[i].text, key))
            return values[i].next;
    return -1;
}
