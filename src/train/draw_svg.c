/* SPDX-License-Identifier: Apache-2.0 */
/* train/draw_svg.c: iterations as a picture: compute above, one row a stream below, a panel a policy, all on
 * one time axis. It needs nothing else: no fonts, no scripts, no files. */
#include <math.h>
#include <stdio.h>

#include "core/text.h"
#include "train/train.h"

enum { LEFT = 150, WIDTH = 900, ROW = 18, GAP = 14, TOP = 40, BOTTOM = 34 };

typedef struct {
    const banyan_model *model;
    double scale; /* pixels per second */
    double y;
    banyan_text text;
} picture;

static void add_bar(picture *p, const char *class, double from_s, double to_s, const char *title)
{
    banyan_text_add(&p->text, "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\">", class,
                    LEFT + from_s * p->scale, p->y, fmax(0.3, (to_s - from_s) * p->scale), ROW - 3);
    banyan_text_add(&p->text, "<title>");
    banyan_text_add_xml(&p->text, title);
    banyan_text_add(&p->text, "</title></rect>\n");
}

static void add_row_name(picture *p, const char *name)
{
    banyan_text_add(&p->text, "<text class=\"soft\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n",
                    LEFT - 8, p->y + ROW - 6, name);
}

static void add_group(picture *p, const banyan_grouping *g, int i, int is_odd)
{
    const banyan_gradient_group *group = &g->groups[i];
    const banyan_gradient_part *first = &g->parts[group->first_part], *last = first + group->part_count - 1;
    double from_s = g->forward_s + group->start_s, to_s = g->forward_s + group->end_s;
    char title[400];

    snprintf(title, sizeof title, "group %d: %d tensors, %.3g MB, %.4g to %.4g ms: %.100s ... %.100s", i,
             group->part_count, (double)group->bytes / 1e6, from_s * 1e3, to_s * 1e3,
             p->model->tensors[first->tensor].name, p->model->tensors[last->tensor].name);
    add_bar(p, is_odd ? "odd" : "even", from_s, to_s, title);
}

static void add_panel(picture *p, const banyan_training *training)
{
    const banyan_grouping *g = training->grouping;
    char title[64];

    banyan_text_add(&p->text, "<text class=\"ink\" font-weight=\"bold\" x=\"8\" y=\"%.1f\">", p->y + ROW - 6);
    banyan_text_add_xml(&p->text, training->title);
    banyan_text_add(&p->text, "</text>\n");
    snprintf(title, sizeof title, "forward, %.4g ms", g->forward_s * 1e3);
    add_bar(p, "forward", 0, g->forward_s, title);
    snprintf(title, sizeof title, "backward, %.4g ms", g->backward_s * 1e3);
    add_bar(p, "backward", g->forward_s, g->forward_s + g->backward_s, title);
    banyan_text_add(&p->text, "<text class=\"ink\" x=\"%.1f\" y=\"%.1f\">%.4g ms</text>\n",
                    LEFT + g->iteration_s * p->scale + 5, p->y + ROW - 6, g->iteration_s * 1e3);
    for (int stream = 0; stream < g->streams; stream++) {
        char name[24];
        int drawn = 0;

        p->y += ROW;
        snprintf(name, sizeof name, "stream %d", stream);
        add_row_name(p, name);
        for (int i = 0; i < g->group_count; i++)
            if (g->groups[i].stream == stream)
                add_group(p, g, i, drawn++ % 2);
    }
    p->y += ROW + GAP;
}

static void add_axis(picture *p, double most_s, double height)
{
    double step_s = pow(10, floor(log10(most_s)));

    if (most_s / step_s < 2.5)
        step_s /= 5;
    else if (most_s / step_s < 5)
        step_s /= 2;
    for (int i = 0; i * step_s <= most_s; i++)
        banyan_text_add(&p->text,
                        "<path class=\"grid\" d=\"M%.1f %d V%.1f\"/>\n"
                        "<text class=\"soft\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">%.4g ms</text>\n",
                        LEFT + i * step_s * p->scale, TOP - 6, height - BOTTOM + 6,
                        LEFT + i * step_s * p->scale, height - 12, i * step_s * 1e3);
}

static void add_frame(picture *p, double height)
{
    banyan_text_add(&p->text,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
                    "height=\"%.0f\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n<title>",
                    LEFT + WIDTH + 90, height, LEFT + WIDTH + 90, height);
    banyan_text_add_xml(&p->text, p->model->name);
    banyan_text_add(&p->text, "</title>\n<style>.page{fill:#ffffff}.ink{fill:#333333}.soft{fill:#666666}"
                              ".grid{stroke:#cccccc;stroke-width:0.6}.forward{fill:#999999}"
                              ".backward{fill:#56b4e9}.even{fill:#009e73}.odd{fill:#e69f00}"
                              "@media (prefers-color-scheme: dark){.page{fill:#15181c}.ink{fill:#dddddd}"
                              ".soft{fill:#aaaaaa}.grid{stroke:#3a3f45}}</style>\n");
    banyan_text_add(&p->text,
                    "<rect class=\"page\" width=\"%d\" height=\"%.0f\"/>\n"
                    "<text class=\"ink\" font-size=\"14\" x=\"8\" y=\"22\">",
                    LEFT + WIDTH + 90, height);
    banyan_text_add_xml(&p->text, p->model->name);
    banyan_text_add(&p->text, ": one iteration; grey forward, blue backward, below the all-reduces</text>\n");
}

banyan_status banyan_training_draw_svg(const banyan_model *model, const banyan_training *trainings, int count,
                                       char **out, banyan_error *err)
{
    picture p = {.model = model, .y = TOP};
    double most_s = 1e-9, height = TOP + BOTTOM;

    *out = NULL;
    for (int i = 0; i < count; i++) {
        most_s = fmax(most_s, trainings[i].grouping->iteration_s);
        height += (1 + trainings[i].grouping->streams) * ROW + GAP;
    }
    p.scale = WIDTH / most_s;
    add_frame(&p, height);
    add_axis(&p, most_s, height);
    for (int i = 0; i < count; i++)
        add_panel(&p, &trainings[i]);
    banyan_text_add(&p.text, "</svg>\n");
    return banyan_text_take(&p.text, out, err);
}
