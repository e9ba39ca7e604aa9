/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth matrices: all their shapes, and what is wrong with others. */
#include "import.h"

static banyan_topology *matrix(const char *text)
{
    return import_text(&banyan_import_matrix, text, strlen(text));
}

static void refuses(const char *text, const char *sentence)
{
    expect_sentence(&banyan_import_matrix, text, sentence);
}

static void a_plain_table_has_numbered_workers_and_one_way_links(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_matrix, "plain.csv");

    (void)state;
    assert_int_equal(topology->worker_count, 3);
    assert_int_equal(topology->node_count, 3);
    assert_int_equal(topology->link_count, 6);
    assert_string_equal(banyan_topology_node_name(topology, 2), "g2");
    assert_gigabytes(topology, "g0", "g1", 12.5);
    assert_true(gigabytes(topology, "g1", "g2") == 25 / 8.0);
    assert_true(gigabytes(topology, "g2", "g1") == 50 / 8.0);
    banyan_topology_destroy(topology);
}

static void names_come_from_the_header_and_the_first_column(void **state)
{
    banyan_topology *topology = import_sample(&banyan_import_matrix, "names.csv");

    (void)state;
    assert_int_equal(topology->worker_count, 3);
    assert_int_equal(topology->link_count, 4);
    assert_gigabytes(topology, "alpha", "beta", 9.4 / 8);
    assert_true(gigabytes(topology, "beta", "gamma") == 0);
    assert_true(gigabytes(topology, "gamma", "beta") == 0);
    banyan_topology_destroy(topology);
}

static void every_shape_of_the_same_table_gives_the_same_network(void **state)
{
    static const char *const same[] = {
        "0,8\n16,0\n",             /* plain */
        "0;8\r\n16;0\r\n",         /* semicolons, DOS line ends */
        "0\t8\n16\t0",             /* tabs, no last line end */
        " 0  8\n 16 0 \n",         /* blanks */
        "\xef\xbb\xbf,8\n16,\n",   /* a byte order mark, an empty diagonal */
        "# x\n\nX,8e0\n1.6e1,-\n", /* comments, blank lines, exponents, marks on the diagonal */
        "g0,g1\n0,8\n16,0\n",      /* a header alone */
        "g0,0,8\ng1,16,0\n",       /* names at the side alone */
        ",g0,g1\ng0,0,8\ng1,16,0\n",
        "from\\to,g0,g1\ng0,nan,8\ng1,16,inf\n",
        "g0 g1\ng0 0 8\ng1 16 0\n",                              /* a header without its corner */
        "\"\",\"g0\",\"g1\"\n\"g0\",\"0\",\"8\"\n\"g1\",16,0\n", /* quotes */
        ",0,1\n0,0,8\n1,16,0\n",                                 /* as table libraries number them */
    };
    banyan_topology *first = matrix(same[0]);

    (void)state;
    assert_gigabytes(first, "g0", "g0", 0);
    assert_true(gigabytes(first, "g0", "g1") == 1 && gigabytes(first, "g1", "g0") == 2);
    for (size_t i = 1; i < sizeof same / sizeof *same; i++) {
        banyan_topology *other = matrix(same[i]);
        char a[17], b[17];

        banyan_topology_digest(first, a);
        banyan_topology_digest(other, b);
        if (strcmp(a, b) || other->link_count != 2 || strcmp(banyan_topology_node_name(other, 1), "g1"))
            fail_msg("shape %zu gives another network", i);
        banyan_topology_destroy(other);
    }
    banyan_topology_destroy(first);
}

static void one_cell_is_one_lone_worker(void **state)
{
    banyan_topology *topology = matrix("0\n");

    (void)state;
    assert_int_equal(topology->worker_count, 1);
    assert_int_equal(topology->link_count, 0);
    banyan_topology_destroy(topology);
}

static void decimals_are_read_as_the_nearest_double(void **state)
{
    banyan_topology *topology = matrix("0,0.1\n123456.789,0\n");

    (void)state;
    assert_true(topology->links[0].bytes_per_s == 0.1 * 1e9 / 8);
    assert_true(topology->links[1].bytes_per_s == 123456.789 * 1e9 / 8);
    banyan_topology_destroy(topology);
}

static void what_is_no_square_table_is_refused(void **state)
{
    (void)state;
    refuses("", "the file is empty");
    refuses("\n# only a comment\n", "the table has no row of bandwidths");
    refuses("a,b,c\n", "the table has no row of bandwidths");
    refuses("0,1,2\n1,0,2\n", "the table is not square: there are 2 rows, but line 1 has 3 cells");
    refuses("0,1,2\n", "the table is not square: there are 1 rows, but line 1 has 3 cells");
    refuses("0,1\n1,0\n0,0\n1,1\n", "the table is not square: there are 4 rows, but line 1 has 2 cells");
    refuses("0,1,2\n1,0\n1,2,0\n", "line 2: 2 cells, but the table has 3 columns");
    refuses("a,b,c,d\n0,1,2\n1,0,2\n1,1,0\n", "line 1: 4 names, but 3 rows follow");
}

