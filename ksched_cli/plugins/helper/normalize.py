"""Brings raw scores into 0 to 100 by the highest of them.

Upstream: plugins/helper/normalize_score.go (DefaultNormalizeScore).
"""

from __future__ import annotations

import numpy as np

from ksched_cli.framework.interface import MAX_NODE_SCORE
from ksched_cli.framework.results import Scores
from ksched_cli.kube.int64 import divide


def by_highest(scores: Scores, *, reverse: bool = False) -> Scores:
    """reverse: the highest raw score gets 0. Scores that are all negative are left as they are."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full(len(scores), MAX_NODE_SCORE, dtype=np.int64) if reverse else scores
    scaled = scores * MAX_NODE_SCORE
    # A weight that no API server would let pass may be negative.
    scaled = divide(scaled, highest) if scores.item(scores.argmin()) < 0 else scaled // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
