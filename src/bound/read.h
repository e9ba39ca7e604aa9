/* SPDX-License-Identifier: Apache-2.0 */
/* bound/read.h: what both kinds of bound files hold: written, and read for the network that they are judged
 * against. */
#ifndef BANYAN_BOUND_READ_H
#define BANYAN_BOUND_READ_H

#include "bound/network.h"
#include "core/json.h"
#include "core/text.h"

/* 2: rates say whether they are tight, and certificates may be weighted cuts. */
enum { BANYAN_BOUND_FILE_VERSION = 3 };

typedef struct {
    banyan_relays relays;
    int *active, active_count; /* the reader's, also after a failure */
} banyan_bound_question;

/* The beginning of a file, up to the active workers. */
void banyan_bound_write_question(banyan_text *text, const banyan_topology *topology, banyan_relays relays,
                                 const int *active, int active_count);

banyan_status banyan_bound_read_question(const banyan_json *root, const banyan_topology *topology,
                                         banyan_bound_question *out, banyan_error *err);

/* An array of [link, price] into price, by link. name: of the array, for the sentence. */
banyan_status banyan_bound_read_prices(const banyan_json *array, const banyan_topology *topology,
                                       const char *name, int64_t *price, banyan_error *err);

#endif
