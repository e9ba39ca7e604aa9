/* SPDX-License-Identifier: Apache-2.0 */
/* device/emulated.h: what only the emulated device can be asked for: graphs, and memory that cannot be
 * shared or runs out, as tests need them. */
#ifndef BANYAN_DEVICE_EMULATED_H
#define BANYAN_DEVICE_EMULATED_H

#include "device/device.h"

typedef struct banyan_emulated_graph banyan_emulated_graph;

/* What the stream is given between begin and end is kept and not done; launch does it, any number of
 * times. */
void banyan_emulated_capture_begin(void *stream);
banyan_emulated_graph *banyan_emulated_capture_end(void *stream);
banyan_status banyan_emulated_launch(banyan_emulated_graph *graph, void *stream, banyan_error *err);
void banyan_emulated_graph_destroy(banyan_emulated_graph *graph);

/* Whether memory that is allocated from now on can be shared; a memory pool's cannot. */
void banyan_emulated_set_shareable(int is_shareable);

/* Allocations of more bytes fail from now on. */
void banyan_emulated_set_bytes_left(size_t bytes);

#endif
