/* SPDX-License-Identifier: Apache-2.0 */
/* transport/list.c: the registry that transport/list.h spells out. */
#include <string.h>

#include "transport/transport.h"

#define X(name) extern const banyan_transport banyan_transport_##name;
#include "transport/list.h"
#undef X

static const banyan_transport *const all[] = {
#define X(name) &banyan_transport_##name,
#include "transport/list.h"
#undef X
};

int banyan_transport_count(void)
{
    return (int)(sizeof all / sizeof *all);
}

const banyan_transport *banyan_transport_at(int i)
{
    return all[i];
}

const banyan_transport *banyan_transport_find(const char *name)
{
    for (int i = 0; i < banyan_transport_count(); i++)
        if (!strcmp(all[i]->name, name))
            return all[i];
    return NULL;
}
