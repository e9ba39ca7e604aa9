/* SPDX-License-Identifier: Apache-2.0 */
/* cli/list.c: banyan list: the registries: algorithms, networks, import formats, gradient policies,
 * transports. */
#include <stdio.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "cli.h"
#include "core/alloc.h"
#include "topology/generate.h"
#include "topology/import.h"
#include "train/train.h"
#include "transport/plugin.h"
#include "transport/transport.h"
#include "wrap.h"

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

/* Whether this build has it: some transports need a shared object beside the library. */
static int is_there(const banyan_transport *transport)
{
    char path[4200];

    if (!strcmp(transport->name, "mpi"))
        return banyan_plugin_find("mpi-openmpi", "", path, sizeof path) ||
               banyan_plugin_find("mpi-mpich", "", path, sizeof path);
    return strcmp(transport->name, "ucx") != 0 || banyan_plugin_find("ucx", "", path, sizeof path);
}

int cli_list_algorithm(const char *name)
{
    const banyan_algorithm *algorithm = banyan_algorithm_find(name);
    int column;

    if (!algorithm)
        return 0;
    column = printf("%s: ", algorithm->name);
    cli_wrap(algorithm->summary, column, 2);
    if (algorithm->cost)
        printf("\ncost: %s\n", algorithm->cost);
    if (algorithm->paper) {
        printf("source: ");
        cli_wrap(algorithm->paper, 8, 8);
    }
    if (algorithm->options)
        printf("\nOptions, for plan, compare, sim, report and train:\n");
    for (const banyan_algorithm_option *o = algorithm->options; o && o->key; o++) {
        printf("  --%s %s\n      ", o->key, o->form);
        cli_wrap(o->summary, 6, 6);
    }
    putchar('\n');
    return 1;
}

/* A name, and behind it in a column of its own what is said of it. */
static void print_entry(int width, const char *name, const char *label, const char *text)
{
    int column = printf("  %-*s %s", width, name, label);

    cli_wrap_on_terminal(text, column, width + 3 + (*label ? 2 : 0));
}

static void print_text(const char *what)
{
    if (!*what || !strcmp(what, "algorithms")) {
        printf("Algorithms (cost: a latency, b time per byte, p ranks, n bytes; other letters:\n"
               "'banyan help ALGORITHM'):\n");
        for (int i = 0; i < banyan_algorithm_count(); i++) {
            const banyan_algorithm *a = banyan_algorithm_at(i);

            print_entry(20, a->name, "", a->summary);
            if (a->cost)
                print_entry(20, "", "  cost: ", a->cost);
            if (a->paper)
                print_entry(20, "", "  source: ", a->paper);
        }
    }
    if (!*what || !strcmp(what, "networks")) {
        printf("%sNetworks, as strings:\n", *what ? "" : "\n");
        for (int i = 0; i < banyan_generator_count(); i++)
            print_entry(28, banyan_generator_at(i)->form, "", banyan_generator_at(i)->summary);
    }
    if (!*what || !strcmp(what, "imports")) {
        printf("%sNetworks, as files (besides our own JSON):\n", *what ? "" : "\n");
        for (int i = 0; i < banyan_importer_count(); i++)
            print_entry(28, banyan_importer_at(i)->name, "", banyan_importer_at(i)->summary);
    }
    if (!*what || !strcmp(what, "policies")) {
        printf("%sGradient policies, for banyan train:\n", *what ? "" : "\n");
        for (int i = 0; i < banyan_policy_count(); i++) {
            print_entry(20, banyan_policy_at(i)->name, "", banyan_policy_at(i)->summary);
            if (banyan_policy_at(i)->paper)
                print_entry(20, "", "  source: ", banyan_policy_at(i)->paper);
        }
    }
    if (!*what || !strcmp(what, "transports")) {
        printf("%sTransports, for BANYAN_TRANSPORT:\n", *what ? "" : "\n");
        for (int i = 0; i < banyan_transport_count(); i++)
            print_entry(20, banyan_transport_at(i)->name,
                        is_there(banyan_transport_at(i)) ? "" : "(not in this build) ",
                        banyan_transport_at(i)->summary);
    }
}

static void add_field(banyan_text *text, const char *key, const char *value, const char *end)
{
    banyan_text_add(text, "\"%s\":", key);
    if (value)
        banyan_text_add_json_string(text, value);
    else
        banyan_text_add(text, "null");
    banyan_text_add(text, "%s", end);
}

