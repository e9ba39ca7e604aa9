/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/pmi.h: a launcher's key-value space, over the socket that it has left open for this process
 * (PMI_FD).
 *
 * PMI-1's wire protocol is lines of text, 'cmd=put kvsname=K key=A value=B', each with one answer. MPICH's
 * Hydra and Slurm's mpi/pmi2 speak it. A program that uses MPI as well must not: the socket is MPI's then. */
#ifndef BANYAN_BOOTSTRAP_PMI_H
#define BANYAN_BOOTSTRAP_PMI_H

#include <stddef.h>

#include "core/status.h"

/* Everybody of the job calls it; rank 0's text, without spaces and shorter than bytes, becomes everybody's.
 * */
banyan_status banyan_pmi_share(int fd, int rank, char *text, size_t bytes, int timeout_ms, banyan_error *err);

/* The value of a name in a line of the protocol, shorter than bytes. 0: it is not there, or does not fit. */
int banyan_pmi_field(const char *line, const char *name, char *out, size_t bytes);

#endif
