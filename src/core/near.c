/* SPDX-License-Identifier: Apache-2.0 */
/* core/near.c: optimal string alignment distance on short words. */
#include "core/near.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 64

static int lower(char c)
{
    return tolower((unsigned char)c);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

int banyan_near_distance(const char *a, const char *b)
{
    int row[3][LONGEST + 1];
    int n = (int)strlen(a), m = (int)strlen(b);

    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (int j = 0; j <= m; j++)
        row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int same = lower(a[i - 1]) == lower(b[j - 1]);

            now[j] = least(last[j - 1] + !same, 1 + least(last[j], now[j - 1]));
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

int banyan_near_find(const char *word, const char *const *names, int count)
{
    int best = -1, best_distance = 1 + (int)strlen(word) / 3;

    for (int i = 0; i < count; i++) {
        int distance = banyan_near_distance(word, names[i]);

        /* A word cut short ('hier' for 'hierarchical') counts as near. */
        if (strlen(word) >= 3 && !strncmp(word, names[i], strlen(word)))
            distance = 1;
        if (distance < best_distance || (distance == best_distance && best < 0)) {
            best_distance = distance;
            best = i;
        }
    }
    return best;
}
