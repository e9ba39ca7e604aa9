/* SPDX-License-Identifier: Apache-2.0 */
/* topology/import_matrix.c: an N x N table of bandwidths in Gbit/s, as a spreadsheet or a script writes it.
 *
 *     # measured on Monday                 row i, column j: what i can send to j
 *     ,   g0, g1, g2                       empty, 0 or - : no link
 *     g0,   ,100, 25                       the diagonal says nothing and is not looked at
 *     g1,100,   , 25
 *     g2, 25, 25,                          names in the first row, the first column, both or neither
 *
 * Every row is a worker and every number a one-way link of 1 us. The text is walked three times, for the
 * shape, the names and the numbers, so that nothing but names is kept: O(N^2) time, O(N) memory beside the
 * result. The counts tell which of the forms it is: N rows of N cells, one more row with a header, one more
 * cell with names at the side. */
#include <string.h>

#include "core/alloc.h"
#include "topology/build.h"
#include "topology/import.h"
#include "topology/names.h"
#include "topology/scan.h"

static const double latency_s = 1e-6, lowest_gbps = 1e-6, highest_gbps = 1e9;

typedef struct {
    char separator;  /* ' ' stands for runs of blanks */
    int size;        /* N */
    int width;       /* cells in every row below the header */
    int has_header;  /* the first row holds names */
    int has_sides;   /* the first cell of every row holds a name */
    int is_numbered; /* the names are 0, 1, 2, ... as table libraries write them: as good as none */
} shape;

/* The next line that is neither blank nor a comment. */
static int next_row(banyan_scan *scan)
{
    while (banyan_scan_next_line(scan)) {
        banyan_word line = banyan_word_trim(scan->line);

        if (line.length && *line.at != '#')
            return 1;
    }
    return 0;
}

static char find_separator(banyan_word line)
{
    static const char candidates[] = ";\t,";

    for (const char *c = candidates; *c; c++)
        if (memchr(line.at, *c, line.length))
            return *c;
    return ' ';
}

/* Cuts the next cell off; rest.at is NULL after the last one. Quotes around a cell are not part of it. */
static int next_cell(banyan_word *rest, char separator, banyan_word *cell)
{
    const char *end;

    if (!rest->at)
        return 0;
    if (separator == ' ') {
        *rest = banyan_word_trim(*rest);
        if (!banyan_word_take(rest, cell))
            return 0;
    } else {
        end = rest->length ? memchr(rest->at, separator, rest->length) : NULL;
        *cell = (banyan_word){rest->at, end ? (size_t)(end - rest->at) : rest->length};
        *rest = end ? (banyan_word){end + 1, rest->length - cell->length - 1} : (banyan_word){NULL, 0};
        *cell = banyan_word_trim(*cell);
    }
    if (cell->length >= 2 && *cell->at == '"' && cell->at[cell->length - 1] == '"')
        *cell = banyan_word_trim((banyan_word){cell->at + 1, cell->length - 2});
    return 1;
}

static int is_name(banyan_word cell)
{
    double number;

    return cell.length && !banyan_word_is(cell, "-") && !banyan_word_is_like(cell, "x") &&
           !banyan_word_is_like(cell, "nan") && !banyan_word_is_like(cell, "inf") &&
           !banyan_word_is_like(cell, "n/a") && !banyan_word_number(cell, &number);
}

static int count_cells(banyan_word line, char separator)
{
    banyan_word cell;
    int count = 0;

    while (count <= BANYAN_IMPORT_MAX_NODES + 1 && next_cell(&line, separator, &cell))
        count++;
    return count;
}

