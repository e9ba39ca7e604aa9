/* SPDX-License-Identifier: Apache-2.0 */
/* cli/status_view.h: what is known of the ranks of running jobs, for the status*.c files. */
#ifndef BANYAN_CLI_STATUS_VIEW_H
#define BANYAN_CLI_STATUS_VIEW_H

#include "cli.h"
#include "group/control.h"
#include "group/status.h"

enum { STATUS_MAX_GROUPS = 256, STATUS_MAX_RANKS = 4096 };

typedef enum { STATUS_UNKNOWN, STATUS_TOLD, STATUS_MUTE } status_knowledge;

typedef struct {
    status_knowledge known; /* STATUS_MUTE: its socket is there, but it does not answer */
    int is_own_word;        /* not only rank 0's */
    int process;
    char host[64];
    banyan_rank_state state;
    double age_s;
} status_rank;

typedef struct {
    char id[BANYAN_STATUS_GROUP_TEXT];
    int size;
    status_rank *ranks;
    char *lost, *left, *silent;   /* by rank: what any rank says */
    char failure[512], loss[600]; /* what ended it, and a connection that it goes on without */
    /* What the network is taken for; origin "": nobody has said. */
    char origin[16];
    int hosts, racks, measurements;
    double explained;
    char *topology;
} status_group;

typedef struct {
    const cli_arguments *arguments;
    char folder[BANYAN_STATUS_FOLDER_TEXT];
    double timeout_s;
    status_group groups[STATUS_MAX_GROUPS];
    int count;
} status_overview;

/* status_ask.c: asks everybody in the folder, and puts the answers together. */
void status_ask_all(status_overview *o);
void status_forget(status_overview *o); /* frees it */

/* status_show.c: flags is scratch memory for as many ranks as a group can have. */
void status_print_group(const status_group *g, char *flags);
void status_json_group(banyan_text *text, const status_group *g, char *flags);
int status_is_well(const status_group *g, char *flags);

#endif
