/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/draw.c: pictures of networks: exact ones where they are small, well-formed ones everywhere. */
#include "unit/test.h"

#include "core/alloc.h"
#include "core/xml.h"
#include "topology/build.h"
#include "topology/draw.h"
#include "topology/generate.h"

typedef banyan_status (*draw_function)(const banyan_topology *, char **, banyan_error *);

static const draw_function draws[] = {banyan_topology_draw_text, banyan_topology_draw_dot,
                                      banyan_topology_draw_svg};

static const char *const small[] = {
    "ring:1",        "ring:8",
    "line:5",        "line:18",
    "full:6",        "torus:4x4",
    "torus:2x2",     "mesh:3x5",
    "switch:6",      "fattree:4x4",
    "fattree:4x8:4", "bigraph:4x8",
    "dgx1",          "dgx2",
    "dgxa100:1",     "dgxa100:3",
    "hosts:2+3",     "hosts:1+7+2",
    "abci:8",        "racks:2x2x4",
    "pcie:3x2",      "torus:3x3x3",
    "torus:2x2x2x2", "switch:3,down=s0",
    "abci:140",      "torus:4,down=g0",
    "full:30",       "hosts:4x8,down=g3,degrade=h1:0.5",
};
enum { SMALL_COUNT = sizeof small / sizeof *small };

static banyan_topology *generate(const char *spec)
{
    banyan_topology *topology;
    banyan_error err = {""};

    if (banyan_topology_generate(spec, &topology, &err))
        fail_msg("%s: %s", spec, err.text);
    return topology;
}

static char *draw(draw_function function, const char *spec)
{
    banyan_topology *topology = generate(spec);
    banyan_error err = {""};
    char *text = NULL;

    if (function(topology, &text, &err))
        fail_msg("%s: %s", spec, err.text);
    banyan_topology_destroy(topology);
    return text;
}

static void check_text(const char *spec, const char *wanted)
{
    char *text = draw(banyan_topology_draw_text, spec);

    assert_string_equal(text, wanted);
    banyan_free(text);
}

TEST(a_tree_is_drawn_with_its_bandwidths)
{
    check_text("hosts:2+3", "hosts:2+3: 5 workers in 2 hosts, 3 switches, 14 links, latency 1 us\n"
                            "  net\n"
                            "  ├── 10 Gb/s ── h0 ── 2 × 100 Gb/s ── g0 g1\n"
                            "  └── 10 Gb/s ── h1 ── 3 × 100 Gb/s ── g2-g4\n");
}

TEST(a_fat_tree_is_a_tree_because_its_spines_are_alike)
{
    check_text("fattree:9x4:2", "fattree:9x4:2: 36 workers, 11 switches, 108 links, latency 1 us\n"
                                "  s0 s1\n"
                                "  ├── 2 × 100 Gb/s ── l0 ── 4 × 100 Gb/s ── g0-g3\n"
                                "  ┊   7 more that look the same: l1-l7\n"
                                "  └── 2 × 100 Gb/s ── l8 ── 4 × 100 Gb/s ── g32-g35\n");
}

TEST(damage_shows_in_a_tree)
{
    check_text("hosts:2+2,degrade=h0->net:0.5,down=g3,reduce=1",
               "hosts:2+2,degrade=h0->net:0.5,down=g3,reduce=1: 4 workers in 2 hosts, 3 switches, 10 links, "
               "latency 1 us\n"
               "  net\n"
               "  ├── 10 Gb/s one way, 5 Gb/s back ── h0 ── 2 × 100 Gb/s ── g0 g1\n"
               "  └── 10 Gb/s ── h1 ── 100 Gb/s ── g2\n"
               "  g3 in h1: no links\n"
               "switches that add: h0 h1 net\n");
}

TEST(a_grid_is_drawn_as_a_grid_and_damage_shows)
{
    check_text("torus:3x3,down=g0-g1,degrade=g4-g7:0.5,latency=2ms",
               "torus:3x3,down=g0-g1,degrade=g4-g7:0.5,latency=2ms: 9 workers, 34 links, latency 2 ms\n"
               "    │    │    │\n"
               "  ─ g0 ╳ g1 ─ g2 ─\n"
               "    │    │    │\n"
               "  ─ g3 ─ g4 ─ g5 ─\n"
               "    │    ╎    │\n"
               "  ─ g6 ─ g7 ─ g8 ─\n"
               "    │    │    │\n"
               "  cables: 100 Gb/s; ends meet\n"
               "  ╳ g0-g1 is missing\n"
               "  ╌ g4-g7 50 Gb/s\n");
}

