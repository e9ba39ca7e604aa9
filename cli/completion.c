/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion.c: banyan completion bash|zsh|fish: a script for the shell, made from the verbs' own tables
 * and the registries, so that it cannot fall behind --help.
 *
 * Each shell is three functions (begin, one verb, end) over the same walk: a verb's options are its own, the
 * common ones, and, where it takes them, the algorithms' parameters. */
#include <stdio.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "cli.h"
#include "core/alloc.h"
#include "schedule/schedule.h"
#include "topology/generate.h"
#include "topology/import.h"

typedef struct {
    const char *name;
    void (*begin)(banyan_text *text);
    void (*verb)(banyan_text *text, const cli_verb *verb);
    void (*end)(banyan_text *text);
} shell;

typedef void (*option_writer)(banyan_text *text, const cli_verb *verb, const cli_option *option);

static int is_new_key(const char *key, int algorithm)
{
    for (int i = 0; i < algorithm; i++)
        for (const banyan_algorithm_option *o = banyan_algorithm_at(i)->options; o && o->key; o++)
            if (!strcmp(o->key, key))
                return 0;
    return 1;
}

static void each_option(banyan_text *text, const cli_verb *verb, option_writer write)
{
    for (const cli_option *o = verb->options; o && o->name; o++)
        write(text, verb, o);
    for (int i = 0; verb->takes_parameters && i < banyan_algorithm_count(); i++)
        for (const banyan_algorithm_option *o = banyan_algorithm_at(i)->options; o && o->key; o++)
            if (is_new_key(o->key, i))
                write(text, verb, &(cli_option){o->key, 0, o->form, o->summary});
    for (const cli_option *o = cli_common_options; o->name; o++)
        write(text, verb, o);
}

static void add_generators(banyan_text *text)
{
    for (int i = 0; i < banyan_generator_count(); i++)
        banyan_text_add(text, " %.*s", (int)strcspn(banyan_generator_at(i)->form, ":["),
                        banyan_generator_at(i)->form);
}

/* The words that an option's value may be, each after a space; nothing where they cannot be listed. */
static void add_values(banyan_text *text, const cli_option *option)
{
    if (!strcmp(option->name, "algo")) {
        banyan_text_add(text, " auto");
        for (int i = 0; i < banyan_algorithm_count(); i++)
            banyan_text_add(text, " %s", banyan_algorithm_at(i)->name);
    } else if (!strcmp(option->name, "collective")) {
        for (int i = 0; i < BANYAN_COLLECTIVE_COUNT; i++)
            banyan_text_add(text, " %s", banyan_collective_name((banyan_collective)i));
    } else if (!strcmp(option->name, "from")) {
        for (int i = 0; i < banyan_importer_count(); i++)
            banyan_text_add(text, " %s", banyan_importer_at(i)->name);
    } else if (strchr(option->argument, '|')) {
        banyan_text_add(text, " ");
        for (const char *c = option->argument; *c; c++)
            banyan_text_add(text, "%c", *c == '|' ? ' ' : *c);
    }
}

static int takes_file(const cli_option *option)
{
    return !strcmp(option->argument, "FILE") || !strcmp(option->argument, "SPEC");
}

static void add_words(banyan_text *text, const cli_verb *verb)
{
    for (const char *c = verb->words ? verb->words : ""; *c; c++)
        banyan_text_add(text, "%c", *c == '|' ? ' ' : *c);
}

static int takes_network(const cli_verb *verb)
{
    return strstr(verb->usage, "SPEC") && verb->word_limit > 0;
}

/* Single-quoted for the shell; the characters in special get a backslash. */
static void add_quoted(banyan_text *text, const char *string, const char *special)
{
    for (; *string; string++) {
        if (*string == '\'')
            banyan_text_add(text, "'\\''");
        else
            banyan_text_add(text, "%s%c", strchr(special, *string) ? "\\" : "", *string);
    }
}

