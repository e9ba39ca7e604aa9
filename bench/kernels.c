/* SPDX-License-Identifier: Apache-2.0 */
/* bench/kernels.c: how fast every kernel reduces, beside memcpy: GB/s of vector, in the cache (64 KiB) and
 * out of it (64 MiB), for each set of kernels that works here. A kernel reads two and writes one vector,
 * memcpy reads one and writes one: out of the cache two thirds of memcpy are as good as it gets. */
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "execute/kernels.h"

enum { MOST = 64 << 20 };

static double rate(banyan_kernel kernel, char *into, const char *from, size_t bytes, size_t width)
{
    double best = 0;

    for (int round = 0; round < 5; round++) {
        int calls = bytes < MOST ? 400 : 1;
        double begin_s = banyan_clock_s(), seconds;

        for (int i = 0; i < calls; i++)
            if (kernel)
                kernel(into, into, from, bytes / width);
            else
                memcpy(into, from, bytes);
        seconds = banyan_clock_s() - begin_s;
        if ((double)bytes * calls / seconds / 1e9 > best)
            best = (double)bytes * calls / seconds / 1e9;
    }
    return best;
}

static void print_row(const char *set, banyan_datatype type, char *into, const char *from)
{
    size_t width = banyan_datatype_bytes(type);

    printf("%-8s %-9s", set, banyan_datatype_string(type));
    for (int op = BANYAN_SUM; op <= BANYAN_MIN; op++)
        for (size_t bytes = 64 << 10; bytes <= MOST; bytes *= 1024) {
            int number = 0;

            while (strcmp(banyan_kernel_set_name(number), set) != 0)
                number++;
            printf(" %7.1f",
                   rate(banyan_kernel_find_in(number, type, (banyan_op)op), into, from, bytes, width));
        }
    printf("\n");
}

int main(void)
{
    char *into = banyan_alloc(MOST, 1), *from = banyan_alloc(MOST, 1);

    if (!into || !from)
        return 1;
    memset(from, 1, MOST);
    memset(into, 1, MOST);
    printf("# GB/s; memcpy: %.1f in the cache, %.1f in memory\n", rate(NULL, into, from, 64 << 10, 1),
           rate(NULL, into, from, MOST, 1));
    printf("# %-6s %-9s %15s %15s %15s %15s\n", "set", "type", "sum", "prod", "max", "min");
    for (int set = 0; set < banyan_kernel_set_count(); set++)
        for (int type = 0; type <= BANYAN_BFLOAT16 && banyan_kernel_set_works(set); type++)
            print_row(banyan_kernel_set_name(set), (banyan_datatype)type, into, from);
    banyan_free(into);
    banyan_free(from);
    return 0;
}
