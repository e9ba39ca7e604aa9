/* SPDX-License-Identifier: Apache-2.0 */
/* topology/cables.c: links to cables, cables to groups, and the words for them.
 *
 * Two nodes u and v are equivalent when their cables are the same once those between u and v are left out.
 * The relation is transitive, so that a node need only be compared with the one before it: all in all the
 * links are sorted once, and looked at twice. */
#include "topology/cables.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"

#define MAX_RUNS 12 /* of names in a group */

static int by_peer(const void *a, const void *b)
{
    const banyan_cable *x = a, *y = b;

    return (x->peer > y->peer) - (x->peer < y->peer);
}

static int merge_same_peer(banyan_cable *cables, int count)
{
    int kept = 0;

    qsort(cables, (size_t)count, sizeof *cables, by_peer);
    for (int i = 0; i < count; i++) {
        if (kept && cables[kept - 1].peer == cables[i].peer) {
            cables[kept - 1].out_bytes_per_s += cables[i].out_bytes_per_s;
            cables[kept - 1].in_bytes_per_s += cables[i].in_bytes_per_s;
        } else {
            cables[kept++] = cables[i];
        }
    }
    return kept;
}

static void fill_cables(banyan_cables *out)
{
    const banyan_topology *topology = out->topology;
    int used = 0;

    for (int v = 0; v < topology->node_count; v++) {
        int begin = used;

        out->first[v] = used;
        for (int i = topology->out_first[v]; i < topology->out_first[v + 1]; i++) {
            const banyan_link *link = &topology->links[topology->out_link[i]];

            out->cables[used++] = (banyan_cable){link->dst, link->bytes_per_s, 0};
        }
        for (int i = topology->in_first[v]; i < topology->in_first[v + 1]; i++) {
            const banyan_link *link = &topology->links[topology->in_link[i]];

            out->cables[used++] = (banyan_cable){link->src, 0, link->bytes_per_s};
        }
        used = begin + merge_same_peer(out->cables + begin, used - begin);
    }
    out->first[topology->node_count] = used;
}

int banyan_cables_alike(const banyan_cable *x, const banyan_cable *y)
{
    return x->out_bytes_per_s == y->out_bytes_per_s && x->in_bytes_per_s == y->in_bytes_per_s;
}

static int nodes_alike(const banyan_cables *cables, int u, int v)
{
    const banyan_node *x = &cables->topology->nodes[u], *y = &cables->topology->nodes[v];
    int i = cables->first[u], j = cables->first[v];

    if (x->kind != y->kind || x->host != y->host || x->can_multicast != y->can_multicast ||
        x->can_reduce != y->can_reduce || cables->first[u + 1] - i != cables->first[v + 1] - j)
        return 0;
    for (;; i++, j++) {
        const banyan_cable *a = &cables->cables[i], *b = &cables->cables[j];

        if (i < cables->first[u + 1] && a->peer == v) {
            if (a->out_bytes_per_s != a->in_bytes_per_s)
                return 0;
            a = &cables->cables[++i];
        }
        if (j < cables->first[v + 1] && b->peer == u)
            b = &cables->cables[++j];
        if (i >= cables->first[u + 1] || j >= cables->first[v + 1])
            return i >= cables->first[u + 1] && j >= cables->first[v + 1];
        if (a->peer != b->peer || !banyan_cables_alike(a, b))
            return 0;
    }
}

static void find_groups(banyan_cables *out)
{
    for (int v = 0; v < out->topology->node_count; v++) {
        if (!v || !nodes_alike(out, v - 1, v))
            out->start[out->group_count++] = v;
        out->group_of[v] = out->group_count - 1;
    }
    out->start[out->group_count] = out->topology->node_count;
}

banyan_status banyan_cables_find(const banyan_topology *topology, banyan_cables *out, banyan_error *err)
{
    size_t nodes = (size_t)topology->node_count;

    *out = (banyan_cables){.topology = topology};
    out->first = banyan_alloc(nodes + 1, sizeof *out->first);
    /* One more, so that a look one past the end stays inside. */
    out->cables = banyan_alloc(2 * (size_t)topology->link_count + 1, sizeof *out->cables);
    out->start = banyan_alloc(nodes + 1, sizeof *out->start);
    out->group_of = banyan_alloc(nodes, sizeof *out->group_of);
    if (!out->first || !out->cables || !out->start || !out->group_of) {
        banyan_cables_fini(out);
        return banyan_fail_memory(err);
    }
    fill_cables(out);
    find_groups(out);
    return BANYAN_SUCCESS;
}

void banyan_cables_fini(banyan_cables *cables)
{
    banyan_free(cables->first);
    banyan_free(cables->cables);
    banyan_free(cables->start);
    banyan_free(cables->group_of);
    *cables = (banyan_cables){0};
}

const banyan_cable *banyan_cables_between(const banyan_cables *cables, int a, int b)
{
    banyan_cable wanted = {.peer = b};

    return bsearch(&wanted, cables->cables + cables->first[a],
                   (size_t)(cables->first[a + 1] - cables->first[a]), sizeof wanted, by_peer);
}

