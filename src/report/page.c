/* SPDX-License-Identifier: Apache-2.0 */
/* report/page.c: title, style, data and script put into their places in page.html. */
#include "report/page.h"

#include <string.h>

#include "core/text.h"
#include "report/report.h"

static void add_file(banyan_text *text, const unsigned char *bytes, size_t size)
{
    banyan_text_add_bytes(text, (const char *)bytes, size);
}

/* A '<' stands only inside strings of JSON, where it may be written so that no '</script>' ends the data. */
static void add_data(banyan_text *text, const char *data)
{
    while (*data) {
        size_t plain = strcspn(data, "<");

        banyan_text_add_bytes(text, data, plain);
        data += plain;
        if (*data) {
            banyan_text_add(text, "\\u003c");
            data++;
        }
    }
}

static void fill_place(banyan_text *text, const char *name, size_t length, const char *title,
                       const char *data)
{
    if (!strncmp(name, "title", length))
        banyan_text_add_xml(text, title);
    else if (!strncmp(name, "style", length))
        add_file(text, banyan_report_page_css, banyan_report_page_css_size);
    else if (!strncmp(name, "script", length))
        add_file(text, banyan_report_page_js, banyan_report_page_js_size);
    else
        add_data(text, data);
}

banyan_status banyan_report_page(const char *title, const char *data, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    const char *page = (const char *)banyan_report_page_html, *end = page + banyan_report_page_html_size;
    banyan_status status;

    *out = NULL;
    while (page < end) {
        const char *open = memmem(page, (size_t)(end - page), "{{", 2);
        const char *close = open ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;

        if (!close) {
            banyan_text_add_bytes(&text, page, (size_t)(end - page));
            break;
        }
        banyan_text_add_bytes(&text, page, (size_t)(open - page));
        fill_place(&text, open + 2, (size_t)(close - open) - 2, title, data);
        page = close + 2;
    }
    status = banyan_text_take(&text, out, err);
    banyan_text_fini(&text);
    return status;
}
