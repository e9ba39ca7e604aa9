/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a measured trace of one ring: a timeline that a report can show, or a sentence. */
#include <stdint.h>
#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "core/alloc.h"
#include "report/report.h"
#include "simulate/paths.h"
#include "topology/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const banyan_topology *topology, const banyan_schedule *schedule,
                 const banyan_timeline *timeline)
{
    banyan_paths *paths;
    banyan_error err;
    char *text;

    if (banyan_paths_find(schedule, topology, &paths, &err))
        abort();
    banyan_report report = {.topology = topology,
                            .schedule = schedule,
                            .path_of = paths->path_of,
                            .path_first = paths->first,
                            .path_link = paths->link,
                            .predicted = timeline,
                            .measured = timeline,
                            .bytes = 1 << 20};
    if (banyan_report_format(&report, &text, &err))
        abort();
    banyan_free(text);
    banyan_paths_destroy(paths);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    banyan_topology *topology;
    banyan_schedule *schedule;
    banyan_timeline *timeline;
    banyan_problem problem = {.bytes = 1 << 20};
    banyan_error err = {{0}};

    if (banyan_topology_generate("ring:3", &topology, &err))
        abort();
    problem.topology = topology;
    problem.active = topology->workers;
    problem.active_count = topology->worker_count;
    if (banyan_algorithm_build(banyan_algorithm_find("ring"), &problem, &schedule, &err))
        abort();
    if (banyan_report_parse_trace((const char *)data, size, schedule, topology, &timeline, &err) ? !*err.text
                                                                                                 : !timeline)
        abort();
    if (timeline)
        show(topology, schedule, timeline);
    banyan_timeline_destroy(timeline);
    banyan_schedule_destroy(schedule);
    banyan_topology_destroy(topology);
    return 0;
}