TEST(cables_inside_hosts_are_told_in_one_line)
{
    check_text("abci:4", "abci:4: 4 workers in 1 host, 3 switches, 24 links, latency 1 us\n"
                         "  r0\n"
                         "  ├── 100 Gb/s ── p0 ── 2 × 126 Gb/s ── g0 g1\n"
                         "  └── 100 Gb/s ── p1 ── 2 × 126 Gb/s ── g2 g3\n"
                         "  in every host the workers are joined, each with each: 400 Gb/s\n");
}

TEST(cables_inside_a_host_are_not_told_of_hosts_that_lack_them)
{
    check_text("pcie:2x2:40,down=g0-g1",
               "pcie:2x2:40,down=g0-g1: 4 workers in 2 hosts, 2 switches, 12 links, latency 1 us\n"
               "  nic1\n"
               "  ├── 2 × 100 Gb/s ── g2 g3 in h1, each with each 100 Gb/s\n"
               "  └── 40 Gb/s ── nic0 ── 2 × 100 Gb/s ── g0 g1 in h0\n");
}

TEST(anything_else_is_a_list_of_neighbours)
{
    check_text("bigraph:2x4", "bigraph:2x4: 8 workers, 4 switches, 24 links, latency 1 us\n"
                              "  g0 g1  100 Gb/s ── u0\n"
                              "  g2 g3  100 Gb/s ── u1\n"
                              "  g4 g5  100 Gb/s ── l0\n"
                              "  g6 g7  100 Gb/s ── l1\n"
                              "  u0     100 Gb/s ── g0 g1 l0 l1\n"
                              "  u1     100 Gb/s ── g2 g3 l0 l1\n"
                              "  l0     100 Gb/s ── g4 g5 u0 u1\n"
                              "  l1     100 Gb/s ── g6 g7 u0 u1\n");
}

/* A text of UTF-8 without control characters but line ends, and no blanks at line ends. */
TEST(text_is_tidy_for_every_network)
{
    for (int i = 0; i < SMALL_COUNT; i++) {
        char *text = draw(banyan_topology_draw_text, small[i]);

        assert_true(strlen(text) > strlen(small[i]) && strlen(text) < 100000);
        assert_int_equal(text[strlen(text) - 1], '\n');
        if (strstr(text, " \n") || strstr(text, "\n\n"))
            fail_msg("%s", text);
        banyan_free(text);
    }
}

static int occurs_as_word(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        char before = at == text ? ' ' : at[-1], after = at[length];

        if (!strchr("0123456789abcdefghijklmnopqrstuvwxyz", before) &&
            (!after || !strchr("0123456789abcdefghijklmnopqrstuvwxyz", after)))
            return 1;
    }
    return 0;
}

TEST(every_node_is_in_the_picture)
{
    for (int i = 0; i < SMALL_COUNT; i++) {
        banyan_topology *t = generate(small[i]);
        char *dot = draw(banyan_topology_draw_dot, small[i]), *svg = draw(banyan_topology_draw_svg, small[i]);

        for (int v = 0; v < t->node_count; v++) {
            char in_svg[300], in_dot[300];

            snprintf(in_svg, sizeof in_svg, ">%s</text>", banyan_topology_node_name(t, v));
            snprintf(in_dot, sizeof in_dot, "\"%s\"", banyan_topology_node_name(t, v));
            if (!strstr(svg, in_svg) || !strstr(dot, in_dot))
                fail_msg("%s: %s is not there", small[i], banyan_topology_node_name(t, v));
        }
        banyan_free(dot);
        banyan_free(svg);
        banyan_topology_destroy(t);
    }
}

TEST(a_small_tree_names_every_node_in_text)
{
    banyan_topology *t = generate("racks:2x2x2");
    char *text = draw(banyan_topology_draw_text, "racks:2x2x2");

    for (int v = 0; v < t->node_count; v++)
        if (!occurs_as_word(text, banyan_topology_node_name(t, v)))
            fail_msg("%s is not in %s", banyan_topology_node_name(t, v), text);
    banyan_free(text);
    banyan_topology_destroy(t);
}

static double number(const banyan_xml *svg, int element, const char *attribute)
{
    const char *text = banyan_xml_get(svg, element, attribute);
    char *end;
    double value;

    assert_non_null(text);
    value = strtod(text, &end);
    assert_true(end != text && !*end);
    return value;
}

