/* SPDX-License-Identifier: Apache-2.0 */
/* tests/conformance/samples.h: the networks that every algorithm meets: even and uneven, whole and broken,
 * with idle workers, from one worker to 64. */
#ifndef BANYAN_CONFORMANCE_SAMPLES_H
#define BANYAN_CONFORMANCE_SAMPLES_H

typedef struct {
    const char *spec;
    const char *active; /* NULL: all */
} sample;

static const sample samples[] = {
    {"switch:1", NULL},
    {"ring:2", NULL},
    {"full:2", NULL},
    {"line:3", NULL},
    {"ring:5", NULL},
    {"ring:8", NULL},
    {"line:7", NULL},
    {"full:6", NULL},
    {"switch:7", NULL},
    {"switch:16", NULL},
    {"switch:16,degrade=g0:0.5", NULL},
    {"torus:4x4", NULL},
    {"torus:3x5", NULL},
    {"torus:2x3x4", NULL},
    {"torus:8x8", NULL},
    {"torus:4x4,down=g1-g2,down=g5-g9", NULL},
    {"mesh:2x2", NULL},
    {"mesh:4x4", NULL},
    {"mesh:3x7", NULL},
    {"mesh:2x2x3,down=g0-g1", NULL},
    {"fattree:4x4", NULL},
    {"fattree:8x8:4", NULL},
    {"fattree:3x5:2.5", NULL},
    {"bigraph:4x8", NULL},
    {"dgx1", NULL},
    {"dgx1", "0-2,4,6,7"},
    {"dgx2", NULL},
    {"dgxa100:2", NULL},
    {"hosts:2+3", NULL},
    {"hosts:3+3+4", NULL},
    {"hosts:1+7,degrade=h1:0.3", NULL},
    {"hosts:1+1+1+1+1", NULL},
    {"racks:2x2x4", NULL},
    {"racks:3x1x3,rack_gbps=5", NULL},
    {"abci:8", NULL},
    {"pcie:4x4:10", NULL},
    {"pcie:2x3:40", NULL},
    {"kautz:12x3", NULL},
    {"dragonfly:5x2x2,global_gbps=40", NULL},
    {"dragonfly+:3x2x2x2", NULL},
    {"hyperx:3x4:2", NULL},
    {"slimfly:3x1", NULL},
    {"dgxh100:2", NULL},
    {"nvl72", "0-3,8-11,40-43,68-71"},
    {"mi300x:2", NULL},
    {"rails:2x2x4", NULL},
    {"spark:3", NULL},
    {"spark:4", NULL},
    {"tpuv4:4x4x4,global_gbps=200", NULL},
    {"torus:4x4", "0,3,5,6,10,15"},
    {"hosts:3+3+4", "1,4,9"},
    {"mesh:5x5", "12"},
    {"switch:9", "2,7"},
};

enum { SAMPLE_COUNT = sizeof samples / sizeof *samples };

#endif
