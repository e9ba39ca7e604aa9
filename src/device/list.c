/* SPDX-License-Identifier: Apache-2.0 */
/* device/list.c: all kinds of devices, and the one that this process uses. */
#include <string.h>

#include "core/settings.h"
#include "device/gpu.h"

static const banyan_device_table *const tables[] = {&banyan_device_table_cuda, &banyan_device_table_hip,
                                                    &banyan_device_table_emulated};

int banyan_device_table_count(void)
{
    return (int)(sizeof tables / sizeof *tables);
}

const banyan_device_table *banyan_device_table_at(int i)
{
    return tables[i];
}

/* What BANYAN_GPU names; for auto the first of the real ones that has a device. NULL: none, and err says
 * so. */
static const banyan_device_table *choose(banyan_error *err)
{
    const banyan_device_table *found = NULL;
    banyan_settings *settings = NULL;
    const char *wish;

    if (banyan_settings_load(&settings, err))
        return NULL;
    wish = banyan_settings_string(settings, BANYAN_SETTING_GPU);
    for (int i = 0; i < banyan_device_table_count() && !found; i++)
        if (!strcmp(wish, tables[i]->name) ||
            (!strcmp(wish, "auto") && tables[i] != &banyan_device_table_emulated && tables[i]->count() > 0))
            found = tables[i];
    if (!found)
        banyan_fail(err, BANYAN_UNSUPPORTED, "no GPU was found (BANYAN_GPU=%s)", wish);
    banyan_settings_destroy(settings);
    return found;
}

banyan_status banyan_device_open(int ordinal, banyan_device **out, banyan_error *err)
{
    const banyan_device_table *table = choose(err);

    *out = NULL;
    return table ? table->open(ordinal, out, err) : BANYAN_UNSUPPORTED;
}

int banyan_device_count(void)
{
    const banyan_device_table *table = choose(NULL);

    return table ? table->count() : 0;
}

int banyan_device_is_direct(const banyan_device *device)
{
    const banyan_device_table *t = device->table;

    return t->words && t->share && t->map && t->unmap && t->prepare && t->reduce;
}
