/* SPDX-License-Identifier: Apache-2.0 */
/* topology/save.c: a network to a file or a drawing, and from a file whose form the caller names. */
#include <string.h>

#include "core/alloc.h"
#include "core/file.h"
#include "topology/draw.h"
#include "topology/import.h"
#include "topology/topology.h"

static const struct {
    const char *name;
    banyan_status (*write)(const banyan_topology *topology, char **out, banyan_error *err);
} formats[] = {{"json", banyan_topology_format},
               {"text", banyan_topology_draw_text},
               {"dot", banyan_topology_draw_dot},
               {"svg", banyan_topology_draw_svg}};

banyan_status banyan_topology_export(const banyan_topology *topology, const char *format, char **out,
                                     banyan_error *err)
{
    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!topology || !format)
        return banyan_fail_null(topology ? "format" : "topology", err);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(format, formats[i].name))
            return formats[i].write(topology, out, err);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the format '%.40s' is not json, text, dot or svg",
                       format);
}

banyan_status banyan_topology_save(const banyan_topology *topology, const char *path, banyan_error *err)
{
    banyan_status status;
    char *text;

    if (!path)
        return banyan_fail_null("path", err);
    status = banyan_topology_export(topology, "json", &text, err);
    if (status)
        return status;
    status = banyan_file_save(path, text, strlen(text), err);
    banyan_free(text);
    return status;
}

static banyan_status find_parser(const char *form,
                                 banyan_status (**parse)(const char *text, size_t length,
                                                         banyan_topology **out, banyan_error *err),
                                 banyan_error *err)
{
    const banyan_importer *importer = banyan_importer_find(form);

    *parse = importer ? importer->parse : strcmp(form, "json") ? NULL : banyan_topology_parse;
    if (*parse)
        return BANYAN_SUCCESS;
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                       "'%.40s' is not a form of networks; 'banyan list' shows them", form);
}

banyan_status banyan_topology_import(const char *path, const char *form, banyan_topology **out,
                                     banyan_error *err)
{
    banyan_status (*parse)(const char *text, size_t length, banyan_topology **made, banyan_error *why);
    banyan_status status;
    size_t length;
    char *text;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!path || !form)
        return banyan_fail_null(path ? "form" : "path", err);
    status = find_parser(form, &parse, err);
    if (!status)
        status = banyan_file_load(path, &text, &length, err);
    if (status)
        return status;
    status = parse(text, length, out, err);
    if (status)
        banyan_error_prefix(err, path);
    banyan_free(text);
    return status;
}
