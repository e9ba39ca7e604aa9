/* SPDX-License-Identifier: Apache-2.0 */
/* tests/fuzz/generator.c: any string as a network; what is built must be drawn and written, too.
 * Strings whose sizes multiply to something large but not absurd would only build large networks slowly; they
 * are left out, while absurd ones stay in, because they must be refused at once. */
#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "topology/draw.h"
#include "topology/generate.h"

static int is_slow(const char *spec)
{
    double product = 1, largest = 0;

    for (const char *c = spec; *c && *c != ',';) {
        char *end;
        long size;

        if (!isdigit((unsigned char)*c)) {
            c++;
            continue;
        }
        size = strtol(c, &end, 10);
        product *= size > 0 ? (double)size : 1;
        largest = (double)size > largest ? (double)size : largest;
        c = end;
    }
    return (product > 1000 || largest > 100) && product < 1e10;
}

static void draw(const banyan_topology *topology)
{
    char *text;

    if (!banyan_topology_draw_text(topology, &text, NULL))
        banyan_free(text);
    if (!banyan_topology_draw_svg(topology, &text, NULL))
        banyan_free(text);
    if (!banyan_topology_draw_dot(topology, &text, NULL))
        banyan_free(text);
    if (!banyan_topology_format(topology, &text, NULL))
        banyan_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char spec[200];
    banyan_topology *topology;
    banyan_error err;

    if (size >= sizeof spec)
        return 0;
    memcpy(spec, data, size);
    spec[size] = 0;
    if (is_slow(spec))
        return 0;
    if (banyan_topology_generate(spec, &topology, &err)) {
        if (topology || !memchr(err.text, 0, sizeof err.text) || !*err.text)
            abort();
        return 0;
    }
    draw(topology);
    banyan_topology_destroy(topology);
    return 0;
}