static void begin_bash(banyan_text *text)
{
    banyan_text_add(text, "# bash completion for banyan, made by 'banyan completion bash'\n"
                          "_banyan()\n{\n"
                          "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                          "    local verb=${COMP_WORDS[1]} words= files=\n\n"
                          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='--help --version");
    for (int i = 0; i < cli_verb_count(); i++)
        banyan_text_add(text, " %s", cli_verb_at(i)->name);
    banyan_text_add(text, "'\n    else\n        case $verb in\n        help) words='");
    for (int i = 0; i < cli_verb_count(); i++)
        banyan_text_add(text, "%s%s", i ? " " : "", cli_verb_at(i)->name);
    banyan_text_add(text, "' ;;\n");
}

/* After an option that takes a value only that value is offered. */
static void add_bash_value(banyan_text *text, const cli_verb *verb, const cli_option *option)
{
    (void)verb;
    if (!option->argument)
        return;
    banyan_text_add(text, "            ");
    if (option->letter)
        banyan_text_add(text, "-%c | ", option->letter);
    banyan_text_add(text, "--%s) words='", option->name);
    add_values(text, option);
    banyan_text_add(text, "'%s ;;\n", takes_file(option) ? " files=1" : "");
}

static void add_bash_name(banyan_text *text, const cli_verb *verb, const cli_option *option)
{
    (void)verb;
    banyan_text_add(text, " --%s", option->name);
}

static void verb_bash(banyan_text *text, const cli_verb *verb)
{
    banyan_text_add(text, "        %s)\n            case $previous in\n", verb->name);
    each_option(text, verb, add_bash_value);
    banyan_text_add(text, "            *) words='");
    add_words(text, verb);
    if (takes_network(verb))
        add_generators(text);
    each_option(text, verb, add_bash_name);
    banyan_text_add(text, "'%s ;;\n            esac ;;\n", verb->word_limit ? " files=1" : "");
}

static void end_bash(banyan_text *text)
{
    banyan_text_add(text, "        esac\n    fi\n"
                          "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                          "    [ -z \"$files\" ] || compopt -o default\n"
                          "}\ncomplete -F _banyan banyan\n");
}

static void begin_zsh(banyan_text *text)
{
    banyan_text_add(text, "#compdef banyan\n# zsh completion for banyan, made by 'banyan completion zsh'\n"
                          "_banyan() {\n    local -a verbs\n    verbs=(\n");
    for (int i = 0; i < cli_verb_count(); i++) {
        banyan_text_add(text, "        '%s:", cli_verb_at(i)->name);
        add_quoted(text, cli_verb_at(i)->summary, "\\:");
        banyan_text_add(text, "'\n");
    }
    banyan_text_add(text, "    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n"
                          "        return\n    fi\n    shift words\n    (( CURRENT-- ))\n"
                          "    case $words[1] in\n    help) _describe verb verbs ;;\n");
}

static void add_zsh_option(banyan_text *text, const cli_verb *verb, const cli_option *option)
{
    (void)verb;
    banyan_text_add(text, " \\\n            ");
    if (option->letter)
        banyan_text_add(text, "'(-%c --%s)'{-%c,--%s}", option->letter, option->name, option->letter,
                        option->name);
    else
        banyan_text_add(text, "--%s", option->name);
    banyan_text_add(text, "'[");
    add_quoted(text, option->summary, "\\[]");
    banyan_text_add(text, "]");
    if (option->argument) {
        banyan_text_add(text, ":");
        add_quoted(text, option->argument, "\\:");
        banyan_text_add(text, ":");
        if (takes_file(option)) {
            banyan_text_add(text, "_files");
        } else {
            banyan_text_add(text, "(");
            add_values(text, option);
            banyan_text_add(text, ")");
        }
    }
    banyan_text_add(text, "'");
}

static void verb_zsh(banyan_text *text, const cli_verb *verb)
{
    banyan_text_add(text, "    %s)\n        _arguments -s", verb->name);
    each_option(text, verb, add_zsh_option);
    if (verb->words) {
        banyan_text_add(text, " \\\n            '1:what:(");
        add_words(text, verb);
        banyan_text_add(text, ")'");
    }
    if (takes_network(verb)) {
        banyan_text_add(text, " \\\n            '*:network:{_files; compadd -S \"\" --");
        add_generators(text);
        banyan_text_add(text, "}'");
    } else if (verb->word_limit && !verb->words) {
        banyan_text_add(text, " \\\n            '*:file:_files'");
    }
    banyan_text_add(text, " ;;\n");
}

static void end_zsh(banyan_text *text)
{
    banyan_text_add(text, "    esac\n}\n_banyan \"$@\"\n");
}

static void begin_fish(banyan_text *text)
{
    banyan_text_add(text, "# fish completion for banyan, made by 'banyan completion fish'\n"
                          "complete -c banyan -f\n");
}

static void add_fish_option(banyan_text *text, const cli_verb *verb, const cli_option *option)
{
    banyan_text_add(text, "complete -c banyan -n '__fish_seen_subcommand_from %s' -l %s", verb->name,
                    option->name);
    if (option->letter)
        banyan_text_add(text, " -s %c", option->letter);
    if (option->argument && takes_file(option)) {
        banyan_text_add(text, " -r -F");
    } else if (option->argument) {
        banyan_text_add(text, " -x -a '");
        add_values(text, option);
        banyan_text_add(text, "'");
    }
    banyan_text_add(text, " -d '");
    for (const char *c = option->summary; *c; c++)
        banyan_text_add(text, "%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
    banyan_text_add(text, "'\n");
}

static void verb_fish(banyan_text *text, const cli_verb *verb)
{
    banyan_text_add(text, "complete -c banyan -n __fish_use_subcommand -a %s -d '", verb->name);
    for (const char *c = verb->summary; *c; c++)
        banyan_text_add(text, "%s%c", *c == '\'' || *c == '\\' ? "\\" : "", *c);
    banyan_text_add(text, "'\n");
    if (verb->word_limit) {
        banyan_text_add(text, "complete -c banyan -n '__fish_seen_subcommand_from %s'%s -a '", verb->name,
                        takes_network(verb) || !verb->words ? " -F" : "");
        add_words(text, verb);
        if (takes_network(verb))
            add_generators(text);
        banyan_text_add(text, "'\n");
    }
    each_option(text, verb, add_fish_option);
}

static void end_fish(banyan_text *text)
{
    (void)text;
}

static const shell shells[] = {{"bash", begin_bash, verb_bash, end_bash},
                               {"zsh", begin_zsh, verb_zsh, end_zsh},
                               {"fish", begin_fish, verb_fish, end_fish}};

static banyan_status print_script(const shell *which, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    which->begin(&text);
    for (int i = 0; i < cli_verb_count(); i++)
        which->verb(&text, cli_verb_at(i));
    which->end(&text);
    return cli_print(&text, err);
}

static int run(const cli_arguments *arguments)
{
    const char *name = arguments->word_count ? arguments->words[0] : "";
    banyan_error err;
    banyan_status status;
    size_t i = 0;

    while (i < sizeof shells / sizeof *shells && strcmp(shells[i].name, name) != 0)
        i++;
    if (i == sizeof shells / sizeof *shells)
        return cli_usage_error(arguments, "name a shell: bash, zsh or fish");
    status = print_script(&shells[i], &err);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

const cli_verb cli_verb_completion = {.name = "completion",
                                      .usage = "bash|zsh|fish",
                                      .summary = "a script that completes words for the shell",
                                      .words = "bash|zsh|fish",
                                      .word_limit = 1,
                                      .run = run};
