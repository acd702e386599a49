"""Scales raw scores to 0 to 100 by the highest of them.

Upstream: plugins/helper/normalize_score.go (DefaultNormalizeScore).
"""

from __future__ import annotations

import numpy as np

from ksched_cli.framework.interface import MAX_NODE_SCORE
from ksched_cli.framework.results import Scores
from ksched_cli.kube.int64 import divide


def default_normalize_score(scores: Scores, *, reverse: bool = False) -> Scores:
    """reverse: the highest raw score becomes 0. Scores that are all negative stay as they are."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full(len(scores), MAX_NODE_SCORE, dtype=np.int64) if reverse else scores
    scaled = scores * MAX_NODE_SCORE
    # Negative weights, which no API server accepts, are divided as Go divides: towards zero.
    scaled = divide(scaled, highest) if scores.item(scores.argmin()) < 0 else scaled // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