TEST(svg_is_xml_and_stays_on_the_page)
{
    for (int i = 0; i < SMALL_COUNT; i++) {
        char *text = draw(banyan_topology_draw_svg, small[i]);
        banyan_error err = {""};
        banyan_xml *svg;
        double width, height;

        if (banyan_xml_parse(text, strlen(text), &svg, &err))
            fail_msg("%s: %s", small[i], err.text);
        assert_string_equal(svg->elements[0].name, "svg");
        width = number(svg, 0, "width");
        height = number(svg, 0, "height");
        assert_true(width > 10 && width < 10000 && height > 10 && height < 10000);
        for (int e = 1; e < svg->element_count; e++) {
            if (strcmp(svg->elements[e].name, "text"))
                continue;
            if (number(svg, e, "x") < 0 || number(svg, e, "x") > width || number(svg, e, "y") < 0 ||
                number(svg, e, "y") > height)
                fail_msg("%s: a text lies outside the page", small[i]);
        }
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        banyan_xml_destroy(svg);
        banyan_free(text);
    }
}

static int overlap(const banyan_xml *svg, int a, int b)
{
    double ax = number(svg, a, "x"), ay = number(svg, a, "y"), bx = number(svg, b, "x"),
           by = number(svg, b, "y");

    return ax < bx + number(svg, b, "width") - 0.2 && bx < ax + number(svg, a, "width") - 0.2 &&
           ay < by + number(svg, b, "height") - 0.2 && by < ay + number(svg, a, "height") - 0.2;
}

TEST(no_two_nodes_overlap_in_svg)
{
    for (int i = 0; i < SMALL_COUNT; i++) {
        char *text = draw(banyan_topology_draw_svg, small[i]);
        banyan_xml *svg;
        int rects[1000], count = 0;

        assert_int_equal(banyan_xml_parse(text, strlen(text), &svg, NULL), 0);
        for (int e = 1; e < svg->element_count && count < 1000; e++)
            if (!strcmp(svg->elements[e].name, "rect") && strcmp(banyan_xml_get(svg, e, "class"), "page") &&
                strcmp(banyan_xml_get(svg, e, "class"), "host"))
                rects[count++] = e;
        for (int a = 0; a < count; a++)
            for (int b = 0; b < a; b++)
                if (overlap(svg, rects[a], rects[b]))
                    fail_msg("%s: nodes %d and %d of the picture overlap", small[i], b, a);
        banyan_xml_destroy(svg);
        banyan_free(text);
    }
}

/* How far down the page the name of a switch stands. */
static double height_of(const char *svg, const char *name)
{
    char wanted[64];
    const char *at;

    snprintf(wanted, sizeof wanted, ">%s</text>", name);
    at = strstr(svg, wanted);
    assert_non_null(at);
    while (strncmp(at, " y=\"", 4))
        assert_true(--at > svg);
    return strtod(at + 4, NULL);
}

/* A rack's switch that has a worker of its own, beside the switches of two hosts. */
TEST(a_switch_stands_above_those_that_reach_others_by_it_alone)
{
    static const int cables[][2] = {{0, 3}, {1, 4}, {2, 5}, {3, 5}, {4, 5}};
    banyan_topology_builder builder;
    banyan_topology *t;
    char *svg;

    banyan_topology_builder_init(&builder, "rack");
    for (int host = 0; host < 3; host++) {
        static const char *const names[] = {"a0", "b0", "old"};

        banyan_topology_add_host(&builder, names[host]);
        banyan_topology_add_worker(&builder, names[host], host);
    }
    banyan_topology_add_switch(&builder, "sa");
    banyan_topology_add_switch(&builder, "sb");
    banyan_topology_add_switch(&builder, "sr");
    for (size_t i = 0; i < sizeof cables / sizeof *cables; i++) {
        banyan_topology_add_link(&builder, cables[i][0], cables[i][1], 1e9, 1e-6);
        banyan_topology_add_link(&builder, cables[i][1], cables[i][0], 1e9, 1e-6);
    }
    assert_int_equal(banyan_topology_builder_finish(&builder, &t, NULL), 0);
    assert_int_equal(banyan_topology_draw_svg(t, &svg, NULL), 0);
    assert_true(height_of(svg, "sr") < height_of(svg, "sa"));
    assert_true(height_of(svg, "sa") == height_of(svg, "sb"));
    banyan_free(svg);
    banyan_topology_destroy(t);
}

