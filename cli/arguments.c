/* SPDX-License-Identifier: Apache-2.0 */
/* cli/arguments.c: options and words of a verb, read by its table; --help from the same table. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "cli.h"
#include "core/near.h"
#include "pages.h"
#include "wrap.h"

#define MAX_EXAMPLES 3 /* in --help; the manual page has more */
#define MAX_EXAMPLE_COLUMNS 78

const cli_option cli_common_options[] = {{"json", 0, NULL, "print JSON"},
                                         {"quiet", 'q', NULL, "print results only"},
                                         {"help", 'h', NULL, "show this help"},
                                         {NULL, 0, NULL, NULL}};

static const char *before(const cli_verb *verb)
{
    return verb->is_program ? "" : "banyan ";
}

static const cli_option *find_in(const cli_option *options, const char *name, size_t length, char letter)
{
    for (; options && options->name; options++)
        if (letter ? options->letter == letter
                   : strlen(options->name) == length && !strncmp(options->name, name, length))
            return options;
    return NULL;
}

/* An algorithm's option under the name of a command-line option; NULL if no algorithm has it. */
static const banyan_algorithm_option *find_parameter(const char *name, size_t length)
{
    for (int i = 0; i < banyan_algorithm_count(); i++)
        for (const banyan_algorithm_option *o = banyan_algorithm_at(i)->options; o && o->key; o++)
            if (strlen(o->key) == length && !strncmp(o->key, name, length))
                return o;
    return NULL;
}

static int unknown_option(const cli_arguments *arguments, const char *word)
{
    const char *names[256];
    int count = 0, near;

    for (const cli_option *o = arguments->verb->options; o && o->name && count < 128; o++)
        names[count++] = o->name;
    for (const cli_option *o = cli_common_options; o->name; o++)
        names[count++] = o->name;
    for (int i = 0; arguments->verb->takes_parameters && i < banyan_algorithm_count(); i++)
        for (const banyan_algorithm_option *o = banyan_algorithm_at(i)->options; o && o->key && count < 256;
             o++)
            names[count++] = o->key;
    near = word[1] == '-' ? banyan_near_find(word + 2, names, count) : -1;
    if (near >= 0)
        return cli_usage_error(arguments, "unknown option %s (did you mean --%s?)", word, names[near]);
    return cli_usage_error(arguments, "unknown option %s; see '%s%s --help'", word, before(arguments->verb),
                           arguments->verb->name);
}

static int keep(cli_arguments *out, const char *name, const char *value)
{
    if (out->option_count == CLI_MAX_WORDS)
        return cli_usage_error(out, "too many options");
    out->names[out->option_count] = name;
    out->values[out->option_count++] = value;
    return CLI_OK;
}

/* Reads the option at words[*i], with its value; moves *i past what it took. */
static int parse_option(cli_arguments *out, int count, char **words, int *i)
{
    const char *word = words[*i], *equals = strchr(word, '=');
    int is_long = word[1] == '-';
    const char *name = is_long ? word + 2 : word + 1;
    size_t length = is_long && equals ? (size_t)(equals - name) : strlen(name);
    char letter = is_long ? 0 : word[1];
    const cli_option *option = find_in(out->verb->options, name, length, letter);
    const banyan_algorithm_option *parameter = NULL;
    const char *value = is_long && equals ? equals + 1 : NULL;

    if (!option)
        option = find_in(cli_common_options, name, length, letter);
    if (!option && out->verb->takes_parameters && is_long)
        parameter = find_parameter(name, length);
    if (!option && !parameter)
        return unknown_option(out, word);
    if (option && !option->argument) {
        if (value || (!is_long && word[2]))
            return cli_usage_error(out, "--%s takes no value", option->name);
        return keep(out, option->name, "");
    }
    if (!value && !is_long && word[2])
        value = word + 2;
    if (!value && *i + 1 >= count)
        return cli_usage_error(out, "%s needs a value", word);
    if (!value)
        value = words[++*i];
    return keep(out, option ? option->name : parameter->key, value);
}

int cli_parse(const cli_verb *verb, int count, char **words, cli_arguments *out)
{
    int only_words = 0;

    memset(out, 0, sizeof *out);
    out->verb = verb;
    for (int i = 0; !verb->takes_command && i < count && strcmp(words[i], "--") != 0; i++)
        out->wants_json |= !strcmp(words[i], "--json");
    for (int i = 0; i < count; i++) {
        if (!only_words && !strcmp(words[i], "--")) {
            only_words = 1;
        } else if (!only_words && words[i][0] == '-' && words[i][1]) {
            int code = parse_option(out, count, words, &i);

            if (code)
                return code;
        } else if (verb->takes_command) {
            out->command = words + i;
            return CLI_OK;
        } else if (out->word_count == verb->word_limit) {
            return cli_usage_error(out, "unexpected argument %s", words[i]);
        } else {
            out->words[out->word_count++] = words[i];
        }
    }
    return CLI_OK;
}

static void add_shell_word(banyan_text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";

    banyan_text_add(text, " ");
    if (*word && !word[strspn(word, plain)]) {
        banyan_text_add(text, "%s", word);
        return;
    }
    banyan_text_add(text, "'");
    for (; *word; word++) {
        if (*word == '\'')
            banyan_text_add(text, "'\\'");
        banyan_text_add_bytes(text, word, 1);
    }
    banyan_text_add(text, "'");
}

