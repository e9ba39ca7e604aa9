/* SPDX-License-Identifier: Apache-2.0 */
/* topology/draw_text.h: the three pictures in text; draw_text.c picks the one that suits. */
#ifndef BANYAN_TOPOLOGY_DRAW_TEXT_H
#define BANYAN_TOPOLOGY_DRAW_TEXT_H

#include "topology/cables.h"

/* Each appends its picture and returns 1, or returns 0 and appends nothing where it does not suit. When
 * memory runs out the text remembers it. */
int banyan_draw_text_grid(const banyan_cables *cables, banyan_text *text);
int banyan_draw_text_tree(const banyan_cables *cables, banyan_text *text);
void banyan_draw_text_list(const banyan_cables *cables, banyan_text *text);

#endif
