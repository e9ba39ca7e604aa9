/* SPDX-License-Identifier: Apache-2.0 */
/* algorithms/hierarchy_sources.h: where a hierarchy may come from. Each leaves it empty (no nodes) where the
 * topology has no such thing. */
#ifndef BANYAN_ALGORITHMS_HIERARCHY_SOURCES_H
#define BANYAN_ALGORITHMS_HIERARCHY_SOURCES_H

#include "algorithms/hierarchy.h"

banyan_status banyan_hierarchy_from_switches(const banyan_problem *problem, banyan_hierarchy *hierarchy,
                                             banyan_error *err);
banyan_status banyan_hierarchy_from_hosts(const banyan_problem *problem, banyan_hierarchy *hierarchy,
                                          banyan_error *err);
banyan_status banyan_hierarchy_from_bandwidth(const banyan_problem *problem, banyan_hierarchy *hierarchy,
                                              banyan_error *err);

#endif
