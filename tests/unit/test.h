/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test.h: what every cmocka program needs, and the words that tests are written in. */
#ifndef BANYAN_TEST_H
#define BANYAN_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A test's name is a sentence about behaviour. */
#define TEST(name) static void name(void **state __attribute__((unused)))

/* The sentence holds the words; on failure both are shown. */
#define CHECK_SAYS(err, words)                                                                               \
    do {                                                                                                     \
        if (!strstr((err).text, (words)))                                                                    \
            fail_msg("'%s' does not say '%s'", (err).text, (words));                                         \
    } while (0)

#endif
