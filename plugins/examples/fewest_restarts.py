"""A preemption policy: evict as few pods as possible, whatever their priority below the pod's."""

from collections.abc import Iterator
from heapq import nlargest

from ksched_cli import api
from ksched_cli.api import SUCCESS, PodInfo, PostFilterResult, PreemptionTrial, Status


class FewestRestarts(api.PostFilterPlugin):
    """Tries single victims on all nodes, then sets of two, and so on, until Filter accepts some.
    Only sets that free the amounts that the node lacks are tried."""

    name = "FewestRestarts"

    def post_filter(
        self, state: api.CycleState, pod: PodInfo, filtered: api.NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        trial = PreemptionTrial(self.handle, state, pod, filtered)
        if trial.ineligible:
            return None, Status.unschedulable(trial.ineligible)
        nodes = []
        for node in trial.nodes:
            lower = sorted(trial.lower(node), key=lambda other: other.priority)
            if lower and trial.status(node, without=lower).is_success:
                nodes.append((node, lower, self._lacking(pod, node)))
        for size in range(1, 1 + max((len(lower) for _, lower, _ in nodes), default=0)):
            candidates = []
            for node, lower, lacking in nodes:
                for victims in sets(lower, lacking, size):
                    if trial.status(node, without=victims).is_success:
                        candidates.append((len(trial.violated_budgets(victims)), node, victims))
                        break
            if candidates:
                _, node, victims = min(candidates, key=lambda candidate: candidate[:2])
                return PostFilterResult(node, victims), SUCCESS
        return PostFilterResult(""), Status.unschedulable("no evictions help")

    def _lacking(self, pod: PodInfo, node: str) -> dict[str, int]:
        """By resource, the amount by which the pod's request exceeds the free capacity."""
        snapshot, row = self.handle.snapshot, self.handle.snapshot.row[node]
        amounts = {name: amount for name, amount in pod.resources.requests.items() if amount}
        free = {n: snapshot.allocatable(n)[row] - snapshot.requested(n)[row] for n in amounts}
        return {name: amount - int(free[name]) for name, amount in amounts.items()}


def sets(pods: list[PodInfo], lacking: dict[str, int], size: int) -> Iterator[tuple[PodInfo, ...]]:
    """The sets of `size` pods that request the lacking amounts, in the order of the pods."""
    requests = {name: [pod.resources.requests.get(name, 0) for pod in pods] for name in lacking}
    if any(sum(nlargest(size, requests[name])) < lacking[name] for name in lacking):
        return
    if not size:
        yield ()
    for place, pod in enumerate(pods if size else ()):
        rest = {name: amount - requests[name][place] for name, amount in lacking.items()}
        yield from ((pod, *others) for others in sets(pods[place + 1 :], rest, size - 1))