/* Looks at the first row: are there names in it, and is it (beyond its corner) 0, 1, 2, ...? */
static void judge_first_row(shape *table, banyan_word line)
{
    banyan_word cell, corner;
    int column = 0, number;

    table->is_numbered = next_cell(&line, table->separator, &corner) && (!corner.length || is_name(corner));
    for (; next_cell(&line, table->separator, &cell) && column <= BANYAN_IMPORT_MAX_NODES; column++) {
        table->has_header |= is_name(cell);
        table->is_numbered &= banyan_word_integer(cell, BANYAN_IMPORT_MAX_NODES, &number) && number == column;
    }
    table->is_numbered &= column >= 2;
    table->has_header |= column == 0 && is_name(corner);
}

static banyan_status judge(shape *table, banyan_scan scan, banyan_error *err)
{
    int rows = 0, first_line = 0, are_named = 1, number;

    for (; next_row(&scan); rows++) {
        banyan_word rest = scan.line, cell = {scan.line.at, 0};

        if (rows > BANYAN_IMPORT_MAX_NODES)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d rows", scan.number,
                               BANYAN_IMPORT_MAX_NODES);
        if (!rows) {
            table->separator = find_separator(scan.line);
            judge_first_row(table, scan.line);
        }
        if (rows == table->has_header) {
            table->width = count_cells(scan.line, table->separator);
            first_line = scan.number;
        }
        next_cell(&rest, table->separator, &cell);
        are_named &= is_name(cell);
        if (rows)
            table->is_numbered &=
                banyan_word_integer(cell, BANYAN_IMPORT_MAX_NODES, &number) && number == rows - 1;
    }
    table->is_numbered &= rows == table->width;
    table->has_header |= table->is_numbered;
    table->size = rows - table->has_header;
    /* Without a header, a side of numbers is more likely a table that lost its last row. */
    table->has_sides = table->width == table->size + 1 && (table->has_header || are_named);
    if (table->size < 1)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "the table has no row of bandwidths");
    if (table->width != table->size + table->has_sides)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "the table is not square: there are %d rows, but line %d has %d cells",
                           table->size, first_line, table->width);
    return BANYAN_SUCCESS;
}

static banyan_status keep_name(banyan_names *names, int worker, banyan_word cell, int line, banyan_error *err)
{
    int known = names->count, id;
    banyan_status status = banyan_word_check_name(cell, line, err);

    if (status)
        return status;
    id = banyan_names_add(names, cell);
    if (id < 0)
        return banyan_fail_memory(err);
    if (id == worker)
        return BANYAN_SUCCESS;
    if (worker < known)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: row %d is named %s, but its column is %s",
                           line, worker + 1, banyan_word_show(cell).text, banyan_names_text(names, worker));
    return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: the name %s appears twice", line,
                       banyan_word_show(cell).text);
}

static banyan_status keep_header(const shape *table, banyan_names *names, const banyan_scan *scan,
                                 banyan_error *err)
{
    banyan_word rest = scan->line, cell;
    int count = count_cells(scan->line, table->separator);
    banyan_status status = BANYAN_SUCCESS;

    if (count != table->size && count != table->width)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %d names, but %d rows follow",
                           scan->number, count, table->size);
    if (count > table->size)
        next_cell(&rest, table->separator, &cell);
    for (int i = 0; !status && next_cell(&rest, table->separator, &cell); i++)
        status = keep_name(names, i, cell, scan->number, err);
    return status;
}

static banyan_status keep_names(const shape *table, banyan_names *names, banyan_scan scan, banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;
    banyan_word rest, cell;

    if (table->is_numbered)
        return BANYAN_SUCCESS;
    if (table->has_header) {
        next_row(&scan);
        status = keep_header(table, names, &scan, err);
    }
    for (int row = 0; !status && table->has_sides && next_row(&scan); row++) {
        rest = scan.line;
        next_cell(&rest, table->separator, &cell);
        status = keep_name(names, row, cell, scan.number, err);
    }
    return status;
}

