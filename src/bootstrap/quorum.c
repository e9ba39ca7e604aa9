/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/quorum.c: the rule as a number, its text, and what it says of a side. */
#include "bootstrap/quorum.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/rank_record.h"
#include "core/value.h"

static const char at_least[] = "at_least:";

banyan_status banyan_quorum_parse(const char *text, int *rule, banyan_error *err)
{
    size_t prefix = sizeof at_least - 1;
    int64_t count = 1;

    if (!strcmp(text, "majority")) {
        *rule = BANYAN_QUORUM_MAJORITY;
        return BANYAN_SUCCESS;
    }
    if (strcmp(text, "any") != 0 && (strncmp(text, at_least, prefix) != 0 ||
                                     banyan_value_integer(text + prefix, 1, BANYAN_MAX_RANKS, &count, NULL)))
        return banyan_fail(err, BANYAN_INVALID_ARGUMENT,
                           "'%.40s' is not majority, any or at_least:N with N from 1 to %d", text,
                           BANYAN_MAX_RANKS);
    *rule = (int)count;
    return BANYAN_SUCCESS;
}

const char *banyan_quorum_format(int rule, char buffer[BANYAN_QUORUM_TEXT])
{
    if (rule == BANYAN_QUORUM_MAJORITY)
        snprintf(buffer, BANYAN_QUORUM_TEXT, "majority");
    else if (rule == 1)
        snprintf(buffer, BANYAN_QUORUM_TEXT, "any");
    else
        snprintf(buffer, BANYAN_QUORUM_TEXT, "%s%d", at_least, rule);
    return buffer;
}

int banyan_quorum_is_met(int rule, int count, int size, int has_lowest)
{
    if (rule != BANYAN_QUORUM_MAJORITY)
        return count >= rule;
    return 2 * count > size || (2 * count == size && has_lowest);
}

int banyan_quorum_is_exclusive(int rule, int size)
{
    return rule == BANYAN_QUORUM_MAJORITY || 2 * rule > size;
}

const char *banyan_quorum_explain(int rule, int count, int size, char *buffer, size_t bytes)
{
    char name[BANYAN_QUORUM_TEXT], wanted[48] = "more than half, or half with rank 0";

    if (rule != BANYAN_QUORUM_MAJORITY)
        snprintf(wanted, sizeof wanted, "%d", rule);
    snprintf(buffer, bytes,
             "%d of the last group's %d ranks %s left on this side, and BANYAN_SHRINK=%s asks for %s; to go "
             "on with fewer, "
             "set BANYAN_SHRINK or config.shrink to any or at_least:N on all ranks, which may let both sides "
             "of a cut "
             "network go on",
             count, size, count == 1 ? "is" : "are", banyan_quorum_format(rule, name), wanted);
    return buffer;
}
