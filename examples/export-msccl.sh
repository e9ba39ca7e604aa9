#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A plan for one machine with eight GPUs as MSCCL XML, for runtimes that read it (MSCCL, RCCL), and the proof that
# what was written is still an all-reduce.
set -eu
banyan plan dgx1 --algo forest --bytes 64MiB --format msccl -o allreduce.xml
banyan verify allreduce.xml