static banyan_status read_bandwidth(banyan_word cell, int line, int row, int column, double *bytes_per_s,
                                    banyan_error *err)
{
    double gbps;

    *bytes_per_s = 0;
    if (row == column || !cell.length || banyan_word_is(cell, "-"))
        return BANYAN_SUCCESS;
    if (!banyan_word_number(cell, &gbps))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d, column %d: %s is not a bandwidth in Gbit/s", line, column + 1,
                           banyan_word_show(cell).text);
    if (gbps == 0)
        return BANYAN_SUCCESS;
    if (gbps < lowest_gbps || gbps > highest_gbps)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "line %d, column %d: %s Gbit/s is not zero and not from %g to %g", line,
                           column + 1, banyan_word_show(cell).text, lowest_gbps, highest_gbps);
    *bytes_per_s = gbps * 1e9 / 8;
    return BANYAN_SUCCESS;
}

static banyan_status read_row(const shape *table, const banyan_scan *scan, int row,
                              banyan_topology_builder *builder, banyan_error *err)
{
    banyan_word rest = scan->line, cell;
    int count = count_cells(scan->line, table->separator);
    banyan_status status = BANYAN_SUCCESS;
    double bytes_per_s;

    if (count != table->width)
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: %d cells, but the table has %d columns",
                           scan->number, count, table->width);
    if (table->has_sides)
        next_cell(&rest, table->separator, &cell);
    for (int column = 0; !status && next_cell(&rest, table->separator, &cell); column++) {
        status = read_bandwidth(cell, scan->number, row, column, &bytes_per_s, err);
        if (status || bytes_per_s <= 0 || builder->status)
            continue;
        if (builder->topology->link_count == BANYAN_IMPORT_MAX_LINKS)
            return banyan_fail(err, BANYAN_INVALID_ARGUMENT, "line %d: more than %d links", scan->number,
                               BANYAN_IMPORT_MAX_LINKS);
        banyan_topology_add_link(builder, row, column, bytes_per_s, latency_s);
    }
    return status;
}

static banyan_status read_rows(const shape *table, banyan_scan scan, banyan_topology_builder *builder,
                               banyan_error *err)
{
    banyan_status status = BANYAN_SUCCESS;

    if (table->has_header)
        next_row(&scan);
    for (int row = 0; !status && next_row(&scan); row++)
        status = read_row(table, &scan, row, builder, err);
    return status;
}

static banyan_status parse(const char *text, size_t length, banyan_topology **out, banyan_error *err)
{
    banyan_topology_builder builder;
    banyan_names names = {0};
    shape table = {0};
    banyan_scan scan;
    banyan_error problem;
    banyan_status status = banyan_scan_check_text(text, length, &problem);

    banyan_scan_init(&scan, text, length);
    banyan_topology_builder_init(&builder, "matrix");
    if (!status)
        status = judge(&table, scan, &problem);
    if (!status)
        status = keep_names(&table, &names, scan, &problem);
    for (int i = 0; !status && i < table.size; i++) {
        if (names.count)
            banyan_topology_add_worker(&builder, banyan_names_text(&names, i), -1);
        else
            banyan_topology_add_worker_f(&builder, -1, "g%d", i);
    }
    if (!status)
        status = read_rows(&table, scan, &builder, &problem);
    banyan_names_fini(&names);
    if (status)
        banyan_topology_builder_fail(&builder, status, "%s", problem.text);
    return banyan_topology_builder_finish(&builder, out, err);
}

/* Two cells or more, or one number, in the first row. */
static int looks_like(const char *text, size_t length)
{
    banyan_scan scan;
    double number;

    banyan_scan_init(&scan, text, length);
    if (!next_row(&scan) || memchr("<{[", *banyan_word_trim(scan.line).at, 3))
        return 0;
    return memchr(scan.line.at, '=', scan.line.length) == NULL &&
           (find_separator(scan.line) != ' ' || banyan_word_number(banyan_word_trim(scan.line), &number));
}

const banyan_importer banyan_import_matrix = {.name = "matrix",
                                              .summary = "N x N bandwidths in Gbit/s, as CSV",
                                              .extension = ".csv",
                                              .looks_like = looks_like,
                                              .parse = parse};