TEST(names_are_made_safe_in_dot_and_svg)
{
    banyan_topology_builder builder;
    banyan_topology *t;
    char *dot, *svg;
    banyan_xml *xml;

    banyan_topology_builder_init(&builder, "a<b & \"c\"");
    banyan_topology_add_host(&builder, "<host>");
    banyan_topology_add_worker(&builder, "x\"y\\<&", 0);
    banyan_topology_add_switch(&builder, "]]>");
    banyan_topology_add_link(&builder, 0, 1, 1e9, 1e-6);
    assert_int_equal(banyan_topology_builder_finish(&builder, &t, NULL), 0);
    assert_int_equal(banyan_topology_draw_dot(t, &dot, NULL), 0);
    assert_int_equal(banyan_topology_draw_svg(t, &svg, NULL), 0);
    assert_non_null(strstr(dot, "\"x\\\"y\\\\<&\" -- \"]]>\""));
    assert_non_null(strstr(dot, "dir=forward"));
    assert_int_equal(banyan_xml_parse(svg, strlen(svg), &xml, NULL), 0);
    banyan_xml_destroy(xml);
    banyan_free(dot);
    banyan_free(svg);
    banyan_topology_destroy(t);
}

TEST(a_picture_that_nobody_could_read_is_refused)
{
    banyan_topology *many = generate("ring:5000"), *dense = generate("full:300");
    banyan_error err = {""};
    char *svg = "";

    assert_int_equal(banyan_topology_draw_svg(many, &svg, &err), BANYAN_UNSUPPORTED);
    CHECK_SAYS(err, "ring:5000 has 5000 nodes; a picture holds at most 4096");
    assert_null(svg);
    assert_int_equal(banyan_topology_draw_svg(dense, &svg, &err), BANYAN_UNSUPPORTED);
    CHECK_SAYS(err, "full:300 has 44850 cables to draw; a picture holds at most 20000");
    banyan_topology_destroy(many);
    banyan_topology_destroy(dense);
}

TEST(a_large_network_stays_short_in_text)
{
    static const char *const large[] = {"ring:20000", "torus:64x64",    "hosts:1000x8", "fattree:64x64",
                                        "full:500",   "mesh:5x5x5x5x5", "abci:4096",    "bigraph:8x256"};

    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        char *text = draw(banyan_topology_draw_text, large[i]);
        int lines = 0;

        for (const char *c = text; *c; c++)
            lines += *c == '\n';
        if (lines > 200 || strlen(text) > 60000)
            fail_msg("%s takes %d lines", large[i], lines);
        banyan_free(text);
    }
}

TEST(survives_the_failure_of_each_allocation)
{
    static const char *const specs[] = {"hosts:2+3,down=g0,reduce=1",
                                        "racks:2x9x2",
                                        "torus:3x3,down=g0-g1",
                                        "bigraph:2x4",
                                        "dgx1",
                                        "abci:24"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        for (size_t d = 0; d < sizeof draws / sizeof *draws; d++) {
            banyan_topology *topology = generate(specs[i]);

            for (int calls = 0, done = 0; !done; calls++) {
                char *text = NULL;

                banyan_alloc_fail_after(calls);
                done = !draws[d](topology, &text, NULL);
                banyan_alloc_fail_after(-1);
                assert_true(done == !!text);
                banyan_free(text);
            }
            banyan_topology_destroy(topology);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_drawn_with_its_bandwidths),
        cmocka_unit_test(a_fat_tree_is_a_tree_because_its_spines_are_alike),
        cmocka_unit_test(damage_shows_in_a_tree),
        cmocka_unit_test(a_grid_is_drawn_as_a_grid_and_damage_shows),
        cmocka_unit_test(cables_inside_hosts_are_told_in_one_line),
        cmocka_unit_test(cables_inside_a_host_are_not_told_of_hosts_that_lack_them),
        cmocka_unit_test(anything_else_is_a_list_of_neighbours),
        cmocka_unit_test(text_is_tidy_for_every_network),
        cmocka_unit_test(every_node_is_in_the_picture),
        cmocka_unit_test(a_small_tree_names_every_node_in_text),
        cmocka_unit_test(svg_is_xml_and_stays_on_the_page),
        cmocka_unit_test(no_two_nodes_overlap_in_svg),
        cmocka_unit_test(a_switch_stands_above_those_that_reach_others_by_it_alone),
        cmocka_unit_test(names_are_made_safe_in_dot_and_svg),
        cmocka_unit_test(a_picture_that_nobody_could_read_is_refused),
        cmocka_unit_test(a_large_network_stays_short_in_text),
        cmocka_unit_test(survives_the_failure_of_each_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
