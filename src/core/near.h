/* SPDX-License-Identifier: Apache-2.0 */
/* core/near.h: the name a user probably meant. */
#ifndef BANYAN_CORE_NEAR_H
#define BANYAN_CORE_NEAR_H

/* Edits (insert, delete, replace, swap of neighbours) from one word to the other, case ignored. */
int banyan_near_distance(const char *a, const char *b);

/* Index of the nearest of count names, or -1 where none is near enough to be worth a hint. */
int banyan_near_find(const char *word, const char *const *names, int count);

#endif
