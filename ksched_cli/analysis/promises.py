"""The nodes that are promised to pods, as kube-scheduler keeps them.

A promise is in memory at once, and written to the pod's status while the next pods are attempted.
What the scheduler then notices of the pod takes the place of what is in memory, though that may be
newer by now; and a promise that a more important preemptor takes back lapses only when that is
noticed.

Upstream: pkg/scheduler/backend/queue/nominator.go (AddNominatedPod, UpdateNominatedPod) and
pkg/scheduler/framework/api_calls/pod_status_patch.go.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.nominator import Nominator


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of a pod's status. node: the promised one, "" for none, None for no change.
    message: of the refusal, None for no change"""

    node: str | None
    message: str | None


@dataclass(slots=True)
class PodStatusCalls:
    """noticed: the promised node in the status as the scheduler knows it. waiting: what is to be
    written. written: what has been written last. coming: the nodes written and not yet noticed"""

    noticed: str = ""
    waiting: Patch | None = None
    written: Patch = Patch("", "")
    coming: deque[str] = field(default_factory=deque)


class Promises:
    """Follows what a log tells of the pods' statuses.

    have_changed: whether a pod has lost a promise, or got another, without being placed
    """

    def __init__(self, nominator: Nominator) -> None:
        self.have_changed = False
        self._nominator = nominator
        self._calls: dict[str, PodStatusCalls] = {}

    def _calls_of(self, pod: PodInfo) -> PodStatusCalls:
        calls = self._calls.get(pod.uid)
        if calls is None:
            node = self._nominator.node_of(pod)
            calls = self._calls[pod.uid] = PodStatusCalls(node, None, Patch(node, ""))
        return calls

    def refuse(self, pod: PodInfo, node: str | None, message: str) -> None:
        """An attempt ended. node: the one promised, "" for none, None to leave the status as it is:
        what is in memory becomes what was noticed."""
        calls = self._calls_of(pod)
        self._promise(pod, calls.noticed if node is None else node)
        patch = Patch(node, message)
        if node in (None, calls.noticed) and message == calls.written.message:
            return
        calls.waiting = _merged(calls.waiting, patch)

    def begin(self, pod: PodInfo) -> None:
        """An attempt begins: the pod's own promise is the one in its status."""
        self._promise(pod, self._calls_of(pod).noticed)

    def take_back(self, pod: PodInfo) -> None:
        """A more important pod is promised the node."""
        calls = self._calls_of(pod)
        is_waiting = calls.waiting is not None
        calls.waiting = _merged(calls.waiting, Patch("", None))
        if not is_waiting:
            self.write(pod)

    def write(self, pod: PodInfo) -> None:
        """What waits to be written is written."""
        calls = self._calls_of(pod)
        if calls.waiting is None:
            return
        written = _merged(calls.written, calls.waiting)
        calls.waiting = None
        if written != calls.written:
            calls.written = written
            calls.coming.append(written.node or "")

    def notice(self, pod: PodInfo) -> None:
        """The scheduler is told of what was written first."""
        calls = self._calls_of(pod)
        if not calls.coming:
            return
        earlier, calls.noticed = calls.noticed, calls.coming.popleft()
        if earlier or calls.noticed:
            self._promise(pod, calls.noticed)

    def _promise(self, pod: PodInfo, node: str) -> None:
        if self._nominator.node_of(pod) not in ("", node):
            self.have_changed = True
        if node:
            self._nominator.nominate(pod, node)
        else:
            self._nominator.clear(pod)


def _merged(earlier: Patch | None, later: Patch) -> Patch:
    if earlier is None:
        return later
    return Patch(
        earlier.node if later.node is None else later.node,
        earlier.message if later.message is None else later.message,
    )
