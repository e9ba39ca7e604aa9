#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A job for Slurm: sbatch slurm.sh. The ranks find each other through what srun tells them; no address is needed.
#SBATCH --job-name=banyan
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:10:00

# One secret for the job that nobody else on the cluster knows.
export BANYAN_SECRET=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')

# Shared memory within a host, and between hosts: ucx for InfiniBand and RoCE, mpi for the site's own MPI, tcp for all else.
export BANYAN_TRANSPORT=${BANYAN_TRANSPORT:-shm+ucx}

srun --mpi=pmix banyan bench -b 1K -e 64M -f 8
