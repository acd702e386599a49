"""Which pods need something that is not simulated yet."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.cluster.pod_info import PodInfo


def missed_by(pods: Iterable[PodInfo]) -> dict[str, int]:
    """Plugin name → how many of the pods would need it."""
    missed: dict[str, int] = {}
    for pod in pods:
        for plugin in needed_by(pod):
            missed[plugin] = missed.get(plugin, 0) + 1
    return missed


def needed_by(pod: PodInfo) -> list[str]:
    """The plugins without simulation that would have a say about the pod."""
    return ["DynamicResources"] if pod.spec.resource_claims else []
