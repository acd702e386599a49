"""The nodes that pods are nominated to, as kube-scheduler keeps them.

A nomination is in memory at once, and written to the pod's status while the next pods are tried. A
later notice of the pod replaces what is in memory, even if that is newer by now. A nomination that
a more important preemptor clears lapses only when that is noticed.

Upstream: pkg/scheduler/backend/queue/nominator.go (AddNominatedPod, UpdateNominatedPod) and
pkg/scheduler/framework/api_calls/pod_status_patch.go.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.nominator import Nominator


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of a pod's status. node: the nominated one, "" for none, None for no change.
    message: of the refusal, None for no change"""

    node: str | None
    message: str | None

    def over(self, earlier: Patch) -> Patch:
        """Return both combined; this one comes later."""
        return Patch(
            earlier.node if self.node is None else self.node,
            earlier.message if self.message is None else self.message,
        )

    def changes(self, status: Patch) -> bool:
        return self.over(status) != status

    def without(self, status: Patch) -> Patch:
        """Return the part of it that differs from the status."""
        return Patch(
            None if self.node == status.node else self.node,
            None if self.message == status.message else self.message,
        )


@dataclass(slots=True)
class PodStatusCalls:
    """noticed: the status as the scheduler knows it; written: as the API server returns it; coming:
    what was written and is not yet noticed; waiting: what is to be written"""

    noticed: Patch
    written: Patch
    coming: deque[Patch] = field(default_factory=deque)
    waiting: Patch | None = None

    def enqueue(self, patch: Patch) -> None:
        """Later changes come on top of earlier ones; what changes nothing is dropped."""
        merged = patch.over(self.waiting) if self.waiting is not None else patch
        self.waiting = merged if self.coming or merged.changes(self.noticed) else None

    def write(self) -> None:
        """Write only what differs from the status as the scheduler knows it."""
        if self.waiting is None:
            return
        written = self.waiting.without(self.noticed).over(self.written)
        self.waiting = None
        if written != self.written:
            self.written = written
            self.coming.append(written)

    def notice(self) -> None:
        self.noticed = self.coming.popleft()
        if self.waiting is not None and not self.coming and not self.waiting.changes(self.noticed):
            self.waiting = None


class Nominations:
    """Follows the pods' statuses in a log.

    nominator: of the simulation as it is now
    follows_statuses: whether the log tells when statuses are written and noticed; else nothing
                      comes between
    have_changed: whether a pod has lost a nomination, or got another, without being placed
    """

    def __init__(self, nominator: Nominator, *, follows_statuses: bool = True) -> None:
        self.have_changed, self.follows_statuses = False, follows_statuses
        self.nominator = nominator
        self._calls: dict[str, PodStatusCalls] = {}

    def _calls_of(self, pod: PodInfo) -> PodStatusCalls:
        calls = self._calls.get(pod.uid)
        if calls is None:
            status = Patch(self.nominator.node_of(pod), "")
            calls = self._calls[pod.uid] = PodStatusCalls(status, status)
        return calls

    def refuse(self, pod: PodInfo, node: str | None, message: str) -> None:
        """An attempt ended. node: the nominated one, "" for none, None to leave the status as it
        is: what is in memory becomes what was noticed."""
        calls = self._calls_of(pod)
        self._nominate(pod, (calls.noticed.node if node is None else node) or "")
        calls.enqueue(Patch(node, message))

    def begin(self, pod: PodInfo) -> None:
        """An attempt begins: the pod's own nomination is the one in its status."""
        if self.follows_statuses:
            self._nominate(pod, self._calls_of(pod).noticed.node or "")

    def take_back(self, pod: PodInfo) -> None:
        """A more important pod is nominated to the node."""
        calls = self._calls_of(pod)
        is_waiting = calls.waiting is not None
        calls.enqueue(Patch("", None))
        if not is_waiting:
            calls.write()
        if not self.follows_statuses:
            self.notice(pod)

    def write(self, pod: PodInfo) -> None:
        """Write what waits to be written."""
        self._calls_of(pod).write()

    def notice(self, pod: PodInfo) -> None:
        """Notice a status. The scheduler learns of earlier writes first."""
        calls = self._calls_of(pod)
        if not calls.coming:
            return
        earlier = calls.noticed.node
        calls.notice()
        if earlier or calls.noticed.node:
            self._nominate(pod, calls.noticed.node or "")

    @contextmanager
    def noticed_ahead(self, pods: Sequence[PodInfo]) -> Iterator[None]:
        """Nominations are meanwhile as they will be once these have been noticed."""
        nominator, counts = self.nominator, Counter[str]()
        before = {pod.uid: (pod, nominator.node_of(pod)) for pod in pods}
        for pod in pods:
            coming = self._calls_of(pod).coming
            if counts[pod.uid] < len(coming):
                nominator.renew(pod, coming[counts[pod.uid]].node or "")
            counts[pod.uid] += 1
        try:
            yield
        finally:
            for pod, node in before.values():
                nominator.renew(pod, node)

    def _nominate(self, pod: PodInfo, node: str) -> None:
        if self.nominator.node_of(pod) not in ("", node):
            self.have_changed = True
        self.nominator.renew(pod, node)
