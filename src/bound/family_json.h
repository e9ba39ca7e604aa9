/* SPDX-License-Identifier: Apache-2.0 */
/* bound/family_json.h: writes and reads weighted cuts with potentials, as parts of a certificate in a bound
 * file (docs/formats/bound-file.md). Certificates of all-reduce may have two families, told apart by a
 * prefix. */
#ifndef BANYAN_BOUND_FAMILY_JSON_H
#define BANYAN_BOUND_FAMILY_JSON_H

#include "bound/cut_family.h"
#include "core/json.h"
#include "core/text.h"
#include "topology/topology.h"

/* As further fields of an object: "cuts" and "potentials", with prefix before both names. */
void banyan_family_write(banyan_text *text, const char *prefix, const banyan_cut_family *family,
                         int node_count);

/* From the fields of the object, with every number checked against the network. Empty where there are
 * none. */
banyan_status banyan_family_read(const banyan_json *object, const char *prefix,
                                 const banyan_topology *topology, banyan_cut_family *out, banyan_error *err);

#endif
