/* SPDX-License-Identifier: Apache-2.0 */
/* group/picture.h: what a group takes its network for, and why: what `banyan status` shows of it. */
#ifndef BANYAN_GROUP_PICTURE_H
#define BANYAN_GROUP_PICTURE_H

#include "core/text.h"
#include "topology/topology.h"

typedef enum {
    BANYAN_PICTURE_GUESSED, /* hosts, by their names, on one switch */
    BANYAN_PICTURE_TOLD,    /* BANYAN_TOPO or the config */
    BANYAN_PICTURE_LEARNT,  /* surveyed in this job */
    BANYAN_PICTURE_KEPT     /* learnt by an earlier job (calls/kept_network.h) */
} banyan_picture_origin;

typedef struct {
    banyan_picture_origin origin;
    int host_count, rack_count; /* racks 0: nobody has counted them */
    int measurement_count;      /* so far, in this job */
    double explained; /* how sure racks are: their part of what flows lacked of their hosts' speed */
    char *topology;   /* its text form, with the speed of each link both ways */
} banyan_picture;

void banyan_picture_fini(banyan_picture *picture);

/* Replaces *picture by another, with a copy of the topology; without memory the text is left out. */
void banyan_picture_set(banyan_picture *picture, const banyan_picture *facts,
                        const banyan_topology *topology);

/* ',"network":{"origin":"learnt","hosts":6,...}' */
void banyan_picture_format(const banyan_picture *picture, banyan_text *text);

#endif
