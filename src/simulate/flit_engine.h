/* SPDX-License-Identifier: Apache-2.0 */
/* simulate/flit_engine.h: runs all nodes of a fabric. Internal to the flit engine. */
#ifndef BANYAN_SIMULATE_FLIT_ENGINE_H
#define BANYAN_SIMULATE_FLIT_ENGINE_H

#include "simulate/flit_interface.h"

/* Runs until the job (where there is one) is done or the cycle is reached. */
banyan_status flit_engine_run(flit_fabric *fabric, const flit_job *job, int64_t until, banyan_error *err);

#endif
