/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of <sinew/sinew.h> check by. */
#ifndef SINEW_TESTS_C_API_CHECK_H
#define SINEW_TESTS_C_API_CHECK_H

#include <sinew/sinew.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static int rank = 0, size = 1;

static void check(int holds, char const* what, char const* file, int line) {
    if (holds) return;
    ++failures;
    fprintf(stderr, "%s:%d: rank %d of %d: %s (last error: %s)\n", file, line, rank, size, what,
            sinew_last_error());
}
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
#define OK(call) check((call) == SINEW_OK, #call, __FILE__, __LINE__)
#define FAILS(status, words, call)                                                        \
    do {                                                                                  \
        check((call) == (status), #call " gives " #status, __FILE__, __LINE__);           \
        check(strstr(sinew_last_error(), words) != NULL, "the text has " words, __FILE__, \
              __LINE__);                                                                  \
    } while (0)

enum { most_ranks = 8 };

static inline int sum_of_ranks(void) { return size * (size - 1) / 2; }

#endif
