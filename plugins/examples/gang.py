"""Gangs: all pods of one label are bound together, or no pod is."""

from collections.abc import Iterator

from ksched_cli.api import (
    SUCCESS,
    Code,
    CycleState,
    NodeInfo,
    PermitPlugin,
    PodInfo,
    ReservePlugin,
    Status,
    WaitingPod,
)

GANG, SIZE = "example.com/gang", "example.com/gang-size"
SECONDS = 60


class Gang(PermitPlugin, ReservePlugin):
    name = "Gang"

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        if GANG not in pod.labels:
            return SUCCESS, 0
        others = [*self._waiting(pod)]
        if len(others) + 1 < int(pod.labels[SIZE]):
            return Status(Code.WAIT), SECONDS
        for other in others:
            other.allow(self.name)
        return SUCCESS, 0

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """The pod is not bound after all, so reject the others."""
        for other in self._waiting(pod):
            other.reject(self.name, f"{pod.key} of the same gang was not bound")

    def _waiting(self, pod: PodInfo) -> Iterator[WaitingPod]:
        """The other pods of the gang that wait."""
        for other in self.handle.waiting:
            gang = other.pod.labels.get(GANG)
            if gang is not None and gang == pod.labels.get(GANG) and other.pod.uid != pod.uid:
                yield other
