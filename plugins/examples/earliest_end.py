"""Jobs go to the type of GPU on which they would end first, those with the most work first. Gavel
(OSDI 2020) lets jobs share the types over time for a short makespan; here, a job stays."""

import json

import numpy as np

from ksched_cli.api import (
    CycleState,
    FilterPlugin,
    Handle,
    Nodes,
    PodInfo,
    QueuedPod,
    QueueSortPlugin,
    Status,
    Verdicts,
)

LABEL, GPU, RUN_TIMES = "gpu", "nvidia.com/gpu", "ksched/run-times"
LATER = Status.unschedulable("node(s) had a type of GPU on which the job would end later")


class EarliestEnd(QueueSortPlugin, FilterPlugin):
    name = "EarliestEnd"

    def __init__(self, args: object, handle: Handle) -> None:
        super().__init__(args, handle)
        self.aware = args != {"aware": False}  # that run times depend on the type
        nodes, gpus = handle.snapshot.nodes, handle.snapshot.allocatable(GPU)
        self.types = np.array([node.metadata.labels.get(LABEL, "") for node in nodes])
        # By type, when each of its GPUs is free again, in seconds since 1970.
        self.free = {kind: np.zeros(gpus[self.types == kind].sum()) for kind in set(self.types)}
        self.times: dict[str, dict[str, float]] = {}  # by the pod's UID and the type
        self.chosen: dict[str, str] = {}

    def run_times(self, pod: PodInfo) -> dict[str, float]:
        if pod.uid not in self.times:
            times = json.loads(pod.pod.metadata.annotations.get(RUN_TIMES, "{}"))
            own = {kind: times[kind] for kind in times if len(self.free.get(kind, ()))}
            average = sum(own.values()) / max(len(own), 1)
            self.times[pod.uid] = own if self.aware else dict.fromkeys(own, average)
        return self.times[pod.uid]

    def work(self, pod: PodInfo) -> float:
        return pod.resources.requests.get(GPU, 0) * min(self.run_times(pod).values(), default=0.0)

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        return (-self.work(first.pod), *first[1:]) < (-self.work(second.pod), *second[1:])

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        if pod.uid not in self.chosen and (times := self.run_times(pod)):
            gpus, now = pod.resources.requests.get(GPU, 1), self.handle.clock.now
            free = {kind: np.sort(self.free[kind]) for kind in times}
            ends = {kind: max(free[kind][:gpus][-1], now) + times[kind] for kind in times}
            kind = self.chosen[pod.uid] = min(ends, key=ends.__getitem__)
            free[kind][:gpus], self.free[kind] = ends[kind], free[kind]
        kind = self.chosen.get(pod.uid, "")
        return Verdicts.rejecting(nodes.gather(self.types != kind) & bool(kind), LATER)
