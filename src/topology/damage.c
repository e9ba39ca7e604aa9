/* SPDX-License-Identifier: Apache-2.0 */
/* topology/damage.c: a network with broken and slow parts, so that a failure is one string.
 *
 *   down=g3-s0          no link between the two, in either direction
 *   down=g3->s0         none from g3 to s0
 *   down=g3             g3 loses all its links; it stays as a node
 *   degrade=h0:0.5      every link of h0 at half its bandwidth
 *   degrade=h0-net:0.5  these links only; -> works here, too
 *   deal=rr             no damage: workers in another order (deal.c)
 *
 * Options may be repeated; factors multiply. The result is a new topology, because links are numbered without
 * gaps. Names may hold dashes and colons: the first reading that names nodes counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/near.h"
#include "topology/generator.h"

/* What an option speaks of: one node (b is -1), or the links between two, or (one_way) those from a to b. */
typedef struct {
    int a, b, one_way;
} target;

/* How much of each link's bandwidth is left; 0 is a link that is gone. */
typedef struct {
    const banyan_topology *topology;
    double *left;
    int is_dealt;
} damage;

/* Also ' (did you mean g1?)', or an empty text. */
static void hint_at_node(const banyan_topology *topology, const char *name, char *out, size_t size)
{
    const char **names = banyan_alloc((size_t)topology->node_count, sizeof *names);
    int nearest = -1;

    *out = 0;
    if (!names)
        return;
    for (int i = 0; i < topology->node_count; i++)
        names[i] = banyan_topology_node_name(topology, i);
    nearest = banyan_near_find(name, names, topology->node_count);
    if (nearest >= 0)
        snprintf(out, size, "; did you mean %s?", names[nearest]);
    banyan_free(names);
}

static banyan_status no_such_node(const banyan_topology *topology, const char *option, const char *name,
                                  banyan_error *err)
{
    char hint[300];

    hint_at_node(topology, name, hint, sizeof hint);
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: there is no node '%s'%s", option, name, hint);
}

/* Reads 'A-B' cut at the dash; the text is changed for the moment. Returns 1 when both are nodes. */
static int try_cut(const banyan_topology *topology, char *text, char *dash, target *out)
{
    int arrow = dash[1] == '>';

    *dash = 0;
    *out = (target){banyan_topology_find_node(topology, text),
                    banyan_topology_find_node(topology, dash + 1 + arrow), arrow};
    *dash = '-';
    return out->a >= 0 && out->b >= 0;
}

static banyan_status read_target(const banyan_topology *topology, const char *option, char *text, target *out,
                                 banyan_error *err)
{
    char *dash = strchr(text, '-');
    banyan_status status;

    *out = (target){banyan_topology_find_node(topology, text), -1, 0};
    if (out->a >= 0)
        return BANYAN_SUCCESS;
    if (!dash)
        return no_such_node(topology, option, text, err);
    for (char *cut = dash; cut; cut = strchr(cut + 1, '-'))
        if (try_cut(topology, text, cut, out))
            return BANYAN_SUCCESS;
    try_cut(topology, text, dash, out);
    if (out->a >= 0)
        return no_such_node(topology, option, dash + 1 + out->one_way, err);
    *dash = 0;
    status = no_such_node(topology, option, text, err);
    *dash = '-';
    return status;
}

static int concerns(const target *what, const banyan_link *link)
{
    if (what->b < 0)
        return link->src == what->a || link->dst == what->a;
    return (link->src == what->a && link->dst == what->b) ||
           (!what->one_way && link->src == what->b && link->dst == what->a);
}

static banyan_status scale(damage *work, const char *option, const target *what, double factor,
                           banyan_error *err)
{
    const banyan_topology *topology = work->topology;
    int touched = 0;

    for (int i = 0; i < topology->link_count; i++)
        if (concerns(what, &topology->links[i])) {
            work->left[i] *= factor;
            touched = 1;
        }
    if (!touched && what->b >= 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: no link leads from %s to %s", option,
                           banyan_topology_node_name(topology, what->a),
                           banyan_topology_node_name(topology, what->b));
    return BANYAN_SUCCESS;
}

/* The number after the last colon, which is cut off the text. */
static banyan_status read_factor(const char *option, char *text, double *out, banyan_error *err)
{
    char *colon = strrchr(text, ':'), *end;

    if (!colon)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: a factor is missing, as in 'degrade=h0:0.5'",
                           option);
    *out = strtod(colon + 1, &end);
    if (end == colon + 1 || *end || !(*out > 0 && *out <= 1))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: the factor '%s' is not above 0 and at most 1",
                           option, colon + 1);
    *colon = 0;
    return BANYAN_SUCCESS;
}

static banyan_status apply_one(damage *work, const char *option, char *value, int is_down, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    double factor = 0;
    target what;

    if (!is_down)
        status = read_factor(option, value, &factor, err);
    if (!status)
        status = read_target(work->topology, option, value, &what, err);
    return status ? status : scale(work, option, &what, factor, err);
}

