/* SPDX-License-Identifier: Apache-2.0 */
/* group/picture.c: the picture of a network as JSON. */
#include "group/picture.h"

#include "core/alloc.h"

void banyan_picture_fini(banyan_picture *picture)
{
    banyan_free(picture->topology);
    *picture = (banyan_picture){0};
}

void banyan_picture_set(banyan_picture *picture, const banyan_picture *facts, const banyan_topology *topology)
{
    char *text = NULL;
    banyan_error ignored;

    if (banyan_topology_format(topology, &text, &ignored))
        text = NULL;
    banyan_free(picture->topology);
    *picture = *facts;
    picture->host_count = topology->host_count;
    picture->topology = text;
}

void banyan_picture_format(const banyan_picture *picture, banyan_text *text)
{
    static const char *const origins[] = {"guessed", "told", "learnt", "kept"};

    banyan_text_add(text,
                    ",\"network\":{\"origin\":\"%s\",\"hosts\":%d,\"racks\":%d,\"explained\":%.3f,"
                    "\"measurements\":%d,\"topology\":",
                    origins[picture->origin], picture->host_count, picture->rack_count, picture->explained,
                    picture->measurement_count);
    banyan_text_add_json_string(text, picture->topology ? picture->topology : "");
    banyan_text_add(text, "}");
}
