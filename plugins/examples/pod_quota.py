"""Objects of a custom kind: a PodQuota says how many pods of its namespace may run."""

from collections.abc import Callable, Sequence

from ksched_cli.api import (
    SUCCESS,
    Action,
    ClusterEvent,
    CycleState,
    Nodes,
    PodInfo,
    PreFilterPlugin,
    PreFilterResult,
    Status,
)

KIND = "PodQuota.example.com"


class PodQuota(PreFilterPlugin):
    name = "PodQuota"
    reads = (KIND,)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        running = sum(
            other.namespace == pod.namespace
            for others in self.handle.snapshot.pods
            for other in others
        )
        for quota in self.handle.cluster.others.get(KIND, ()):
            if quota["metadata"]["namespace"] == pod.namespace and running >= quota["spec"]["pods"]:
                return None, Status.unresolvable(f"the namespace has {running} pods already")
        return None, SUCCESS

    def events_to_register(self) -> Sequence[tuple[ClusterEvent, Callable[..., bool] | None]]:
        """The events that may let a pod fit that this plugin rejected."""
        return (
            (ClusterEvent(KIND, Action.ADD | Action.UPDATE | Action.DELETE), None),
            (ClusterEvent("AssignedPod", Action.DELETE), self._leaves_namespace),
        )

    def _leaves_namespace(self, pod: PodInfo, before: PodInfo, after: None) -> bool:
        return before.namespace == pod.namespace
