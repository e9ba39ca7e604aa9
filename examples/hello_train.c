/* SPDX-License-Identifier: Apache-2.0 */
/* examples/hello_train.c: one number is learned from all ranks' own: banyan run -n 4 ./hello_train */
#include <banyan/banyan.h>
#include <stdio.h>

int main(void)
{
    banyan_train_config config = BANYAN_TRAIN_CONFIG_INITIALIZER;
    banyan_comm *comm;
    banyan_train *train;
    float weight = 0, gradient;
    int rank;

    config.measure_ms = 50; /* one gradient leaves little to plan */
    if (banyan_comm_init_env(&comm, NULL) || banyan_comm_rank(comm, &rank) ||
        banyan_train_create(&train, comm, &config) ||
        banyan_train_register(train, "weight", &gradient, 1, BANYAN_FLOAT32, NULL) ||
        banyan_train_commit(train))
        return 1;
    for (int step = 0; step < 50; step++) {
        gradient = weight - (float)rank; /* backward: each rank pulls towards its own number */
        if (banyan_train_ready(train, 0, NULL) || banyan_train_wait_all(train))
            return 1;
        weight -= 0.5f * gradient; /* the average of all ranks' by now */
    }
    printf("rank %d has learned %.3f\n", rank, (double)weight);
    banyan_train_destroy(train);
    return (int)banyan_comm_destroy(comm);
}
