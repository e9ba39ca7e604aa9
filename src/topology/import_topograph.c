/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_topograph.c: the JSON that NVIDIA Topograph's graph engine writes (1.0 and later), for
 * clouds and clusters.
 *
 *     {"instances": [{"id": "n1", "network_layers": ["leaf1", "spine1"],      spine1
 *                     "labels": {"accelerator.topograph.run/domain": "d1"}},  /    \
 *                    {"id": "n2", "network_layers": ["leaf2", "spine1"]}]} leaf1   leaf2
 *
 * An instance is a worker and a host of its own. Its network layers are switches, the nearest first, each
 * cabled to the next; instances of one accelerator domain are also joined by a switch of that name. The file
 * tells no speeds: cables have 100 Gbit/s and 1 us, those into a domain what the NVLinks of one GPU carry. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/json.h"
#include "topology/hardware.h"
#include "topology/import.h"
#include "topology/names.h"
#include "topology/switch_tree.h"

/* GB200 and GB300 NVL72, the machines whose domains hold several instances: 18 NVLinks a GPU. */
enum { DOMAIN_SM = 100, DOMAIN_NVLINKS = 18 };

static const double latency_s = 1e-6;

typedef struct {
    const banyan_json *instances;
    banyan_names workers, switches, domains, edges; /* an edge is 'CHILD PARENT': names have no blanks */
    banyan_topology_builder *builder;
    banyan_error *err;
} reader;

static banyan_status complain(const reader *in, size_t instance, const char *what)
{
    return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "instance %zu: %s", instance, what);
}

/* The name's number; complains where it is no name. */
static banyan_status keep(reader *in, banyan_names *names, const char *name, size_t instance, int *out)
{
    banyan_word word = {name, strlen(name)};
    banyan_error why;
    banyan_status status = banyan_word_check_name(word, 0, &why);

    if (status)
        return banyan_fail(in->err, status,
                           "instance %zu: '%s' is not a name of 1 to 255 bytes without blanks", instance,
                           banyan_word_show(word).text);
    *out = banyan_names_add(names, word);
    if (*out < 0)
        return banyan_fail_memory(in->err);
    if (in->workers.count + in->switches.count + in->domains.count > BANYAN_IMPORT_MAX_NODES)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                           "instance %zu: more than %d instances and switches", instance,
                           BANYAN_IMPORT_MAX_NODES);
    return BANYAN_SUCCESS;
}

/* The label of the domain, as the versions of Topograph have called it; NULL: none. */
static const char *domain_of(const banyan_json *instance)
{
    static const char *const places[][2] = {{"labels", "accelerator.topograph.run/domain"},
                                            {"labels", "network.topology.nvidia.com/accelerator"},
                                            {"labels", "nvidia.com/gpu.clique"},
                                            {"attributes", "nvlink"}};
    const char *domain;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const banyan_json *object = banyan_json_field(instance, places[i][0]);
        const banyan_json *value = object && banyan_json_kind(object) == BANYAN_JSON_OBJECT
                                       ? banyan_json_field(object, places[i][1])
                                       : NULL;

        if (value && banyan_json_get_string(value, &domain) && *domain)
            return domain;
    }
    return NULL;
}

static banyan_status read_layers(reader *in, const banyan_json *layers, size_t number)
{
    const char *name;
    banyan_status status = BANYAN_SUCCESS;
    int id;

    for (size_t i = 0; !status && i < banyan_json_count(layers); i++) {
        if (!banyan_json_get_string(banyan_json_item(layers, i), &name))
            return complain(in, number, "a network layer is not a string");
        if (*name)
            status = keep(in, &in->switches, name, number, &id);
    }
    return status;
}

static banyan_status read_instance(reader *in, size_t number)
{
    const banyan_json *instance = banyan_json_item(in->instances, number), *id, *layers;
    const char *name, *domain;
    banyan_status status;
    int worker;

    if (banyan_json_kind(instance) != BANYAN_JSON_OBJECT)
        return complain(in, number, "it is not an object");
    id = banyan_json_field(instance, "id");
    if (!id || !banyan_json_get_string(id, &name))
        return complain(in, number, "it has no \"id\" that is a string");
    status = keep(in, &in->workers, name, number, &worker);
    if (!status && worker < (int)number)
        status = banyan_fail(in->err, BANYAN_INVALID_ARGUMENT,
                             "instance %zu: the id %.60s is that of instance %d", number, name, worker);
    layers = banyan_json_field(instance, "network_layers");
    if (!status && layers && banyan_json_kind(layers) != BANYAN_JSON_ARRAY &&
        banyan_json_kind(layers) != BANYAN_JSON_NULL)
        status = complain(in, number, "its \"network_layers\" are not an array");
    if (!status && layers)
        status = read_layers(in, layers, number);
    domain = domain_of(instance);
    if (!status && domain)
        status = keep(in, &in->domains, domain, number, &worker);
    return status;
}

