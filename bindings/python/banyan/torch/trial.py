# SPDX-License-Identifier: Apache-2.0
"""Whether a plan is worth it: the plan and DDP's own buckets take turns, and whole iterations are timed.

    plan, buckets | buckets, plan | plan, buckets | buckets, plan | plan, buckets

The plan stays if it was faster in every pair of turns. Where both are equally fast that happens in one trial of 32; otherwise
the buckets stay, which cost nothing. Their order alternates, so that a machine that becomes slower favours neither.
"""

import dataclasses
import statistics

_PAIRS = 5
_COUNTED = 3  # iterations per turn; their median counts, so a pause between two of them does not
_TURN = 1 + _COUNTED  # the first sends on connections that have been idle


@dataclasses.dataclass
class Verdict:
    """Seconds per iteration, the medians of the turns."""

    plan_s: float
    buckets_s: float
    is_plan_faster: bool  # in every pair of turns

    def __str__(self):
        how = "faster" if self.is_plan_faster else "not always faster"
        return f"{self.plan_s:.4f} s per iteration with the plan, {self.buckets_s:.4f} s with DDP's buckets: the plan is {how}"


class Trial:
    def __init__(self):
        self.times = []  # seconds of the iterations so far

    @property
    def is_over(self):
        return len(self.times) == 2 * _PAIRS * _TURN

    @property
    def takes_buckets(self):
        """In the next iteration."""
        pair, second = divmod(len(self.times) // _TURN, 2)
        return (pair + second) % 2 == 1


def judge(times):
    """Of the times of a whole trial."""
    turns = [statistics.median(times[at + 1 : at + _TURN]) for at in range(0, len(times), _TURN)]
    plan, buckets = [], []
    for pair in range(_PAIRS):
        first, second = turns[2 * pair : 2 * pair + 2]
        plan.append(second if pair % 2 else first)
        buckets.append(first if pair % 2 else second)
    return Verdict(
        statistics.median(plan), statistics.median(buckets), all(ours < theirs for ours, theirs in zip(plan, buckets))
    )
