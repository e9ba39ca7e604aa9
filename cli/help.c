/* SPDX-License-Identifier: Apache-2.0 */
/* cli/help.c: banyan help [PAGE]: the manual on the terminal. Pages are Markdown (pages.h); what is printed
 * is their text without its marks, bold and underlined on a terminal, as BANYAN_COLOR says. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "core/near.h"
#include "pages.h"
#include "style.h"
#include "wrap.h"

#define MAX_PAGES 512

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

/* Words between marks, or of a link, in a style. */
static void put(banyan_text *out, const char *text, size_t length, cli_style style)
{
    banyan_text_add(out, "%s", cli_style_on(style));
    banyan_text_add_bytes(out, text, length);
    banyan_text_add(out, "%s", cli_style_off());
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

/* Text without its marks. */
static void render(banyan_text *out, const char *text)
{
    static const struct {
        const char *mark;
        cli_style style;
    } marks[] = {{"`", CLI_BOLD}, {"**", CLI_BOLD}, {"*", CLI_UNDERLINED}};

    while (*text) {
        size_t whole = 0, length = find_link(text, &whole);

        if (length)
            put(out, text + 1, length, CLI_UNDERLINED);
        for (int i = 0; i < 3 && !length; i++) {
            size_t width = strlen(marks[i].mark);

            length = find_marked(text, marks[i].mark);
            whole = length + 2 * width;
            if (length)
                put(out, text + width, length, marks[i].style);
        }
        if (!length)
            banyan_text_add_bytes(out, text, whole = 1);
        text += whole;
    }
}

/* A paragraph, or an item of a list, whose further lines are indented as its words are; empties it. */
static void print_paragraph(banyan_text *paragraph)
{
    const char *text = paragraph->bytes;
    int indent, hang;
    banyan_text out = BANYAN_TEXT_EMPTY;

    if (paragraph->length && !paragraph->failed) {
        indent = (int)strspn(text, " ");
        hang = !strncmp(text + indent, "- ", 2) ? indent + 2 : indent;
        render(&out, text + indent);
        printf("%*s", indent, "");
        if (out.length && !out.failed)
            cli_wrap(out.bytes, indent, hang);
    }
    banyan_text_fini(&out);
    banyan_text_fini(paragraph);
    *paragraph = (banyan_text)BANYAN_TEXT_EMPTY;
}

/* A line of its own: all but those of paragraphs. */
static void print_line(const char *line)
{
    banyan_text out = BANYAN_TEXT_EMPTY;

    render(&out, line);
    if (!out.failed)
        puts(out.length ? out.bytes : "");
    banyan_text_fini(&out);
}

static int begins_item(const char *line)
{
    const char *text = line + strspn(line, " ");

    return !strncmp(text, "- ", 2) || (isdigit((unsigned char)*text) && strspn(text, "0123456789.") > 1 &&
                                       text[strspn(text, "0123456789.")] == ' ');
}

static void print_page(const char *text)
{
    int in_code = 0;
    char line[4096];
    banyan_text paragraph = BANYAN_TEXT_EMPTY;

    while (*text) {
        size_t length = strcspn(text, "\n"), kept = length < sizeof line ? length : sizeof line - 1;
        int is_fence, is_prose;

        memcpy(line, text, kept);
        line[kept] = 0;
        text += length + (text[length] == '\n');
        is_fence = !strncmp(line, "```", 3);
        is_prose = !is_fence && !in_code && *line && *line != '#' && *line != '|' && strncmp(line, "<!--", 4);
        if (!is_prose || begins_item(line))
            print_paragraph(&paragraph);
        if (is_prose)
            banyan_text_add(&paragraph, "%s%s", paragraph.length ? " " : "",
                            line + (paragraph.length ? strspn(line, " ") : 0));
        else if (is_fence)
            in_code = !in_code;
        else if (in_code)
            printf("    %s\n", line);
        else if (*line == '#')
            printf("%s%s%s\n", cli_style_on(CLI_BOLD), line + strspn(line, "# "), cli_style_off());
        else if (*line != '<') /* marks of programs that write parts of the page */
            print_line(line);
    }
    print_paragraph(&paragraph);
}

const char *cli_page_find(const char *name)
{
    for (const cli_page *page = cli_pages; page->name; page++)
        if (!strcmp(page->name, name))
            return page->text;
    return NULL;
}

/* Adds an algorithm's section of the page about algorithms, up to the next one. */
static void add_section(banyan_text *text, const char *name)
{
    const char *page = cli_page_find("algorithms"), *end;
    char title[64];

    snprintf(title, sizeof title, "\n## %s\n", name);
    page = page ? strstr(page, title) : NULL;
    if (!page)
        return;
    page += strlen(title);
    end = strstr(page, "\n## ");
    banyan_text_add_bytes(text, page, end ? (size_t)(end - page) : strlen(page));
}

/* Takes and empties the text. */
static int print_json(const cli_arguments *arguments, banyan_text *text)
{
    banyan_error err = {""};
    banyan_status status = cli_print(text, &err);

    banyan_text_fini(text);
    return status ? cli_fail(arguments, status, &err) : CLI_OK;
}

static int print_names_json(const cli_arguments *arguments)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text, "{\"pages\":[");
    for (const cli_page *page = cli_pages; page->name; page++)
        banyan_text_add(&text, "%s{\"name\":\"%s\"}", page == cli_pages ? "" : ",", page->name);
    banyan_text_add(&text, "]}");
    return print_json(arguments, &text);
}

static int print_page_json(const cli_arguments *arguments, const char *name, const char *page)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text, "{\"pages\":[{\"name\":\"%s\",\"text\":", name);
    banyan_text_add_json_string(&text, page);
    banyan_text_add(&text, "}]}");
    return print_json(arguments, &text);
}

/* An algorithm has no page, but a section of one. 0: no algorithm has that name. */
static int is_algorithm(const cli_arguments *arguments, const char *name, int *code)
{
    banyan_text section = BANYAN_TEXT_EMPTY;
    int is_json = cli_has(arguments, "json"), i = 0;

    *code = CLI_OK;
    while (banyan_algorithm_name(i) && strcmp(banyan_algorithm_name(i), name) != 0)
        i++;
    if (!banyan_algorithm_name(i))
        return 0;
    if (!is_json)
        cli_list_algorithm(name);
    add_section(&section, name);
    if (is_json)
        *code = print_page_json(arguments, name, section.length ? section.bytes : "");
    else if (section.length && !section.failed)
        print_page(section.bytes);
    banyan_text_fini(&section);
    return 1;
}

static int run(const cli_arguments *arguments)
{
    const char *names[MAX_PAGES], *word = arguments->word_count ? arguments->words[0] : NULL;
    int count = 0, near, code;

    if (word && !strncmp(word, "banyan-", 7))
        word += 7;
    if (!word && !cli_has(arguments, "json")) {
        print_overview();
        return CLI_OK;
    }
    if (!word)
        return print_names_json(arguments);
    for (const cli_page *page = cli_pages; page->name && count < MAX_PAGES; page++) {
        names[count++] = page->name;
        if (!strcmp(page->name, word)) {
            if (cli_has(arguments, "json"))
                return print_page_json(arguments, word, page->text);
            print_page(page->text);
            return CLI_OK;
        }
    }
    if (is_algorithm(arguments, word, &code))
        return code;
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
