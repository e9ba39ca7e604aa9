/* SPDX-License-Identifier: Apache-2.0 */
/* comm/setup.h: what a config, the environment and the defaults amount to. */
#ifndef BANYAN_COMM_SETUP_H
#define BANYAN_COMM_SETUP_H

#include "core/status.h"
#include "topology/topology.h"

typedef struct {
    banyan_topology *topology;
    int *active; /* node of rank r */
    int size;
    char *algorithm;
    int timeout_ms;
    size_t slice_bytes;
} banyan_setup;

/* config may be NULL. On failure out is empty. */
banyan_status banyan_setup_init(banyan_setup *out, const banyan_config *config, int size, banyan_error *err);
void banyan_setup_fini(banyan_setup *setup);

#endif
