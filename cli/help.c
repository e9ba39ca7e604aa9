/* SPDX-License-Identifier: Apache-2.0 */
/* cli/help.c: banyan help [PAGE]: the manual on the terminal. Pages are Markdown (pages.h); what is printed
 * is their text without its marks, bold and underlined on a terminal, as BANYAN_COLOR says. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "core/near.h"
#include "core/settings.h"
#include "pages.h"
#include "wrap.h"

#define MAX_PAGES 512

static const char *const plain = "\033[0m", *const bold = "\033[1m", *const underlined = "\033[4m";

static const cli_option options[] = {{NULL, 0, NULL, NULL}};

/* Calls and settings have pages of their own, listed by two others. */
static int is_reference(const char *page)
{
    return !strncmp(page, "banyan_", 7) || !strncmp(page, "BANYAN_", 7);
}

static void print_overview(void)
{
    char pages[1024] = "";
    size_t length = 0;

    printf("banyan: all-reduce for networks that are not uniform: plan, prove, simulate, run\n\n"
           "Usage:\n  banyan VERB [ARGUMENTS]\n  banyan help PAGE|ALGORITHM\n  banyan --version\n\nVerbs:\n");
    for (int i = 0; i < cli_verb_count(); i++) {
        printf("  %-10s ", cli_verb_at(i)->name);
        cli_wrap(cli_verb_at(i)->summary, 13, 13);
    }
    for (const cli_page *page = cli_pages; page->name && length < sizeof pages; page++)
        if (!cli_verb_find(page->name) && !is_reference(page->name))
            length += (size_t)snprintf(pages + length, sizeof pages - length, "%s ", page->name);
    printf("\nPages:\n  ");
    cli_wrap(pages, 2, 2);
    printf("  and one for each call (banyan_allreduce; 'banyan help api' lists them),\n"
           "  each setting (BANYAN_TOPO; 'banyan help info' lists them)\n"
           "  and each algorithm (ring; 'banyan list algorithms' lists them)\n"
           "\nExamples:\n"
           "  banyan compare hosts:2+3                all algorithms on a network\n"
           "  banyan plan torus:4x4 -o plan.json      a schedule, proven\n"
           "  banyan bench -n 4                       a real all-reduce on this machine\n"
           "\nA network is a file or a string, such as ring:8, torus:4x4, hosts:2+3,gbps=10,\n"
           "fattree:8x8:4 or dgx1 ('banyan list networks').\n");
}

static void put(const char *text, size_t length, const char *style, int is_styled)
{
    if (is_styled)
        printf("%s%.*s%s", style, (int)length, text, plain);
    else
        printf("%.*s", (int)length, text);
}

/* How much of the text stands between a mark and its like; 0: that mark is no mark. */
static size_t find_marked(const char *text, const char *mark)
{
    size_t width = strlen(mark);
    const char *end;

    if (strncmp(text, mark, width) != 0 || isspace((unsigned char)text[width]))
        return 0;
    end = strstr(text + width, mark);
    return end && end > text + width ? (size_t)(end - text) - width : 0;
}

/* The words of a link, and how long the whole of it is; 0: none begins here. */
static size_t find_link(const char *text, size_t *whole)
{
    const char *middle = *text == '[' ? strstr(text, "](") : NULL;
    const char *end = middle ? strchr(middle, ')') : NULL;

    if (!end || memchr(text, '\n', (size_t)(end - text)))
        return 0;
    *whole = (size_t)(end - text) + 1;
    return (size_t)(middle - text) - 1;
}

static void print_line(const char *text, int is_styled)
{
    static const struct {
        const char *mark, *const *style;
    } marks[] = {{"`", &bold}, {"**", &bold}, {"*", &underlined}};

    while (*text) {
        size_t whole = 0, length = find_link(text, &whole);

        if (length)
            put(text + 1, length, underlined, is_styled);
        for (int i = 0; i < 3 && !length; i++) {
            size_t width = strlen(marks[i].mark);

            length = find_marked(text, marks[i].mark);
            whole = length + 2 * width;
            if (length)
                put(text + width, length, *marks[i].style, is_styled);
        }
        if (length)
            text += whole;
        else
            putchar(*text++);
    }
    putchar('\n');
}

