/* SPDX-License-Identifier: Apache-2.0 */
/* topology/generate.h: synthetic networks as strings: 'torus:4x4', 'hosts:2+3,gbps=10,down=h0-net'. */
#ifndef BANYAN_TOPOLOGY_GENERATE_H
#define BANYAN_TOPOLOGY_GENERATE_H

#include "topology/topology.h"

typedef struct {
    const char *name; /* 'torus' */
    const char *form; /* 'torus:AxB[xC...]' */
    const char *summary;
} banyan_generator_info;

int banyan_generator_count(void);
const banyan_generator_info *banyan_generator_at(int i);

#endif
