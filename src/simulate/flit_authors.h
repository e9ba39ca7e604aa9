/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_authors.h: what the interface of the MultiTree authors' simulator does differently from ours.
 * Internal to the flit engine. */
#ifndef BANYAN_SIMULATE_FLIT_AUTHORS_H
#define BANYAN_SIMULATE_FLIT_AUTHORS_H

#include "simulate/flit_job.h"

/* Puts the entries of a step into the order of flows, and gives each message the port by which it leaves the
 * network: path p becomes as many paths as there are ports, of which number p * ports + k leaves by port k.
 * Returns 0 where memory does not suffice. */
int flit_authors_arrange(flit_job *job);

#endif
