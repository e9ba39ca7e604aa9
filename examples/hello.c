/* SPDX-License-Identifier: Apache-2.0 */
/* examples/hello.c: the shortest all-reduce. Ranks are processes: banyan run -n 4 ./hello (or mpirun, srun,
 * torchrun). */
#include <banyan/banyan.h>
#include <stdio.h>

int main(void)
{
    banyan_comm *comm;
    float x = 1;

    if (banyan_comm_init_env(&comm, NULL) || banyan_allreduce(&x, &x, 1, BANYAN_FLOAT32, BANYAN_SUM, comm))
        return 1;
    printf("there are %g of us\n", (double)x);
    return (int)banyan_comm_destroy(comm);
}
