"""The order in which a controller removes the pods of a workload that is scaled down.

Upstream: pkg/controller/controller_utils.go (ActivePodsWithRanks), replicaset/replica_set.go
(getPodsToDelete); stateful sets lose their highest ordinals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from math import log2

import msgspec

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.kube.selectors import parse_int64
from ksched_cli.kube.time import parse_time
from ksched_cli.scenario.pod_passes import newest_timestamp, select_by_id
from ksched_cli.scenario.pods import is_ready
from ksched_cli.scenario.targets import Workload

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_HEARTBEAT = re.compile(rb'"lastHeartbeatTime"\s*:\s*"([^"]+)"')


class _ContainerStatus(msgspec.Struct, rename="camel"):
    name: str = ""
    restart_count: int = 0


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = ""


class _Status(msgspec.Struct, rename="camel"):
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None


class _WithStatus(msgspec.Struct):
    status: _Status | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The values of a pod that the ranking reads.

    precedence:  criteria of which the lower goes first
    ready_since: "" where that is not known, or it is not ready
    restarts:    the most of any container, of any sidecar; the higher goes first
    """

    pod: Pod
    precedence: tuple[int, ...]
    ready_since: str
    restarts: tuple[int, int]


def removal_order(state: ClusterState, workload: Workload) -> list[Pod]:
    """The workload's pods, the first to go first."""
    if workload.kind == "StatefulSet":
        return sorted(workload.pods, key=lambda pod: -_ordinal(pod))
    neighbours = Counter(pod.node_name for pod in workload.pods)
    # Among pods that the ranking takes as equal, the last in the state goes first, as newest.
    pods = select_by_id(state.pods, {id(pod) for pod in workload.pods})
    candidates = [_candidate(pod, neighbours) for pod in reversed(pods)]
    ages = _Ages(time_of(state))
    candidates.sort(key=cmp_to_key(ages.compare))
    return [candidate.pod for candidate in candidates]


def _candidate(pod: Pod, neighbours: Counter[str]) -> _Candidate:
    status = _Status()
    if bytes(pod.raw) and pod.status is not PENDING_AGAIN:
        status = typed_json(pod.raw, _WithStatus).status or status
    ready = is_ready(pod)
    precedence = (
        int(bool(pod.node_name)),
        _PHASES.get(pod.status.phase, 0),
        int(ready),
        _deletion_cost(pod),
        -neighbours[pod.node_name],
    )
    times = [_time(c.last_transition_time) for c in status.conditions or () if c.type == "Ready"]
    sidecars = {container.name for container in pod.spec.init_containers if container.is_sidecar}
    sidecar_statuses = [s for s in status.init_container_statuses or () if s.name in sidecars]
    restarts = (
        max((s.restart_count for s in status.container_statuses or ()), default=0),
        max((s.restart_count for s in sidecar_statuses), default=0),
    )
    return _Candidate(pod, precedence, times[0] if times and ready else "", restarts)


@dataclass(frozen=True, slots=True)
class _Ages:
    """Compares candidates. now: when the pods are removed, as RFC 3339; "" where it is not known"""

    now: str

    def compare(self, a: _Candidate, b: _Candidate) -> int:
        """Below zero where `a` goes first. Upstream: ActivePodsWithRanks.Less."""
        if a.precedence != b.precedence:
            return -1 if a.precedence < b.precedence else 1
        if is_ready(a.pod) and a.ready_since != b.ready_since:
            return self._younger_first(a, b, a.ready_since, b.ready_since)
        if a.restarts != b.restarts:
            return -1 if a.restarts > b.restarts else 1
        created = a.pod.metadata.creation_timestamp, b.pod.metadata.creation_timestamp
        return 0 if created[0] == created[1] else self._younger_first(a, b, *created)

    def _younger_first(self, a: _Candidate, b: _Candidate, since: str, other: str) -> int:
        """By the logarithm of their ages; where that is the same, the lower uid goes first."""
        if not since or not other:
            return -1 if not since else 1
        difference = self._log_age(since) - self._log_age(other)
        return difference or (-1 if a.pod.uid < b.pod.uid else 1)

    def _log_age(self, since: str) -> int:
        """Upstream: logarithmicRankDiff, which takes nanoseconds."""
        if not self.now:
            return 0
        age = parse_time(self.now) - parse_time(since)
        seconds = age.total_seconds()
        return int(log2(seconds * 1e9)) if seconds > 0 else -1


def time_of(state: ClusterState) -> str:
    """When the state was read, as far as it shows: the latest heartbeat of a node or creation of a
    pod."""
    return max(newest_timestamp(state.pods), *_heartbeats(bytes(node.raw) for node in state.nodes))


def _heartbeats(texts: Iterable[bytes]) -> Iterable[str]:
    """At least one, which may be ""."""
    yield ""
    for text in texts:
        for heartbeat in _HEARTBEAT.findall(text):
            yield _time(heartbeat.decode())


def _time(text: str | None) -> str:
    """The text, "" where it is not a time."""
    try:
        parse_time(text or "")
    except ValueError:
        return ""
    return text or ""


def _deletion_cost(pod: Pod) -> int:
    """0 where the annotation is no number."""
    try:
        return int(pod.metadata.annotations.get(_DELETION_COST, "0"))
    except ValueError:
        return 0


def _ordinal(pod: Pod) -> int:
    end = pod.name.rpartition("-")[2]
    number = parse_int64(end)
    return -1 if number is None else number
