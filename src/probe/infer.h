/* SPDX-License-Identifier: Apache-2.0 */
/* probe/infer.h: from what was measured between hosts to a topology. A pure function: the same findings give
 * the same network everywhere. */
#ifndef BANYAN_PROBE_INFER_H
#define BANYAN_PROBE_INFER_H

#include "probe/findings.h"
#include "topology/topology.h"

banyan_status banyan_probe_infer(const banyan_probe_findings *findings, banyan_topology **out,
                                 banyan_error *err);

#endif
