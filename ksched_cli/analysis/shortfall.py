"""How far nodes are from having room for a pod."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.snapshot import Snapshot


def shortfalls(snapshot: Snapshot, pod: PodInfo) -> NDArray[np.float64]:
    """Per row, of the resource that lacks most, what is missing as a share of what the pod
    requests; 0 where there is room. A node without a place for one more pod lacks 1."""
    full = snapshot.pod_count >= snapshot.allocatable(PODS)
    missing = full.astype(np.float64)
    for resource, amount in pod.resources.requests.items():
        if amount > 0:
            free = snapshot.allocatable(resource) - snapshot.requested(resource)
            np.maximum(missing, (amount - free) / amount, out=missing)
    return missing
