/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap/quorum.h: how many ranks of the last group must be left for a new one to go on (BANYAN_SHRINK).
 *
 * After a cut each side sees the other as lost. Two sides that both hold more than half of the last group
 * would share a rank, and so would two that hold half of it and its lowest rank: of these at most one can be
 * there. A rule that asks for less lets both sides go on. */
#ifndef BANYAN_BOOTSTRAP_QUORUM_H
#define BANYAN_BOOTSTRAP_QUORUM_H

#include "core/status.h"

#define BANYAN_QUORUM_MAJORITY 0 /* otherwise the number of ranks that is asked for; 'any' is 1 */
#define BANYAN_QUORUM_TEXT 24

/* "majority", "any" or "at_least:N". */
banyan_status banyan_quorum_parse(const char *text, int *rule, banyan_error *err);
const char *banyan_quorum_format(int rule, char buffer[BANYAN_QUORUM_TEXT]);

/* Whether count of the last group's size ranks may go on; has_lowest: rank 0 of it is among them. */
int banyan_quorum_is_met(int rule, int count, int size, int has_lowest);

/* Whether any two sides that meet the rule share a rank. */
int banyan_quorum_is_exclusive(int rule, int size);

/* How many are left, what the rule asks for, and how to choose otherwise: "2 of the last group's 7 ranks are
 * left on this side, and BANYAN_SHRINK=majority asks for more than half, ..."; into the buffer. */
const char *banyan_quorum_explain(int rule, int count, int size, char *buffer, size_t bytes);

#endif