static void a_bandwidth_is_a_sensible_number(void **state)
{
    (void)state;
    refuses("0,-1\n1,0\n", "line 1, column 2: -1 Gbit/s is not zero and not from 1e-06 to 1e+09");
    refuses("0,1\nnan,0\n", "line 2, column 1: nan is not a bandwidth in Gbit/s");
    refuses("0,1\n1e999,0\n", "line 2, column 1: 1e999 Gbit/s is not zero and not from 1e-06 to 1e+09");
    refuses("0,1e-9\n1,0\n", "line 1, column 2: 1e-9 Gbit/s is not zero and not from 1e-06 to 1e+09");
    refuses("0;1\n1,5;0\n", "line 2, column 1: 1,5 is not a bandwidth in Gbit/s");
    refuses("a,b\n0,1\n1e,0\n", "line 3, column 1: 1e is not a bandwidth in Gbit/s");
    refuses("a,b\n0,1\n.,0\n", "line 3, column 1: . is not a bandwidth in Gbit/s");
}

static void names_are_unique_and_agree(void **state)
{
    (void)state;
    refuses("a,a\n0,1\n1,0\n", "line 1: the name a appears twice");
    refuses("a,0,1\na,1,0\n", "line 2: the name a appears twice");
    refuses(",a,b\na,0,1\nc,1,0\n", "line 3: row 2 is named c, but its column is b");
    refuses(",a,b\nb,0,1\na,1,0\n", "line 2: row 1 is named b, but its column is a");
    refuses(",a,b\na,0,1\n,1,0\n", "line 3: a name is empty");
    refuses("a b,c\n0,1\n1,0\n", "line 1: the name a b holds a blank or a control character");
}

static void rubbish_is_named_by_its_first_bad_byte(void **state)
{
    banyan_topology *topology;
    banyan_error err;

    (void)state;
    refuses("0,1\n1,\xff\n", "line 2: the byte 0xff is not text in UTF-8");
    refuses("0,1\n1,\x01\n", "line 2: the byte 0x01 is not text in UTF-8");
    refuses("\xed\xa0\x80", "line 1: the byte 0xed is not text in UTF-8");
    assert_int_equal(banyan_import_matrix.parse("0\0", 2, &topology, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "line 1: the byte 0x00 is not text in UTF-8");
}

static void too_many_links_are_refused_before_memory_is_gone(void **state)
{
    enum { SIZE = 2200 };
    size_t row = 2 * SIZE, length = row * SIZE;
    char *text = malloc(length);
    banyan_topology *topology;
    banyan_error err;

    (void)state;
    for (size_t i = 0; i < length; i++)
        text[i] = (char)(i % 2 == 0 ? '1' : i % row == row - 1 ? '\n' : ',');
    assert_int_equal(banyan_import_matrix.parse(text, length, &topology, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "line 1908: more than 4194304 links");
    free(text);
}

static void too_many_columns_are_refused(void **state)
{
    size_t length = 2 * 70000;
    char *text = malloc(length);
    banyan_topology *topology;
    banyan_error err;

    (void)state;
    for (size_t i = 0; i < length; i++)
        text[i] = i % 2 ? ',' : '1';
    assert_int_equal(banyan_import_matrix.parse(text, length, &topology, &err), BANYAN_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "not square"));
    for (size_t i = 0; i < length; i++)
        text[i] = i % 2 ? '\n' : '1';
    assert_int_equal(banyan_import_matrix.parse(text, length, &topology, &err), BANYAN_INVALID_ARGUMENT);
    assert_string_equal(err.text, "line 65538: more than 65536 rows");
    free(text);
}

static void each_prefix_is_read_or_refused(void **state)
{
    (void)state;
    walk_prefixes(&banyan_import_matrix, "names.csv");
}

static void each_failed_allocation_is_clean(void **state)
{
    (void)state;
    walk_failures(&banyan_import_matrix, "names.csv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_table_has_numbered_workers_and_one_way_links),
        cmocka_unit_test(names_come_from_the_header_and_the_first_column),
        cmocka_unit_test(every_shape_of_the_same_table_gives_the_same_network),
        cmocka_unit_test(one_cell_is_one_lone_worker),
        cmocka_unit_test(decimals_are_read_as_the_nearest_double),
        cmocka_unit_test(what_is_no_square_table_is_refused),
        cmocka_unit_test(a_bandwidth_is_a_sensible_number),
        cmocka_unit_test(names_are_unique_and_agree),
        cmocka_unit_test(rubbish_is_named_by_its_first_bad_byte),
        cmocka_unit_test(too_many_links_are_refused_before_memory_is_gone),
        cmocka_unit_test(too_many_columns_are_refused),
        cmocka_unit_test(each_prefix_is_read_or_refused),
        cmocka_unit_test(each_failed_allocation_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
