/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce/asc.h: what the files about ASC-WFBP share: its four models and its printed results. */
#ifndef BANYAN_REPRODUCE_ASC_H
#define BANYAN_REPRODUCE_ASC_H

#include "reproduce/reproduce.h"

enum { ASC_MODELS = 4 };

typedef struct {
    const char *file, *name;
    double wfbp_s, mg_s, asc_s; /* Table IV */
    double most, reached;       /* Table V: S max and S */
} asc_model;

extern const asc_model asc_models[ASC_MODELS];

/* Fig. 4, Fig. 5 and Table IV as bench/asc_live.py measured them; where nothing was measured, what therefore
 * cannot be tested. */
banyan_status asc_show_live(banyan_reproduction *reproduction, banyan_error *err);

#endif
