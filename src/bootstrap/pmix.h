/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/pmix.h: a launcher that speaks PMIx (Open MPI's mpirun, PRRTE's prterun, srun --mpi=pmix): how
 * many ranks there are, and where they exchange a line of text. Its library is opened at run time. */
#ifndef BANYAN_BOOTSTRAP_PMIX_H
#define BANYAN_BOOTSTRAP_PMIX_H

#include <stddef.h>

#include "core/status.h"

/* The job's ranks. */
banyan_status banyan_pmix_count(int *size, int timeout_ms, banyan_error *err);

/* Everybody of the job calls it; rank 0's text, shorter than bytes, becomes everybody's. */
banyan_status banyan_pmix_share(char *text, size_t bytes, int timeout_ms, banyan_error *err);

#endif
