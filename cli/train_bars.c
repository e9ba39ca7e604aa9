/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_bars.c: what banyan train --accelerator found.
 *
 *     ring, overlapped       24.1 ms  ##########++++++++======================  3.2 hidden, 12.1 exposed
 */
#include "train_bars.h"

#include <math.h>
#include <stdio.h>

#include "core/alloc.h"
#include "train_figures.h"

enum { BAR = 40 };

static double slowest(const cli_iterations *r)
{
    double most_s = 0;

    for (int i = 0; i < r->count; i++)
        most_s = fmax(most_s, r->rows[i].iteration.iteration_s);
    return most_s;
}

static void print_bar(const banyan_iteration *i, double most_s)
{
    double compute_s = i->forward_s + i->backward_s;
    int alone = (int)lround((compute_s - i->overlapped_s) / most_s * BAR);
    int compute = (int)lround(compute_s / most_s * BAR), all = (int)lround(i->iteration_s / most_s * BAR);

    for (int k = 0; k < BAR; k++)
        putchar(k < alone ? '#' : k < compute ? '+' : k < all ? '=' : ' ');
}

static void print_row(const cli_iterations *r, int k)
{
    const banyan_iteration *i = &r->rows[k].iteration;
    char total[32], hidden[32], exposed[32];

    printf("%-36s %10s  ", r->rows[k].title, banyan_show_seconds(i->iteration_s, total, sizeof total));
    print_bar(i, slowest(r));
    printf("  %10s %10s %6.1f %%\n", banyan_show_seconds(i->overlapped_s, hidden, sizeof hidden),
           banyan_show_seconds(i->exposed_s, exposed, sizeof exposed), 100 * i->exposed_s / i->iteration_s);
}

void cli_iterations_print(const cli_iterations *r)
{
    const banyan_iteration *first = &r->rows[0].iteration;
    char bytes[32], forward[32], backward[32], largest[32];

    printf("%s: %d layers, %s of gradients; %d arrays of %dx%d at %.3g GHz, %d samples a worker\n",
           r->dnn->name, r->dnn->layer_count, banyan_show_bytes(first->gradient_bytes, bytes, sizeof bytes),
           r->accelerator.element_count, r->accelerator.rows, r->accelerator.columns,
           r->accelerator.clock_hz / 1e9, r->samples);
    printf("forward %s, backward %s; all-reduce on %s, %s simulator",
           banyan_show_seconds(first->forward_s, forward, sizeof forward),
           banyan_show_seconds(first->backward_s, backward, sizeof backward), r->topology, r->simulator);
    if (r->largest_bytes < first->gradient_bytes)
        printf(" up to %s, beyond in a straight line",
               banyan_show_bytes(r->largest_bytes, largest, sizeof largest));
    printf("\n\n%-36s %10s  %-*s  %10s %10s %8s\n", "algorithm", "iteration", BAR,
           "# computing  + both  = communicating", "hidden", "exposed", "share");
    for (int k = 0; k < r->count; k++)
        print_row(r, k);
    printf(
        "\nhidden: communication while backward computes; exposed: what comes on top, and its share of the "
        "iteration\n");
}

static void add_row(banyan_text *text, const cli_iterations *r, int k)
{
    const banyan_iteration *i = &r->rows[k].iteration;

    banyan_text_add(text, "%s\n{\"algorithm\":", k ? "," : "");
    banyan_text_add_json_string(text, r->names[k]);
    banyan_text_add(text, ",\"policy\":\"%s\",\"overlapped\":%s,\"groups\":%d,",
                    r->is_overlapped[k] ? "layers" : "single", r->is_overlapped[k] ? "true" : "false",
                    i->reduce_count);
    cli_add_iteration(text, i->iteration_s, i->forward_s, i->backward_s, i->exposed_s);
    banyan_text_add(text, ",");
    cli_add_figures(text, (cli_figure[]){{"communication_s", i->communication_s},
                                         {"overlapped_comm_s", i->overlapped_s},
                                         {NULL, 0}});
    banyan_text_add(text, "}");
}

banyan_status cli_iterations_print_json(const cli_iterations *r, banyan_error *err)
{
    banyan_text text = BANYAN_TEXT_EMPTY;

    banyan_text_add(&text, "{\"model\":");
    banyan_text_add_json_string(&text, r->dnn->name);
    banyan_text_add(&text, ",\"layers\":%d,\"samples\":%d,", r->dnn->layer_count, r->samples);
    cli_json_number(&text, "bytes", r->rows[0].iteration.gradient_bytes);
    banyan_text_add(&text,
                    ",\"accelerator\":{\"rows\":%d,\"columns\":%d,\"arrays\":%d,\"bytes_per_value\":%d,",
                    r->accelerator.rows, r->accelerator.columns, r->accelerator.element_count,
                    r->accelerator.bytes_per_value);
    cli_json_number(&text, "clock_hz", r->accelerator.clock_hz);
    banyan_text_add(&text, "},\"topology\":");
    banyan_text_add_json_string(&text, r->topology);
    banyan_text_add(&text, ",\"simulator\":\"%s\",", r->simulator);
    cli_json_number(&text, "largest_simulated_bytes", r->largest_bytes);
    banyan_text_add(&text, ",\"results\":[");
    for (int k = 0; k < r->count; k++)
        add_row(&text, r, k);
    banyan_text_add(&text, "]}");
    return cli_print(&text, err);
}