void cli_add_command(const cli_arguments *arguments, banyan_text *text)
{
    banyan_text_add(text, "%s%s", before(arguments->verb), arguments->verb->name);
    for (int i = 0; i < arguments->word_count; i++)
        add_shell_word(text, arguments->words[i]);
    for (int i = 0; i < arguments->option_count; i++) {
        if (!strcmp(arguments->names[i], "quiet"))
            continue;
        banyan_text_add(text, " --%s", arguments->names[i]);
        if (*arguments->values[i])
            add_shell_word(text, arguments->values[i]);
    }
}

#define LEFT_COLUMNS 30 /* of an option's name and value; its summary begins after them */

static void print_option(const cli_option *option)
{
    char left[80];
    int length = snprintf(left, sizeof left, "  %s%c%s--%s%s%s", option->letter ? "-" : " ",
                          option->letter ? option->letter : ' ', option->letter ? ", " : "  ", option->name,
                          option->argument ? " " : "", option->argument ? option->argument : "");

    if (length < LEFT_COLUMNS)
        printf("%-*s", LEFT_COLUMNS, left);
    else
        printf("%s\n%*s", left, LEFT_COLUMNS, "");
    cli_wrap(option->summary, LEFT_COLUMNS, LEFT_COLUMNS);
}

static void print_usage(const cli_verb *verb)
{
    const char *line = verb->usage;
    char copy[1024];

    while (*line) {
        int length = (int)strcspn(line, "\n"), column;

        snprintf(copy, sizeof copy, "%.*s", length, line);
        column = printf("  %s%s ", before(verb), verb->name);
        cli_wrap(copy, column, column);
        line += length + (line[length] == '\n');
    }
}

/* The first commands of the examples on the verb's manual page that fit a line. */
static void print_examples(const cli_verb *verb)
{
    const char *line = cli_page_find(verb->name);

    line = line ? strstr(line, "\n## EXAMPLES\n") : NULL;
    line = line ? strstr(line, "\n```") : NULL;
    line = line ? strchr(line + 1, '\n') : NULL;
    if (!line)
        return;
    printf("\nExamples:\n");
    line++;
    for (int i = 0; i < MAX_EXAMPLES && *line && strncmp(line, "```", 3) != 0;) {
        int length = (int)strcspn(line, "\n"), skipped = strncmp(line, "$ ", 2) ? 0 : 2;

        if (!strncmp(line + skipped, "banyan ", 7) && length - skipped <= MAX_EXAMPLE_COLUMNS) {
            printf("  %.*s\n", length - skipped, line + skipped);
            i++;
        }
        line += length + (line[length] == '\n');
    }
}

void cli_help(const cli_verb *verb)
{
    int column = printf("%s%s: ", before(verb), verb->name);

    cli_wrap(verb->summary, column, 2);
    printf("\nUsage:\n");
    print_usage(verb);
    printf("\nOptions:\n");
    for (const cli_option *o = verb->options; o && o->name; o++)
        print_option(o);
    for (const cli_option *o = cli_common_options; o->name; o++)
        print_option(o);
    if (verb->takes_parameters)
        printf("\nAlgorithms have options of their own, such as --order of ring: see\n"
               "'banyan help ALGORITHM'.\n");
    print_examples(verb);
}

void cli_blame(const char *option, banyan_error *err)
{
    char name[40];

    snprintf(name, sizeof name, "--%s", option);
    banyan_error_prefix(err, name);
}

const char *cli_get(const cli_arguments *arguments, const char *option)
{
    for (int i = arguments->option_count - 1; i >= 0; i--)
        if (!strcmp(arguments->names[i], option))
            return arguments->values[i];
    return NULL;
}

int cli_has(const cli_arguments *arguments, const char *option)
{
    return cli_get(arguments, option) != NULL;
}

void cli_complain(const char *who, const char *sentence, int code, int is_json)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    fprintf(stderr, "%s: %s\n", who, sentence);
    if (!is_json)
        return;
    banyan_text_add(&text, "{\"error\":");
    banyan_text_add_json_string(&text, sentence);
    banyan_text_add(&text, ",\"exit_status\":%d}", code);
    if (!text.failed)
        puts(text.bytes);
    banyan_text_fini(&text);
}

/* With --json a program reads standard output: it gets the sentence there, too. */
static int report(const cli_arguments *arguments, const char *sentence, int code)
{
    char who[64];

    snprintf(who, sizeof who, "%s%s", before(arguments->verb), arguments->verb->name);
    cli_complain(who, sentence, code, cli_has(arguments, "json") || arguments->wants_json);
    return code;
}

static int exit_status(banyan_status status)
{
    switch (status) {
    case BANYAN_INVALID_ARGUMENT:
    case BANYAN_INVALID_USAGE:
    case BANYAN_UNSUPPORTED:
        return CLI_USAGE;
    case BANYAN_TIMEOUT:
        return CLI_TIMEOUT;
    case BANYAN_PLAN_INVALID:
    case BANYAN_MISMATCH:
    case BANYAN_VERSION_MISMATCH:
        return CLI_FAILED;
    default:
        return CLI_ENVIRONMENT;
    }
}

int cli_fail(const cli_arguments *arguments, banyan_status status, const banyan_error *err)
{
    return report(arguments, err->text, exit_status(status));
}

int cli_usage_error(const cli_arguments *arguments, const char *format, ...)
{
    char sentence[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    return report(arguments, sentence, CLI_USAGE);
}
