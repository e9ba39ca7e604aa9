/* SPDX-License-Identifier: Apache-2.0 */
/* topology/topology.c: what one can ask of any topology. */
#include "topology/topology.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/digest.h"

void banyan_topology_destroy(banyan_topology *topology)
{
    if (!topology)
        return;
    banyan_free(topology->name);
    banyan_free(topology->nodes);
    banyan_free(topology->links);
    banyan_free(topology->workers);
    banyan_free(topology->out_first);
    banyan_free(topology->out_link);
    banyan_free(topology->in_first);
    banyan_free(topology->in_link);
    banyan_free(topology->hosts);
    banyan_free(topology->damaged);
    banyan_free(topology->pool);
    banyan_free(topology->by_name);
    banyan_free(topology);
}

const char *banyan_topology_node_name(const banyan_topology *topology, int node)
{
    if (!topology || node < 0 || node >= topology->node_count)
        return NULL;
    return topology->pool + topology->nodes[node].name;
}

const char *banyan_topology_host_name(const banyan_topology *topology, int host)
{
    return topology->pool + topology->hosts[host];
}

int banyan_topology_find_node(const banyan_topology *topology, const char *name)
{
    int low = 0, high = topology->node_count;

    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(name, banyan_topology_node_name(topology, topology->by_name[middle]));

        if (!order)
            return topology->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

int banyan_topology_find_link(const banyan_topology *topology, int src, int dst)
{
    for (int i = topology->out_first[src]; i < topology->out_first[src + 1]; i++)
        if (topology->links[topology->out_link[i]].dst == dst)
            return topology->out_link[i];
    return -1;
}

const char *banyan_topology_link_name(const banyan_topology *topology, int link, char *buffer, size_t size)
{
    if (size)
        *buffer = 0;
    if (!topology || link < 0 || link >= topology->link_count)
        return buffer;
    snprintf(buffer, size, "%s->%s", banyan_topology_node_name(topology, topology->links[link].src),
             banyan_topology_node_name(topology, topology->links[link].dst));
    return buffer;
}

int banyan_topology_worker_number(const banyan_topology *topology, int node)
{
    int low = 0, high = topology->worker_count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (topology->workers[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < topology->worker_count && topology->workers[low] == node ? low : -1;
}

/* The word as a worker: a name first, then a number among the workers. -1 if neither. */
static int find_worker(const banyan_topology *topology, const char *word)
{
    int node = banyan_topology_find_node(topology, word);
    char *end;
    long number;

    if (node >= 0)
        return topology->nodes[node].kind == BANYAN_NODE_WORKER ? node : -1;
    if (!isdigit((unsigned char)*word))
        return -1;
    number = strtol(word, &end, 10);
    return *end || number >= topology->worker_count ? -1 : topology->workers[number];
}

static banyan_status mark_word(const banyan_topology *topology, char *word, char *chosen, banyan_error *err)
{
    int first = find_worker(topology, word), last = first;
    char *dash = strchr(word, '-');

    if (first < 0 && dash) {
        *dash = 0;
        first = find_worker(topology, word);
        last = find_worker(topology, dash + 1);
        *dash = '-';
    }
    if (first < 0 || last < 0)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "active: %.60s is not a worker of %.60s (it has %d workers)", word, topology->name,
                           topology->worker_count);
    if (first > last)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "active: the range %.60s runs backwards", word);
    for (int rank = banyan_topology_worker_number(topology, first);
         rank <= banyan_topology_worker_number(topology, last); rank++)
        chosen[rank] = 1;
    return BANYAN_SUCCESS;
}

static banyan_status mark_active(const banyan_topology *topology, const char *text, char *chosen,
                                 banyan_error *err)
{
    char *copy = banyan_strdup(text), *rest = copy, *word;
    banyan_status status = copy ? BANYAN_SUCCESS : banyan_fail_memory(err);

    while (!status && (word = strsep(&rest, ",")))
        status = mark_word(topology, word, chosen, err);
    banyan_free(copy);
    return status;
}

banyan_status banyan_topology_parse_active(const banyan_topology *topology, const char *text, int **out,
                                           int *count, banyan_error *err)
{
    int all = !text || !*text || !strcmp(text, "all");
    char *chosen = banyan_alloc((size_t)topology->worker_count, 1);
    int *active = banyan_alloc((size_t)topology->worker_count, sizeof *active);
    banyan_status status = chosen && active ? BANYAN_SUCCESS : banyan_fail_memory(err);
    int found = 0;

    *out = NULL;
    if (!status && !all)
        status = mark_active(topology, text, chosen, err);
    for (int i = 0; !status && i < topology->worker_count; i++)
        if (all || chosen[i])
            active[found++] = topology->workers[i];
    banyan_free(chosen);
    if (status) {
        banyan_free(active);
        return status;
    }
    *out = active;
    *count = found;
    return BANYAN_SUCCESS;
}

/* Marks what can be reached from node along links (or against them). */
static void flood(const banyan_topology *topology, int node, int forward, char *reached, int *queue)
{
    int head = 0, tail = 0;

    reached[node] = 1;
    queue[tail++] = node;
    while (head < tail) {
        int v = queue[head++];
        const int *first = forward ? topology->out_first : topology->in_first;
        const int *item = forward ? topology->out_link : topology->in_link;

        for (int i = first[v]; i < first[v + 1]; i++) {
            const banyan_link *link = &topology->links[item[i]];
            int next = forward ? link->dst : link->src;

            if (!reached[next]) {
                reached[next] = 1;
                queue[tail++] = next;
            }
        }
    }
}

banyan_status banyan_topology_mark_connected(const banyan_topology *topology, int node, char *marks,
                                             banyan_error *err)
{
    size_t nodes = (size_t)topology->node_count;
    char *back = banyan_alloc(nodes, 1);
    int *queue = banyan_alloc(nodes, sizeof *queue);
    banyan_status status = back && queue ? BANYAN_SUCCESS : banyan_fail_memory(err);

    if (!status) {
        memset(marks, 0, nodes);
        flood(topology, node, 1, marks, queue);
        flood(topology, node, 0, back, queue);
        for (size_t i = 0; i < nodes; i++)
            marks[i] = marks[i] && back[i];
    }
    banyan_free(back);
    banyan_free(queue);
    return status;
}

banyan_status banyan_topology_check_connected(const banyan_topology *topology, const int *active, int count,
                                              banyan_error *err)
{
    char *forth = banyan_alloc((size_t)topology->node_count, 1);
    char *back = banyan_alloc((size_t)topology->node_count, 1);
    int *queue = banyan_alloc((size_t)topology->node_count, sizeof *queue);
    banyan_status status = BANYAN_SUCCESS;

    if (!forth || !back || !queue) {
        status = banyan_fail_memory(err);
        goto out;
    }
    if (count < 1) {
        status = banyan_fail(err, BANYAN_INVALID_ARGUMENT, "no worker is active");
        goto out;
    }
    flood(topology, active[0], 1, forth, queue);
    flood(topology, active[0], 0, back, queue);
    for (int i = 1; i < count && !status; i++)
        if (!forth[active[i]] || !back[active[i]])
            status = banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                                 "active worker %s cannot %s %s: the network is disconnected",
                                 banyan_topology_node_name(topology, active[i]),
                                 forth[active[i]] ? "send to" : "be reached from",
                                 banyan_topology_node_name(topology, active[0]));
out:
    banyan_free(forth);
    banyan_free(back);
    banyan_free(queue);
    return status;
}

void banyan_topology_digest(const banyan_topology *topology, char out[17])
{
    banyan_digest digest;

    banyan_digest_init(&digest);
    banyan_digest_add_integer(&digest, topology->node_count);
    for (int i = 0; i < topology->node_count; i++) {
        const banyan_node *node = &topology->nodes[i];

        banyan_digest_add_integer(&digest, (int)node->kind * 4 + node->can_multicast * 2 + node->can_reduce);
        banyan_digest_add_integer(&digest, node->host);
    }
    for (int i = 0; i < topology->link_count; i++) {
        const banyan_link *link = &topology->links[i];

        banyan_digest_add_integer(&digest, link->src);
        banyan_digest_add_integer(&digest, link->dst);
        banyan_digest_add_double(&digest, link->bytes_per_s);
        banyan_digest_add_double(&digest, link->latency_s);
    }
    banyan_digest_add_integer(&digest, topology->policy);
    for (int i = 0; i < topology->grid.dimension_count; i++)
        banyan_digest_add_integer(&digest, topology->grid.extent[i] * 2 + topology->grid.wraps[i]);
    banyan_digest_format(&digest, out);
}
