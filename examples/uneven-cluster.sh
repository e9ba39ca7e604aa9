#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a real uneven cluster can do: three hosts of different size and speed and one old machine, in two racks.
set -eu
cluster=$(dirname "$0")/uneven-cluster.json
banyan topo check "$cluster"
banyan bound "$cluster"
banyan compare "$cluster" --bytes 64MiB
banyan plan "$cluster" --bytes 64MiB -o plan.json
banyan verify plan.json --topo "$cluster"