static void print_page(const char *text, int is_styled)
{
    int in_code = 0;
    char line[4096];

    while (*text) {
        size_t length = strcspn(text, "\n"), kept = length < sizeof line ? length : sizeof line - 1;

        memcpy(line, text, kept);
        line[kept] = 0;
        text += length + (text[length] == '\n');
        if (!strncmp(line, "```", 3))
            in_code = !in_code;
        else if (!in_code && !strncmp(line, "<!--", 4))
            continue; /* marks of programs that write parts of the page */
        else if (in_code)
            printf("    %s\n", line);
        else if (line[0] == '#') {
            const char *title = line + strspn(line, "# ");

            put(title, strlen(title), bold, is_styled);
            putchar('\n');
        } else
            print_line(line, is_styled);
    }
}

const char *cli_page_find(const char *name)
{
    for (const cli_page *page = cli_pages; page->name; page++)
        if (!strcmp(page->name, name))
            return page->text;
    return NULL;
}

/* An algorithm's section of the page about algorithms, up to the next one. */
static void print_section(const char *name, int is_styled)
{
    const char *page = cli_page_find("algorithms"), *end;
    char title[64], text[8192];

    snprintf(title, sizeof title, "\n## %s\n", name);
    page = page ? strstr(page, title) : NULL;
    if (!page)
        return;
    page += strlen(title);
    end = strstr(page, "\n## ");
    snprintf(text, sizeof text, "%.*s", end ? (int)(end - page) : (int)strlen(page), page);
    print_page(text, is_styled);
}

/* Whether to use bold and underlined letters; a wrong setting is no reason to withhold the manual. */
static int wants_style(void)
{
    banyan_settings *settings = NULL;
    const char *no_color = banyan_environment("NO_COLOR"); /* https://no-color.org */
    int64_t choice = 0;                                    /* auto, always, never */

    if (!banyan_settings_load(&settings, NULL))
        choice = banyan_settings_integer(settings, BANYAN_SETTING_COLOR);
    banyan_settings_destroy(settings);
    if (choice != 0)
        return choice == 1;
    return isatty(STDOUT_FILENO) && (!no_color || !*no_color);
}

static int print_json(const cli_arguments *arguments, const char *word)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_error err = {""};
    banyan_status status;

    banyan_text_add(&text, "{\"pages\":[");
    for (const cli_page *page = cli_pages; page->name; page++) {
        if (word && strcmp(page->name, word) != 0)
            continue;
        banyan_text_add(&text, "%s{\"name\":\"%s\"", text.bytes[text.length - 1] == '[' ? "" : ",",
                        page->name);
        if (word) {
            banyan_text_add(&text, ",\"text\":");
            banyan_text_add_json_string(&text, page->text);
        }
        banyan_text_add(&text, "}");
    }
    banyan_text_add(&text, "]}\n");
    status = cli_write(arguments, text.bytes, &err);
    banyan_text_fini(&text);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

static int run(const cli_arguments *arguments)
{
    const char *names[MAX_PAGES], *word = arguments->word_count ? arguments->words[0] : NULL;
    int count = 0, near;

    if (word && !strncmp(word, "banyan-", 7))
        word += 7;
    if (!word && !cli_has(arguments, "json")) {
        print_overview();
        return CLI_OK;
    }
    if (!word)
        return print_json(arguments, NULL);
    for (const cli_page *page = cli_pages; page->name && count < MAX_PAGES; page++) {
        names[count++] = page->name;
        if (!strcmp(page->name, word)) {
            if (cli_has(arguments, "json"))
                return print_json(arguments, word);
            print_page(page->text, wants_style());
            return CLI_OK;
        }
    }
    if (!cli_has(arguments, "json") && cli_list_algorithm(word)) {
        print_section(word, wants_style());
        return CLI_OK;
    }
    for (int i = 0; banyan_algorithm_name(i) && count < MAX_PAGES; i++)
        names[count++] = banyan_algorithm_name(i);
    near = banyan_near_find(word, names, count);
    if (near >= 0)
        return cli_usage_error(arguments, "no page is named %s (did you mean %s?)", word, names[near]);
    return cli_usage_error(arguments, "no page is named %s; 'banyan help' lists them", word);
}

const cli_verb cli_verb_help = {
    .name = "help",
    .usage = "[PAGE|ALGORITHM]",
    .summary = "the manual: a page about a verb, an algorithm, a format, a call, a setting or a subject",
    .word_limit = 1,
    .options = options,
    .run = run,
};
