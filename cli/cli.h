/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cli.h: what the verbs share. A verb is one file that defines one const cli_verb, and one line in
 * verbs.h; its option table is what --help, the parser and shell completion read. */
#ifndef BANYAN_CLI_H
#define BANYAN_CLI_H

#include <banyan/plan.h>

#include "core/show.h"
#include "core/status.h"
#include "core/text.h"

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_ENVIRONMENT = 3, CLI_TIMEOUT = 124 };

typedef struct {
    const char *name;     /* 'bytes' for --bytes */
    char letter;          /* 'o' for -o, or 0 */
    const char *argument; /* 'N', or NULL for a switch */
    const char *summary;
} cli_option;

#define CLI_MAX_WORDS 64

typedef struct {
    const struct cli_verb *verb;
    int word_count;
    const char *words[CLI_MAX_WORDS]; /* what is not an option */
    int option_count;
    const char *names[CLI_MAX_WORDS];  /* options given: long names */
    const char *values[CLI_MAX_WORDS]; /* their values; "" for a switch */
    int wants_json;                    /* --json is among the words, also behind one that is wrong */
    char *const *command; /* for verbs that start one: the first word and all after it, up to NULL; or NULL */
} cli_arguments;

typedef struct cli_verb {
    const char *name;
    const char *usage;         /* 'SPEC [--algo A] [-o FILE]'; several forms on lines of their own */
    const char *summary;       /* one line */
    const char *words;         /* for completion: what the first word may be, 'show|convert', or NULL */
    int word_limit;            /* how many words it takes at the most */
    int takes_command;         /* the first word begins a command, whose options are its own */
    int takes_parameters;      /* options of algorithms ('--order') are accepted */
    int is_program;            /* called by a link of its name, without 'banyan' before it */
    const cli_option *options; /* ends with a NULL name; --json, --quiet and --help come on top */
    int (*run)(const cli_arguments *arguments);
} cli_verb;

int cli_verb_count(void);
const cli_verb *cli_verb_at(int i);
const cli_verb *cli_verb_find(const char *name); /* NULL: none */

/* Prints an algorithm's summary, cost, source and options; 0, and nothing, if none has that name. */
int cli_list_algorithm(const char *name);

/* The options that every verb has. */
extern const cli_option cli_common_options[];

/* Fills arguments, or prints one sentence and returns CLI_USAGE. */
int cli_parse(const cli_verb *verb, int count, char **words, cli_arguments *out);
void cli_help(const cli_verb *verb);

/* The command as a shell would take it, without --quiet: pages show what made them. */
void cli_add_command(const cli_arguments *arguments, banyan_text *text);

/* The last value given, or NULL; whether it was given. */
const char *cli_get(const cli_arguments *arguments, const char *option);
/* Puts '--option' before what is wrong with its value. */
void cli_blame(const char *option, banyan_error *err);
int cli_has(const cli_arguments *arguments, const char *option);

/* Prints 'banyan VERB: SENTENCE' to standard error and gives the exit code that fits the status. */
int cli_fail(const cli_arguments *arguments, banyan_status status, const banyan_error *err);
/* The same for a fault that no verb has found: is_json puts it on standard output, too. */
void cli_complain(const char *who, const char *sentence, int code, int is_json);
int cli_usage_error(const cli_arguments *arguments, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The options that planning verbs share. */
#define CLI_PROBLEM_OPTIONS                                                                                  \
    {"active", 0, "RANKS", "workers that hold data, such as 0,1,4-7 (default: all)"},                        \
        {"collective", 0, "NAME",                                                                            \
         "allreduce (default), reducescatter, allgather, broadcast, reduce, gather, scatter, alltoall"},     \
        {"root", 0, "RANK", "root of broadcast, reduce, gather and scatter (default: 0)"},                   \
    {                                                                                                        \
        "bytes", 'b', "SIZE", "size of the vector, such as 64MiB (default: 64MiB)"                           \
    }

/* Fails if the collective of this name (NULL: all-reduce) has no root that --root could name. An unknown
 * name passes: others complain about it. */
banyan_status cli_check_root(const char *collective, banyan_error *err);

/* Beyond this many active workers plans are shown without the bound, which would take long to find. */
#define CLI_BOUND_WORKERS 1024

/* nccl-tests' factor from algorithm bandwidth to bus bandwidth, of a collective by its name. */
double cli_bus_factor(const char *collective, int workers);

/* JSON numbers; null for infinities and NaN. */
void cli_json_number(banyan_text *text, const char *key, double value);

/* Writes to the file of -o, or to standard output without one. */
banyan_status cli_write(const cli_arguments *arguments, const char *text, banyan_error *err);

/* Standard output: what was gathered, with the end of its last line if that lacks one. Empties it. */
banyan_status cli_print(banyan_text *text, banyan_error *err);

/* The last line of a verb that has written a file: where it lies and how large it is. Says nothing with
 * --quiet and --json, without a path, and where the file is standard output. */
void cli_say_written(const cli_arguments *arguments, const char *path);

#endif