/* No two nodes may have one name. */
static banyan_status check_names(const reader *in)
{
    for (int i = 0; i < in->switches.count; i++) {
        const char *name = banyan_names_text(&in->switches, i);
        banyan_word word = {name, strlen(name)};

        if (banyan_names_find(&in->workers, word) >= 0)
            return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "%.60s is an instance and a network layer",
                               name);
    }
    return BANYAN_SUCCESS;
}

static void add_nodes(reader *in)
{
    for (int i = 0; i < in->workers.count; i++) {
        const char *name = banyan_names_text(&in->workers, i);

        banyan_topology_add_worker(in->builder, name, banyan_topology_add_host(in->builder, name));
    }
    for (int i = 0; i < in->switches.count; i++)
        banyan_topology_add_switch(in->builder, banyan_names_text(&in->switches, i));
    for (int i = 0; i < in->domains.count; i++) /* a clique may be called as a leaf is */
        banyan_topology_add_switch_f(in->builder, "nvlink:%s", banyan_names_text(&in->domains, i));
}

/* One cable for each pair, however many instances tell of it. */
static banyan_status add_cable(reader *in, int child, int parent)
{
    char text[64];
    int known = in->edges.count, length = snprintf(text, sizeof text, "%d %d", child, parent);
    int id = banyan_names_add(&in->edges, (banyan_word){text, (size_t)length});

    if (id < 0)
        return banyan_fail_memory(in->err);
    if (id == known)
        banyan_topology_add_cable(in->builder, child, parent, BANYAN_SWITCH_TREE_GBPS * 1e9 / 8, latency_s);
    return BANYAN_SUCCESS;
}

static banyan_status join_instance(reader *in, int worker)
{
    const banyan_json *instance = banyan_json_item(in->instances, (size_t)worker);
    const banyan_json *layers = banyan_json_field(instance, "network_layers");
    const char *name, *domain = domain_of(instance);
    banyan_status status = BANYAN_SUCCESS;
    int child = worker;

    for (size_t i = 0; !status && layers && i < banyan_json_count(layers); i++) {
        int parent;

        if (!banyan_json_get_string(banyan_json_item(layers, i), &name) || !*name)
            continue;
        parent = in->workers.count + banyan_names_find(&in->switches, (banyan_word){name, strlen(name)});
        if (parent == child)
            return complain(in, (size_t)worker,
                            "two of its network layers that follow one another are the same");
        status = add_cable(in, child, parent);
        child = parent;
    }
    if (!status && domain)
        banyan_topology_add_cable(in->builder, worker,
                                  in->workers.count + in->switches.count +
                                      banyan_names_find(&in->domains, (banyan_word){domain, strlen(domain)}),
                                  DOMAIN_NVLINKS * banyan_hardware_nvlink(DOMAIN_SM),
                                  BANYAN_HARDWARE_NVSWITCH_S);
    return status;
}

static banyan_status read_document(reader *in, const banyan_json *document)
{
    banyan_status status = BANYAN_SUCCESS;
    size_t count;

    in->instances =
        banyan_json_kind(document) == BANYAN_JSON_OBJECT ? banyan_json_field(document, "instances") : NULL;
    if (!in->instances || banyan_json_kind(in->instances) != BANYAN_JSON_ARRAY)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "there is no array \"instances\"");
    count = banyan_json_count(in->instances);
    if (!count)
        return banyan_fail(in->err, BANYAN_INVALID_ARGUMENT, "there are no instances");
    for (size_t i = 0; !status && i < count; i++)
        status = read_instance(in, i);
    if (!status)
        status = check_names(in);
    if (status)
        return status;
    add_nodes(in);
    for (int i = 0; !status && i < (int)count; i++)
        status = join_instance(in, i);
    return status;
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_json *document = NULL;
    banyan_error problem;
    reader in = {.builder = &builder, .err = &problem};
    banyan_status status = banyan_json_parse(text, length, &document, &problem);

    banyan_topology_builder_init(&builder, "topograph");
    if (!status)
        status = read_document(&in, document);
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    banyan_json_destroy(document);
    banyan_names_fini(&in.workers);
    banyan_names_fini(&in.switches);
    banyan_names_fini(&in.domains);
    banyan_names_fini(&in.edges);
    return banyan_topology_builder_finish(&builder, out, err);
}

/* Its first key is "instances". */
static int looks_like(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    if (at == length || text[at++] != '{')
        return 0;
    while (at < length && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return length - at > 11 && !memcmp(text + at, "\"instances\"", 11);
}

const banyan_importer banyan_import_topograph = {.name = "topograph",
                                                 .summary = "the JSON of NVIDIA Topograph's graph engine",
                                                 .extension = NULL,
                                                 .looks_like = looks_like,
                                                 .parse = parse};
