/* SPDX-License-Identifier: Apache-2.0 */
/* cli/train_figures.c: rows of figures as JSON. */
#include "train_figures.h"

void cli_add_figures(banyan_text *text, const cli_figure *figures)
{
    for (int i = 0; figures[i].key; i++) {
        banyan_text_add(text, "%s", i ? "," : "");
        cli_json_number(text, figures[i].key, figures[i].value);
    }
}

void cli_add_iteration(banyan_text *text, double iteration_s, double forward_s, double backward_s,
                       double exposed_s)
{
    cli_add_figures(text, (cli_figure[]){{"iteration_s", iteration_s},
                                         {"forward_s", forward_s},
                                         {"backward_s", backward_s},
                                         {"exposed_comm_s", exposed_s},
                                         {NULL, 0}});
}
