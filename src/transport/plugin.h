/* SPDX-License-Identifier: Apache-2.0 */
/* transport/plugin.h: finds and loads the shared object with an engine. */
#ifndef BANYAN_TRANSPORT_PLUGIN_H
#define BANYAN_TRANSPORT_PLUGIN_H

#include "core/status.h"
#include "transport/engine.h"

/* name is 'ucx', 'mpi-openmpi' or 'mpi-mpich'; folder is where to look first, or "". A loaded engine stays
 * loaded. UNSUPPORTED: it is not there; VERSION_MISMATCH: it is of another version. */
banyan_status banyan_plugin_load(const char *name, const char *folder, const banyan_message_engine **out,
                                 banyan_error *err);

/* Where its file is, without loading it; 0: nowhere. */
int banyan_plugin_find(const char *name, const char *folder, char *path, size_t size);

/* Which MPI runs this process: 'mpi-openmpi' or 'mpi-mpich'. The library that the process has, else what its
 * launcher has set, else the one that is there. */
const char *banyan_plugin_which_mpi(const char *wish, const char *folder);

#endif
