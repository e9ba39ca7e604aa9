# SPDX-License-Identifier: Apache-2.0
"""Plans an all-reduce, compares it with the bound, and counts in NumPy what each worker sends.

python3 plan.py [NETWORK]
"""
import sys

import banyan
import numpy

network = banyan.Topology(sys.argv[1] if len(sys.argv) > 1 else "hosts:2+3")
plan = banyan.plan(network, bytes=64 << 20)
best = banyan.bound(network).allreduce_bytes_per_s
share_of_bound = plan.bytes_per_s / best
print(f"{network.name}: {plan.algorithm} takes {plan.predicted_s * 1e3:.1f} ms, {share_of_bound:.1%} of the bound")

transfers, cut = plan.schedule.transfers, plan.schedule.cut
last = transfers["first_piece"] + transfers["piece_count"]
share = (cut[last] - cut[transfers["first_piece"]]) / cut[-1]
sent = numpy.bincount(transfers["src"], share, network.node_count)
for node, name in enumerate(network.node_names):
    if not network.nodes["is_switch"][node]:
        print(f"  {name} sends {sent[node]:.2f} vectors")
assert plan.schedule.verify(network)