void banyan_cables_add_bandwidth(banyan_text *text, double bytes_per_s)
{
    static const char *const units[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s"};
    double value = 8 * bytes_per_s;
    int unit = 0;

    for (; value >= 999.95 && unit < 5; unit++)
        value /= 1000;
    banyan_text_add(text, "%.4g %s", value, units[unit]);
}

void banyan_cables_add_label(banyan_text *text, const banyan_cable *cable)
{
    if (cable->out_bytes_per_s > 0)
        banyan_cables_add_bandwidth(text, cable->out_bytes_per_s);
    if (cable->out_bytes_per_s == cable->in_bytes_per_s)
        return;
    if (cable->out_bytes_per_s > 0)
        banyan_text_add(text, " one way%s", cable->in_bytes_per_s > 0 ? ", " : "");
    if (cable->in_bytes_per_s > 0) {
        banyan_cables_add_bandwidth(text, cable->in_bytes_per_s);
        banyan_text_add(text, " back");
    }
}

/* Whether the second name is the first with its number raised by one: 'g7', 'g8'. */
static int follows(const char *a, const char *b)
{
    size_t i = strlen(a), j = strlen(b);
    long before, after;

    while (i > 0 && isdigit((unsigned char)a[i - 1]))
        i--;
    while (j > 0 && isdigit((unsigned char)b[j - 1]))
        j--;
    if (i != j || strncmp(a, b, i) || !a[i] || !b[j] || strlen(a + i) > 9 || strlen(b + j) > 9)
        return 0;
    before = strtol(a + i, NULL, 10);
    after = strtol(b + j, NULL, 10);
    return after == before + 1 && (strlen(a + i) == strlen(b + j) || a[i] != '0' || before == 0);
}

void banyan_cables_add_names(banyan_text *text, const banyan_topology *topology, const int *ids, int count,
                             int most)
{
    int runs = 0, i = 0;

    while (i < count) {
        int last = i;

        if (most && runs == most) {
            banyan_text_add(text, " … (%d in all)", count);
            return;
        }
        while (last + 1 < count && follows(banyan_topology_node_name(topology, ids[last]),
                                           banyan_topology_node_name(topology, ids[last + 1])))
            last++;
        if (last < i + 2)
            last = i;
        banyan_text_add(text, "%s%s", runs++ ? " " : "", banyan_topology_node_name(topology, ids[i]));
        if (last > i)
            banyan_text_add(text, "-%s", banyan_topology_node_name(topology, ids[last]));
        i = last + 1;
    }
}

static void add_time(banyan_text *text, double seconds)
{
    if (seconds == 0 || seconds >= 1)
        banyan_text_add(text, "%.4g s", seconds);
    else if (seconds >= 0.99995e-3)
        banyan_text_add(text, "%.4g ms", seconds * 1e3);
    else if (seconds >= 0.99995e-6)
        banyan_text_add(text, "%.4g us", seconds * 1e6);
    else
        banyan_text_add(text, "%.4g ns", seconds * 1e9);
}

static void add_count(banyan_text *text, const char *before, int count, const char *thing, const char *plural)
{
    banyan_text_add(text, "%s%d %s%s", before, count, thing, count == 1 ? "" : plural);
}

void banyan_cables_add_group(const banyan_cables *cables, int group, const char *known_host,
                             banyan_text *text)
{
    const banyan_topology *topology = cables->topology;
    int begin = cables->start[group], count = cables->start[group + 1] - begin;
    int host = topology->nodes[begin].host;
    int *ids = banyan_alloc((size_t)count, sizeof *ids);

    if (!ids) {
        text->failed = 1;
        return;
    }
    for (int i = 0; i < count; i++)
        ids[i] = begin + i;
    banyan_cables_add_names(text, topology, ids, count, MAX_RUNS);
    banyan_free(ids);
    if (host >= 0 && topology->host_count > 1 &&
        (!known_host || strcmp(banyan_topology_host_name(topology, host), known_host)))
        banyan_text_add(text, " in %s", banyan_topology_host_name(topology, host));
}

void banyan_cables_add_title(banyan_text *text, const banyan_topology *topology)
{
    double low = INFINITY, high = 0;

    banyan_text_add(text, "%s", topology->name);
    add_count(text, ": ", topology->worker_count, "worker", "s");
    if (topology->host_count)
        add_count(text, " in ", topology->host_count, "host", "s");
    if (topology->node_count > topology->worker_count)
        add_count(text, ", ", topology->node_count - topology->worker_count, "switch", "es");
    add_count(text, ", ", topology->link_count, "link", "s");
    for (int i = 0; i < topology->link_count; i++) {
        low = fmin(low, topology->links[i].latency_s);
        high = fmax(high, topology->links[i].latency_s);
    }
    if (!topology->link_count)
        return;
    banyan_text_add(text, ", latency ");
    add_time(text, low);
    if (high > low) {
        banyan_text_add(text, " to ");
        add_time(text, high);
    }
}
