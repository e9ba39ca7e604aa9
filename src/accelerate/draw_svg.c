/* SPDX-License-Identifier: Apache-2.0 */
/* accelerate/draw_svg.c: iterations as bars: computation, what of the communication it hides, what is
 * exposed. */
#include <math.h>
#include <stdio.h>

#include "accelerate/iteration.h"
#include "core/text.h"

enum { LEFT = 250, WIDTH = 620, ROW = 26, TOP = 66, BOTTOM = 24, RIGHT = 100 };

static void add_part(banyan_text *text, const char *class, double *x, double y, double width,
                     const char *title, double seconds)
{
    banyan_text_add(text,
                    "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\"><title>%s: %.4g "
                    "ms</title></rect>\n",
                    class, *x, y, fmax(0, width), ROW - 8, title, seconds * 1e3);
    *x += width;
}

static void add_row(banyan_text *text, const banyan_iteration_row *row, double y, double scale)
{
    const banyan_iteration *i = &row->iteration;
    double compute_s = i->forward_s + i->backward_s - i->overlapped_s, x = LEFT;

    banyan_text_add(text, "<text class=\"ink\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">", LEFT - 8,
                    y + ROW - 13);
    banyan_text_add_xml(text, row->title);
    banyan_text_add(text, "</text>\n");
    add_part(text, "compute", &x, y, compute_s * scale, "computation alone", compute_s);
    add_part(text, "hidden", &x, y, i->overlapped_s * scale, "computation and communication",
             i->overlapped_s);
    add_part(text, "exposed", &x, y, i->exposed_s * scale, "communication alone", i->exposed_s);
    banyan_text_add(text, "<text class=\"ink\" x=\"%.1f\" y=\"%.1f\">%.4g ms</text>\n", x + 6, y + ROW - 13,
                    i->iteration_s * 1e3);
}

static void add_legend(banyan_text *text)
{
    static const char *const classes[] = {"compute", "hidden", "exposed"};
    static const char *const names[] = {"computation", "computation that hides communication",
                                        "exposed communication"};
    static const int places[] = {12, 130, 402};

    for (int i = 0; i < 3; i++)
        banyan_text_add(
            text,
            "<rect class=\"%s\" x=\"%d\" y=\"36\" width=\"14\" height=\"12\"/><text class=\"ink\" "
            "x=\"%d\" y=\"46\">%s</text>\n",
            classes[i], places[i], places[i] + 20, names[i]);
}

banyan_status banyan_iterations_draw_svg(const char *title, const banyan_iteration_row *rows, int count,
                                         char **out, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;
    int height = TOP + count * ROW + BOTTOM, width = LEFT + WIDTH + RIGHT;
    double most_s = 1e-12;

    for (int i = 0; i < count; i++)
        most_s = fmax(most_s, rows[i].iteration.iteration_s);
    banyan_text_add(
        &text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
        "role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>",
        width, height, width, height);
    banyan_text_add_xml(&text, title);
    banyan_text_add(&text,
                    "</title>\n<style>.page{fill:#ffffff}.ink{fill:#333333}.compute{fill:#56b4e9}"
                    ".hidden{fill:#009e73}.exposed{fill:#e69f00}"
                    "@media (prefers-color-scheme: dark){.page{fill:#15181c}.ink{fill:#dddddd}}</style>\n");
    banyan_text_add(&text,
                    "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n<text class=\"ink\" font-size=\"14\" "
                    "x=\"12\" y=\"22\">",
                    width, height);
    banyan_text_add_xml(&text, title);
    banyan_text_add(&text, "</text>\n");
    add_legend(&text);
    for (int i = 0; i < count; i++)
        add_row(&text, &rows[i], TOP + i * ROW, WIDTH / most_s);
    banyan_text_add(&text, "</svg>\n");
    return banyan_text_take(&text, out, err);
}
