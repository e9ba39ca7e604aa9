/* SPDX-License-Identifier: Apache-2.0 */
/* examples/hello_async.c: an all-reduce while something else is done: banyan run -n 4 ./hello_async */
#include <banyan/banyan.h>
#include <stdio.h>

int main(void)
{
    banyan_comm *comm;
    banyan_request *request;
    float x = 1, harmonic = 0;

    if (banyan_comm_init_env(&comm, NULL) ||
        banyan_allreduce_async(&x, &x, 1, BANYAN_FLOAT32, BANYAN_SUM, comm, &request))
        return 1;
    for (int i = 1; i < 1000; i++) /* x must not be touched meanwhile */
        harmonic += 1 / (float)i;
    if (banyan_request_wait(request, -1))
        return 1;
    printf("there are %g of us, and 1 + 1/2 + 1/3 + ... became %.2f\n", (double)x, (double)harmonic);
    banyan_request_free(request);
    return (int)banyan_comm_destroy(comm);
}
