/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sim_flit.h: the flit engine as «banyan sim» asks for it. */
#ifndef BANYAN_CLI_SIM_FLIT_H
#define BANYAN_CLI_SIM_FLIT_H

#include "sim_engines.h"

banyan_status sim_flit_run(const sim_settings *settings, const banyan_schedule *schedule,
                           const banyan_topology *topology, size_t bytes, sim_outcome *out,
                           banyan_error *err);

/* --tables: the interfaces' schedule tables as text; the caller frees it. */
banyan_status sim_flit_tables(const sim_settings *settings, const banyan_schedule *schedule,
                              const banyan_topology *topology, size_t bytes, char **out, banyan_error *err);

#endif
