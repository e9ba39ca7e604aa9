/* SPDX-License-Identifier: Apache-2.0 */
/* topology/draw_dot.c: a network in Graphviz' language. Workers are boxes, drawn together by host; switches
 * are ellipses. A cable whose two directions are equal is one edge; else each direction is an arrow. */
#include <math.h>

#include "topology/cables.h"
#include "topology/draw.h"

static void add_quoted(banyan_text *text, const char *name)
{
    banyan_text_add(text, "\"");
    for (; *name; name++)
        banyan_text_add(text, "%s%c", *name == '"' || *name == '\\' ? "\\" : "", *name);
    banyan_text_add(text, "\"");
}

static void add_node(banyan_text *text, const banyan_topology *topology, int v, const char *indent)
{
    banyan_text_add(text, "%s", indent);
    add_quoted(text, banyan_topology_node_name(topology, v));
    if (topology->nodes[v].kind == BANYAN_NODE_SWITCH)
        banyan_text_add(text, " [shape=ellipse, fillcolor=\"#e69f00\", fontcolor=\"black\"]");
    banyan_text_add(text, ";\n");
}

/* Workers are sorted by host almost always; a host that comes again gets a second statement for the same
 * cluster, which Graphviz joins. */
static void add_nodes(banyan_text *text, const banyan_topology *topology)
{
    int open = -1;

    for (int v = 0; v < topology->node_count; v++) {
        int host = topology->nodes[v].host;

        if (host != open && open >= 0)
            banyan_text_add(text, "  }\n");
        if (host != open && host >= 0) {
            banyan_text_add(text, "  subgraph cluster_host%d {\n    label=", host);
            add_quoted(text, banyan_topology_host_name(topology, host));
            banyan_text_add(text, "; color=\"#888888\"; fontcolor=\"#888888\";\n");
        }
        open = host;
        add_node(text, topology, v, host >= 0 ? "    " : "  ");
    }
    if (open >= 0)
        banyan_text_add(text, "  }\n");
}

static void add_edge(banyan_text *text, const banyan_topology *topology, int a, int b, double bytes_per_s,
                     double fastest, int one_way)
{
    banyan_text_add(text, "  ");
    add_quoted(text, banyan_topology_node_name(topology, a));
    banyan_text_add(text, " -- ");
    add_quoted(text, banyan_topology_node_name(topology, b));
    banyan_text_add(text, " [label=\"");
    banyan_cables_add_bandwidth(text, bytes_per_s);
    banyan_text_add(text, "\", penwidth=%.2f%s];\n", 1 + 3 * sqrt(bytes_per_s / fastest),
                    one_way ? ", dir=forward" : "");
}

static double find_fastest(const banyan_cables *cables)
{
    double fastest = 0;

    for (int i = 0; i < cables->first[cables->topology->node_count]; i++)
        fastest = fmax(fastest, cables->cables[i].out_bytes_per_s);
    return fastest;
}

static void add_edges(banyan_text *text, const banyan_cables *cables)
{
    const banyan_topology *topology = cables->topology;
    double fastest = find_fastest(cables);

    for (int v = 0; v < topology->node_count; v++)
        for (int i = cables->first[v]; i < cables->first[v + 1]; i++) {
            const banyan_cable *cable = &cables->cables[i];
            int equal = cable->out_bytes_per_s == cable->in_bytes_per_s;

            if (cable->out_bytes_per_s > 0 && (!equal || v < cable->peer))
                add_edge(text, topology, v, cable->peer, cable->out_bytes_per_s, fastest, !equal);
        }
}

banyan_status banyan_topology_draw_dot(const banyan_topology *topology, char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    banyan_cables cables;
    banyan_status status;

    *out = NULL;
    status = banyan_cables_find(topology, &cables, err);
    if (status)
        return status;
    banyan_text_add(&text, "graph ");
    add_quoted(&text, topology->name);
    banyan_text_add(&text, " {\n  graph [bgcolor=\"transparent\", fontname=\"sans-serif\", overlap=false];\n"
                           "  node [shape=box, style=filled, color=\"#888888\", fillcolor=\"#0072b2\", "
                           "fontcolor=\"white\", fontname=\"sans-serif\"];\n"
                           "  edge [color=\"#888888\", fontcolor=\"#777777\", fontname=\"sans-serif\", "
                           "fontsize=10];\n");
    add_nodes(&text, topology);
    add_edges(&text, &cables);
    banyan_text_add(&text, "}\n");
    banyan_cables_fini(&cables);
    return banyan_text_take(&text, out, err);
}