static void add_algorithm(banyan_text *text, const banyan_algorithm *a)
{
    int written = 0;

    banyan_text_add(text, "\n{");
    add_field(text, "name", a->name, ",");
    add_field(text, "summary", a->summary, ",");
    add_field(text, "cost", a->cost, ",");
    add_field(text, "paper", a->paper, ",\"collectives\":[");
    for (int c = 0; c < BANYAN_COLLECTIVE_COUNT; c++)
        if (a->collectives >> c & 1)
            banyan_text_add(text, "%s\"%s\"", written++ ? "," : "",
                            banyan_collective_name((banyan_collective)c));
    banyan_text_add(text, "],\"options\":[");
    for (const banyan_algorithm_option *o = a->options; o && o->key; o++) {
        banyan_text_add(text, "%s{", o == a->options ? "" : ",");
        add_field(text, "key", o->key, ",");
        add_field(text, "form", o->form, ",");
        add_field(text, "summary", o->summary, "}");
    }
    banyan_text_add(text, "]}");
}

/* Whether this list was asked for; begins it where it was. */
static int begin_list(banyan_text *text, const char *what, const char *name)
{
    if (*what && strcmp(what, name) != 0)
        return 0;
    banyan_text_add(text, "%s\"%s\":[", text->length > 1 ? "],\n" : "", name);
    return 1;
}

static void add_networks(banyan_text *text)
{
    for (int i = 0; i < banyan_generator_count(); i++) {
        banyan_text_add(text, "%s\n{", i ? "," : "");
        add_field(text, "name", banyan_generator_at(i)->name, ",");
        add_field(text, "form", banyan_generator_at(i)->form, ",");
        add_field(text, "summary", banyan_generator_at(i)->summary, "}");
    }
}

static void add_imports(banyan_text *text)
{
    for (int i = 0; i < banyan_importer_count(); i++) {
        banyan_text_add(text, "%s\n{", i ? "," : "");
        add_field(text, "name", banyan_importer_at(i)->name, ",");
        add_field(text, "summary", banyan_importer_at(i)->summary, "}");
    }
}

static void add_policies(banyan_text *text)
{
    for (int i = 0; i < banyan_policy_count(); i++) {
        banyan_text_add(text, "%s\n{", i ? "," : "");
        add_field(text, "name", banyan_policy_at(i)->name, ",");
        add_field(text, "summary", banyan_policy_at(i)->summary, ",");
        add_field(text, "paper", banyan_policy_at(i)->paper, "}");
    }
}

static void add_transports(banyan_text *text)
{
    for (int i = 0; i < banyan_transport_count(); i++) {
        banyan_text_add(text, "%s\n{", i ? "," : "");
        add_field(text, "name", banyan_transport_at(i)->name, ",");
        add_field(text, "summary", banyan_transport_at(i)->summary, ",");
        banyan_text_add(text, "\"available\":%s}", is_there(banyan_transport_at(i)) ? "true" : "false");
    }
}

static banyan_status print_json(const char *what, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text, "{");
    if (begin_list(&text, what, "algorithms"))
        for (int i = 0; i < banyan_algorithm_count(); i++) {
            banyan_text_add(&text, "%s", i ? "," : "");
            add_algorithm(&text, banyan_algorithm_at(i));
        }
    if (begin_list(&text, what, "networks"))
        add_networks(&text);
    if (begin_list(&text, what, "imports"))
        add_imports(&text);
    if (begin_list(&text, what, "policies"))
        add_policies(&text);
    if (begin_list(&text, what, "transports"))
        add_transports(&text);
    banyan_text_add(&text, "]}");
    return cli_print(&text, err);
}

static int run(const cli_arguments *arguments)
{
    const char *what = arguments->word_count ? arguments->words[0] : "";
    banyan_error err;

    if (*what && strcmp(what, "algorithms") != 0 && strcmp(what, "networks") != 0 &&
        strcmp(what, "imports") != 0 && strcmp(what, "policies") != 0 && strcmp(what, "transports") != 0)
        return cli_usage_error(arguments, "'%s' is not algorithms, networks, imports, policies or transports",
                               what);
    if (cli_has(arguments, "json")) {
        banyan_status status = print_json(what, &err);

        return status ? cli_fail(arguments, status, &err) : CLI_OK;
    }
    print_text(what);
    return CLI_OK;
}

const cli_verb cli_verb_list = {.name = "list",
                                .usage = "[algorithms|networks|imports|policies|transports]",
                                .summary = "algorithms with their papers, networks, import formats, "
                                           "gradient policies, transports",
                                .words = "algorithms|networks|imports|policies|transports",
                                .word_limit = 1,
                                .options = options,
                                .run = run};
