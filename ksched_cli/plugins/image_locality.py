"""Prefers nodes that already have the pod's images, by size and by the share of nodes with them.

Upstream: plugins/imagelocality/image_locality.go.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import MAX_NODE_SCORE, Scope, ScorePlugin, SignPlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.kube.int64 import MAX_INT64, MIN_INT64
from ksched_cli.plugins.helper import Fragments

MIB = 1024 * 1024
MIN_THRESHOLD = 23 * MIB
MAX_THRESHOLD_PER_IMAGE = 1000 * MIB


class ImageLocality(ScorePlugin, SignPlugin):
    name = "ImageLocality"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        rules = handle.release.rules
        self._image_names = _with_volumes if rules.counts_image_volumes else _of_containers
        self._counted = (
            self._image_names if rules.threshold_counts_image_volumes else _of_containers
        )

    def cache_key(self, pod: PodInfo) -> Hashable:
        return self._image_names(pod)

    def sign_pod(self, pod: PodInfo) -> Fragments:
        """Sign the images of containers. Upstream does not sign the images of volumes, though they
        count."""
        names = set(map(normalized_image_name, _of_containers(pod)))
        return {"imageNames": tuple(sorted(names))}

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        by_name = nodes.snapshot.images
        images = [by_name.get(normalized_image_name(name)) for name in self._image_names(pod)]
        if not any(images):
            return np.zeros(len(nodes), dtype=np.int64)
        total = len(nodes.snapshot)
        sums = np.zeros(total, dtype=np.int64)
        for image in images:
            if image is not None:
                # As Go converts a float64 on amd64, a value too large becomes the smallest int64.
                share = image.size * (len(image.rows) / total)
                sums[image.rows] += int(share) if share < MAX_INT64 else MIN_INT64
        return image_scores(nodes.gather(sums), len(self._counted(pod)))


def image_scores(sums: Scores, count: int) -> Scores:
    """Return a score from 0 to 100 per node.

    sums: of images' sizes in bytes, each by the share of nodes that have the image
    count: of the pod's images
    """
    max_threshold = MAX_THRESHOLD_PER_IMAGE * count
    clipped = np.clip(sums, MIN_THRESHOLD, max(max_threshold, MIN_THRESHOLD))
    return MAX_NODE_SCORE * (clipped - MIN_THRESHOLD) // (max_threshold - MIN_THRESHOLD)


def _of_containers(pod: PodInfo) -> tuple[str, ...]:
    return tuple(container.image for container in (*pod.spec.init_containers, *pod.spec.containers))


def _with_volumes(pod: PodInfo) -> tuple[str, ...]:
    volumes = (volume.image.reference for volume in pod.spec.volumes if volume.image is not None)
    return (*_of_containers(pod), *volumes)


def normalized_image_name(image: str) -> str:
    """Return the name, with the tag `latest` where it has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
