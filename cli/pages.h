/* SPDX-License-Identifier: Apache-2.0 */
/* cli/pages.h: the manual, built in. The table is made from docs/ by cmake/pages.cmake. */
#ifndef BANYAN_CLI_PAGES_H
#define BANYAN_CLI_PAGES_H

typedef struct {
    const char *name; /* plan, topology, tutorial; NULL ends the table */
    const char *text; /* Markdown */
} cli_page;

extern const cli_page cli_pages[];

/* The text of a page by its name; NULL: there is none. */
const char *cli_page_find(const char *name);

#endif
