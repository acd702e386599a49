"""Least attained service, as in Tiresias (NSDI 2019): jobs that had little of the GPUs go first."""

from ksched_cli.api import (
    SUCCESS,
    CycleState,
    Handle,
    NodeInfo,
    NodeStatuses,
    PodInfo,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreemptionTrial,
    QueuedPod,
    QueueSortPlugin,
    Status,
)

GPU, SHARE = "nvidia.com/gpu", 600.0  # GPU-seconds, after which a job is in the second queue


class LeastAttained(QueueSortPlugin, PostFilterPlugin, PostBindPlugin):
    """Two queues by arrival. A job of the first evicts the most served ones of the second."""

    name = "LeastAttained"

    def __init__(self, args: object, handle: Handle) -> None:
        super().__init__(args, handle)
        self.attained: dict[str, float] = {}  # by UID, until it was placed last
        self.placed: dict[str, float] = {}

    def service(self, pod: PodInfo) -> float:
        now = self.handle.clock.now
        running = pod.resources.requests.get(GPU, 0) * (now - self.placed.get(pod.uid, now))
        return self.attained.get(pod.uid, 0.0) + running

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        left, right = ((self.service(each.pod) >= SHARE, *each[1:]) for each in (first, second))
        return left < right

    def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        self.placed[pod.uid] = now = self.handle.clock.now
        gpus = pod.resources.requests.get(GPU, 1)
        self.handle.clock.wake(now + (SHARE - self.service(pod)) / gpus)  # others may evict it then

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        trial, snapshot = PreemptionTrial(self.handle, state, pod, filtered), self.handle.snapshot
        for node in trial.nodes if self.service(pod) < SHARE else ():
            running = (p for p in snapshot.pods[snapshot.row[node]] if p.uid in self.placed)
            served = sorted((p for p in running if self.service(p) >= SHARE), key=self.service)
            for count in range(1, len(served) + 1):
                if trial.status(node, without=(victims := served[-count:])).is_success:
                    for victim in victims:
                        self.attained[victim.uid] = self.service(victim)
                        del self.placed[victim.uid]
                    return PostFilterResult(node, tuple(victims)), SUCCESS
        return None, Status.unschedulable("no job had enough service to be evicted")
