/* SPDX-License-Identifier: Apache-2.0 */
/* cli/main.c: finds the verb and hands over. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli.h"
#include "core/near.h"

#define X(name) extern const cli_verb cli_verb_##name;
#include "verbs.h"
#undef X

extern const cli_verb cli_program_all_reduce_perf;

static const cli_verb *const verbs[] = {
#define X(name) &cli_verb_##name,
#include "verbs.h"
#undef X
};

int cli_verb_count(void)
{
    return (int)(sizeof verbs / sizeof *verbs);
}

const cli_verb *cli_verb_at(int i)
{
    return verbs[i];
}

const cli_verb *cli_verb_find(const char *name)
{
    for (int i = 0; i < cli_verb_count(); i++)
        if (!strcmp(verbs[i]->name, name))
            return verbs[i];
    return NULL;
}

static int has_json(int count, char **words)
{
    while (count && strcmp(words[count - 1], "--json") != 0)
        count--;
    return count > 0;
}

static int unknown_verb(const char *word, int is_json)
{
    const char *names[64];
    char sentence[256];
    int near;

    for (int i = 0; i < cli_verb_count(); i++)
        names[i] = verbs[i]->name;
    near = banyan_near_find(word, names, cli_verb_count());
    if (near >= 0)
        snprintf(sentence, sizeof sentence, "no verb is named %.99s (did you mean %s?)", word, names[near]);
    else
        snprintf(sentence, sizeof sentence, "no verb is named %.99s; 'banyan --help' shows them all", word);
    cli_complain("banyan", sentence, CLI_USAGE, is_json);
    return CLI_USAGE;
}

/* Under nccl-tests' name we are what scripts expect there: a link is enough. */
static int is_called(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');

    return !strcmp(slash ? slash + 1 : path, name);
}

static int run_verb(const cli_verb *verb, int count, char **words)
{
    cli_arguments arguments;
    int code = cli_parse(verb, count, words, &arguments);

    if (code)
        return code;
    if (cli_has(&arguments, "help")) {
        cli_help(verb);
        return CLI_OK;
    }
    code = verb->run(&arguments);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "banyan: standard output cannot be written\n");
        return code ? code : CLI_ENVIRONMENT;
    }
    return code;
}

/* Linear programs take memory and leave it again hundreds of times: the process keeps it meanwhile, else the
 * system has to find and clear it each time, which is a tenth of a small plan's time. */
static void keep_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
#endif
}

int main(int count, char **words)
{
    const cli_verb *verb;

    keep_memory();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error with a sentence */
    if (count && is_called(words[0], "all_reduce_perf"))
        return run_verb(&cli_program_all_reduce_perf, count - 1, words + 1);
    if (count < 2) {
        cli_verb_help.run(&(cli_arguments){.verb = &cli_verb_help});
        return CLI_USAGE;
    }
    if (!strcmp(words[1], "--help") || !strcmp(words[1], "-h"))
        words[1] = "help";
    if (!strcmp(words[1], "--version") || !strcmp(words[1], "-V") || !strcmp(words[1], "version")) {
        printf(has_json(count, words) ? "{\"version\":\"%d.%d.%d\"}\n" : "banyan %d.%d.%d\n",
               BANYAN_VERSION_MAJOR, BANYAN_VERSION_MINOR, BANYAN_VERSION_PATCH);
        return CLI_OK;
    }
    verb = cli_verb_find(words[1]);
    if (!verb)
        return unknown_verb(words[1], has_json(count, words));
    return run_verb(verb, count - 2, words + 2);
}
