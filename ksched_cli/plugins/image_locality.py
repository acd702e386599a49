"""Prefers nodes that have the pod's images already, weighed by size and by how many nodes do.

Upstream: plugins/imagelocality/image_locality.go.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import MAX_NODE_SCORE, Scope, ScorePlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.kube.quantity import MAX_INT64, MIN_INT64

MIB = 1024 * 1024
MIN_THRESHOLD = 23 * MIB
MAX_THRESHOLD_PER_CONTAINER = 1000 * MIB


class ImageLocality(ScorePlugin):
    name = "ImageLocality"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def cache_key(self, pod: PodInfo) -> Hashable:
        return tuple(one.image for one in (*pod.spec.init_containers, *pod.spec.containers))

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        containers = (*pod.spec.init_containers, *pod.spec.containers)
        known = nodes.snapshot.images
        found = [known.get(normalized_name(container.image)) for container in containers]
        if not any(found):
            return np.zeros(len(nodes), dtype=np.int64)
        total = len(nodes.snapshot)
        sums = np.zeros(total, dtype=np.int64)
        for image in found:
            if image is not None:
                sums[image.rows] += _whole(image.size * (len(image.rows) / total))
        highest = MAX_THRESHOLD_PER_CONTAINER * len(containers)
        clipped = np.clip(nodes.gather(sums), MIN_THRESHOLD, max(highest, MIN_THRESHOLD))
        return MAX_NODE_SCORE * (clipped - MIN_THRESHOLD) // (highest - MIN_THRESHOLD)


def _whole(amount: float) -> int:
    """As Go on amd64 makes an int64 of a float64: what is too large becomes the smallest number."""
    return int(amount) if amount < MAX_INT64 else MIN_INT64


def normalized_name(image: str) -> str:
    """With the tag `latest` where the name has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
