/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/write.c: all files of a reproduction, into one folder. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/alloc.h"
#include "core/file.h"
#include "reproduce/internal.h"

enum { PATH_SIZE = 4096 };

static banyan_status make_folder(const char *folder, banyan_error *err)
{
    struct stat facts;

    if (mkdir(folder, 0777) == 0 || (errno == EEXIST && !stat(folder, &facts) && S_ISDIR(facts.st_mode)))
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_SYSTEM_ERROR, "the folder %.200s cannot be made: %s", folder,
                       strerror(errno));
}

static banyan_status save(const char *folder, const char *name, const char *figure, const char *ending,
                          banyan_text *text, banyan_error *err)
{
    char path[PATH_SIZE], *bytes;
    banyan_status status = banyan_text_take(text, &bytes, err);
    int length;

    if (status)
        return status;
    length = snprintf(path, sizeof path, "%s/%s%s%s.%s", folder, name, figure ? "-" : "",
                      figure ? figure : "", ending);
    status = length > 0 && length < PATH_SIZE
                 ? banyan_file_save(path, bytes, strlen(bytes), err)
                 : banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the folder's name is too long");
    banyan_free(bytes);
    return status;
}

static banyan_status save_figure(const banyan_figure *f, const char *folder, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status = figure_add_csv(f, &text, err);

    if (!status)
        status = save(folder, f->paper->name, f->head.name, "csv", &text, err);
    if (!status && f->head.kind != BANYAN_FIGURE_TABLE) {
        status = figure_add_svg(f, FIGURE_ALONE, &text, err);
        if (!status)
            status = save(folder, f->paper->name, f->head.name, "svg", &text, err);
    }
    banyan_text_fini(&text);
    return status;
}

static banyan_status save_paper(const banyan_reproduction *r, const banyan_paper *paper, const char *folder,
                                banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status;

    paper_add_json(r, paper, &text);
    status = save(folder, paper->name, NULL, "json", &text, err);
    if (!status)
        status = paper_add_text(r, paper, &text, err);
    if (!status)
        status = save(folder, paper->name, NULL, "txt", &text, err);
    banyan_text_fini(&text);
    for (size_t i = 0; !status && i < r->figure_count; i++)
        if (r->figures[i]->paper == paper)
            status = save_figure(r->figures[i], folder, err);
    return status;
}

banyan_status banyan_reproduction_write(const banyan_reproduction *reproduction, const char *folder,
                                        banyan_error *err)
{
    banyan_text page = BANYAN_TEXT_EMPTY;
    banyan_status status = make_folder(folder, err);

    for (int i = 0; !status && i < banyan_paper_count(); i++)
        if (paper_was_run(reproduction, banyan_paper_at(i)))
            status = save_paper(reproduction, banyan_paper_at(i), folder, err);
    if (!status)
        status = reproduction_add_page(reproduction, &page, err);
    if (!status)
        status = save(folder, "index", NULL, "html", &page, err);
    banyan_text_fini(&page);
    return status;
}

banyan_status banyan_reproduction_format_text(const banyan_reproduction *reproduction, char **out,
                                              banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_status status = BANYAN_SUCCESS;

    *out = NULL;
    for (int i = 0; !status && i < banyan_paper_count(); i++)
        if (paper_was_run(reproduction, banyan_paper_at(i))) {
            banyan_text_add(&text, "%s", text.length ? "\n" : "");
            status = paper_add_text(reproduction, banyan_paper_at(i), &text, err);
        }
    if (!status)
        return banyan_text_take(&text, out, err);
    banyan_text_fini(&text);
    return status;
}

banyan_status banyan_reproduction_format_json(const banyan_reproduction *reproduction, char **out,
                                              banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    int is_first = 1;

    banyan_text_add(&text, "{\"papers\":[");
    for (int i = 0; i < banyan_paper_count(); i++)
        if (paper_was_run(reproduction, banyan_paper_at(i))) {
            banyan_text_add(&text, "%s", is_first ? "" : ",");
            paper_add_json(reproduction, banyan_paper_at(i), &text);
            is_first = 0;
        }
    banyan_text_add(&text, "]}");
    return banyan_text_take(&text, out, err);
}
