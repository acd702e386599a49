"""What a state's objects ask of feature gates that are on in a release and that ksched
does not implement: warnings, for the decision may differ from kube-scheduler's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.versions import Release


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """gate: the feature gate; subject: what asks for it, in words."""

    gate: str
    subject: str
    is_used: Callable[[ClusterState], bool]


def unfollowed_gates(state: ClusterState, release: Release) -> list[str]:
    """A line per gate that is on and that the state needs."""
    return [
        f"{item.subject}: ksched does not implement {item.gate}, which Kubernetes {release.minor}"
        " has on; what is decided about them may differ"
        for item in _UNFOLLOWED
        if release.enabled(item.gate) and item.is_used(state)
    ]


_UNFOLLOWED = (
    Unfollowed(
        "InPlacePodLevelResourcesVerticalScaling",
        "pods whose status has resources of the pod as a whole",
        lambda state: any(
            pod.status.resources is not None and pod.spec.resources is not None
            for pod in state.pods
        ),
    ),
)
