/* SPDX-License-Identifier: Apache-2.0 */
/* calls/kept_network.h: networks that were learnt, kept by rank 0 for the next job of the same hosts
 * (BANYAN_LEARN_FOLDER).
 *
 * One file per list of hosts, FOLDER/network-DIGEST.json, in the topology's own text form: `banyan topo show`
 * shows it, and BANYAN_TOPO takes it. What a file says is a guess until the first calls agree with it
 * (calls/learning.c). */
#ifndef BANYAN_CALLS_KEPT_NETWORK_H
#define BANYAN_CALLS_KEPT_NETWORK_H

#include "bootstrap/rank_record.h"
#include "topology/topology.h"

/* The text of what was kept for these ranks, the caller's to free; *out is NULL where nothing is, or what is
 * there is older than a week or not for them. */
banyan_status banyan_kept_network_load(const char *folder, const banyan_rank_record *records, int size,
                                       char **out, banyan_error *err);

/* Makes the folder where there is none. */
banyan_status banyan_kept_network_save(const char *folder, const banyan_rank_record *records, int size,
                                       const banyan_topology *topology, banyan_error *err);

/* Reads such a text. Fails with a sentence where the network is not one of these ranks on their hosts. */
banyan_status banyan_kept_network_parse(const char *text, const banyan_rank_record *records, int size,
                                        banyan_topology **out, banyan_error *err);

#endif
