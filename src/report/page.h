/* SPDX-License-Identifier: Apache-2.0 */
/* report/page.h: the files of the page, which the build turns into arrays (cmake/embed.cmake). */
#ifndef BANYAN_REPORT_PAGE_H
#define BANYAN_REPORT_PAGE_H

#include <stddef.h>

extern const unsigned char banyan_report_page_html[], banyan_report_page_css[], banyan_report_page_js[];
extern const size_t banyan_report_page_html_size, banyan_report_page_css_size, banyan_report_page_js_size;

#endif
