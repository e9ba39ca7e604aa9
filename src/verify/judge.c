/* SPDX-License-Identifier: Apache-2.0 */
/* verify/judge.c: problems as they are found, kept in the order of transfers, and names for sentences. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "verify/judge.h"

void banyan_judge_report(banyan_judge *judge, size_t transfer, const char *format, ...)
{
    banyan_verdict *verdict = judge->verdict;
    long kept = verdict->problem_count < BANYAN_VERDICT_SHOWN ? verdict->problem_count : BANYAN_VERDICT_SHOWN;
    long place = kept;
    va_list arguments;

    verdict->problem_count++;
    while (place > 0 && judge->position[place - 1] > transfer)
        place--;
    if (place == BANYAN_VERDICT_SHOWN)
        return;
    for (long i = kept < BANYAN_VERDICT_SHOWN ? kept : BANYAN_VERDICT_SHOWN - 1; i > place; i--) {
        judge->position[i] = judge->position[i - 1];
        memcpy(verdict->problems[i], verdict->problems[i - 1], sizeof *verdict->problems);
    }
    judge->position[place] = transfer;
    va_start(arguments, format);
    vsnprintf(verdict->problems[place], sizeof *verdict->problems, format, arguments);
    va_end(arguments);
}

static const char *name_of(const banyan_judge *judge, int node, char *buffer, size_t size)
{
    if (judge->topology && node < judge->topology->node_count)
        snprintf(buffer, size, "%.40s", banyan_topology_node_name(judge->topology, node));
    else
        snprintf(buffer, size, "node %d", node);
    return buffer;
}

const char *banyan_judge_transfer_name(const banyan_judge *judge, size_t transfer, char *buffer, size_t size)
{
    const banyan_transfer *t = &judge->schedule->transfers[transfer];
    char src[48], dst[48];

    snprintf(buffer, size, "transfer %zu (round %d, %s to %s)", transfer, t->round,
             name_of(judge, t->src, src, sizeof src), name_of(judge, t->dst, dst, sizeof dst));
    return buffer;
}

const char *banyan_judge_node_name(const banyan_judge *judge, int node, char *buffer, size_t size)
{
    int rank = banyan_schedule_rank(judge->schedule, node);
    char name[48];

    name_of(judge, node, name, sizeof name);
    if (rank >= 0)
        snprintf(buffer, size, "rank %d (%s)", rank, name);
    else
        snprintf(buffer, size, "%s", name);
    return buffer;
}