static banyan_status apply_deal(damage *work, const char *option, const char *value, banyan_error *err)
{
    work->is_dealt = !strcmp(value, "rr");
    if (!work->is_dealt)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "%s: only rr (round robin) is known", option);
    return BANYAN_SUCCESS;
}

static banyan_status apply_all(damage *work, const char *options, banyan_error *err)
{
    while (*options) {
        size_t length = strcspn(options, ",");
        char *option = banyan_alloc(length + 1, 1), *value = banyan_alloc(length + 1, 1);
        banyan_status status = BANYAN_SUCCESS;

        if (!option || !value)
            status = banyan_fail_memory(err);
        if (!status) {
            memcpy(option, options, length);
            if (!banyan_damage_is_option(options, length))
                status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                     "'%s' is neither down=..., degrade=... nor deal=rr, the options that "
                                     "every network has",
                                     option);
        }
        if (!status) {
            memcpy(value, strchr(option, '=') + 1, strlen(strchr(option, '=') + 1));
            status = !strncmp(option, "deal=", 5)
                         ? apply_deal(work, option, value, err)
                         : apply_one(work, option, value, *option == 'd' && option[1] == 'o', err);
        }
        banyan_free(option);
        banyan_free(value);
        if (status)
            return status;
        options += length + (options[length] == ',');
    }
    return BANYAN_SUCCESS;
}

static void copy_nodes(const banyan_topology *topology, banyan_topology_builder *builder)
{
    for (int i = 0; i < topology->host_count; i++)
        banyan_topology_add_host(builder, banyan_topology_host_name(topology, i));
    for (int i = 0; i < topology->node_count; i++) {
        const banyan_node *node = &topology->nodes[i];
        const char *name = banyan_topology_node_name(topology, i);

        if (node->kind == BANYAN_NODE_WORKER) {
            banyan_topology_add_worker(builder, name, node->host);
            continue;
        }
        banyan_topology_add_switch(builder, name);
        banyan_topology_set_abilities(builder, i, node->can_multicast, node->can_reduce);
    }
}

static banyan_status rebuild(const damage *work, const char *name, banyan_topology **out, banyan_error *err)
{
    const banyan_topology *topology = work->topology;
    banyan_topology_builder builder;

    banyan_topology_builder_init(&builder, name);
    copy_nodes(topology, &builder);
    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];

        if (work->left[i] > 0)
            banyan_topology_add_link(&builder, link->src, link->dst, link->bytes_per_s * work->left[i],
                                     link->latency_s);
        if (work->left[i] < 1)
            banyan_topology_add_damaged(
                &builder, &(banyan_damaged_link){link->src, link->dst, link->bytes_per_s, work->left[i]});
    }
    for (int i = 0; i < topology->damaged_count; i++)
        banyan_topology_add_damaged(&builder, &topology->damaged[i]);
    banyan_topology_set_policy(&builder, topology->policy);
    banyan_topology_set_grid(&builder, &topology->grid);
    return banyan_topology_builder_finish(&builder, out, err);
}

int banyan_damage_is_option(const char *option, size_t length)
{
    return (length > 5 && (!strncmp(option, "down=", 5) || !strncmp(option, "deal=", 5))) ||
           (length > 8 && !strncmp(option, "degrade=", 8));
}

banyan_status banyan_damage_apply(const banyan_topology *topology, const char *options, const char *name,
                                  banyan_topology **out, banyan_error *err)
{
    damage work = {topology, banyan_alloc((size_t)topology->link_count, sizeof *work.left), 0};
    banyan_topology *whole = NULL;
    banyan_status status;

    *out = NULL;
    if (!work.left)
        return banyan_fail_memory(err);
    for (int i = 0; i < topology->link_count; i++)
        work.left[i] = 1;
    status = apply_all(&work, options, err);
    if (!status)
        status = rebuild(&work, name, &whole, err);
    if (!status && work.is_dealt) {
        status = banyan_topology_deal(whole, out, err);
        banyan_topology_destroy(whole);
    } else if (!status) {
        *out = whole;
    }
    banyan_free(work.left);
    return status;
}

banyan_status banyan_topology_damage(const banyan_topology *topology, const char *options,
                                     banyan_topology **out, banyan_error *err)
{
    banyan_text name = BANYAN_TEXT_EMPTY;
    banyan_status status;

    if (!out)
        return banyan_fail_null("out", err);
    *out = NULL;
    if (!topology || !options)
        return banyan_fail_null(topology ? "damage" : "topology", err);
    banyan_text_add(&name, "%s%s%s", topology->name, *options ? "," : "", options);
    status =
        name.failed ? banyan_fail_memory(err) : banyan_damage_apply(topology, options, name.bytes, out, err);
    banyan_text_fini(&name);
    return status;
}
