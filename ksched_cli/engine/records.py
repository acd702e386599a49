"""The events of a run, as data: the engine fills these records, reports render them.

Structs rather than dataclasses: several are made in every attempt.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.answers import Count, Part
from ksched_cli.cluster.objects import Pod
from ksched_cli.framework.cycle_state import Note
from ksched_cli.framework.status import Status


class PreemptionCandidate(Part, frozen=True):
    """A node that preemption could make room on."""

    # Keys, the most important first.
    victims: tuple[str, ...]
    pdb_violations: Count


class PostFilterRecord(Struct, frozen=True):
    """The outcome of PostFilter. ties: the equally good candidate nodes, where more than one."""

    status: Status
    node: str = ""
    ties: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    candidates: Mapping[str, PreemptionCandidate] = field(default_factory=dict)


class NodeScore(Struct, frozen=True):
    """One plugin's (or extender's) score of one node.

    raw: before normalising
    normalized: 0 to 100; of an extender ten times its score, whatever that is
    weighted: as it counts in the node's total
    details: the numbers and names behind it, where a plugin explains itself and that was asked for
    """

    raw: int
    normalized: int
    weight: int
    weighted: int
    details: tuple[str, ...] = ()


class Detail(Struct, frozen=True):
    """The part of an attempt's record that is filled only on request.

    filter:   per rejected node, the first rejecting status (without a plugin: an extender's)
    feasible: the nodes that passed, by name
    scores:   per feasible node, by plugin (or an extender's URL), in the order they score
    totals:   per feasible node, the sum of the weighted scores

    scores and totals are empty when one node passed.
    """

    filter: Mapping[str, Status] = field(default_factory=dict)
    feasible: tuple[str, ...] = ()
    scores: Mapping[str, Mapping[str, NodeScore]] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)


NO_DETAIL = Detail()


class ExtenderBinding(Struct, frozen=True, omit_defaults=True):
    """A call to an extender that binds the pod in place of the Bind plugins.

    extender: the URL prefix
    sent: whether it was really made
    request: PodName, PodNamespace, PodUID, Node
    error: why the call failed; missing where it did not
    """

    extender: str
    url: str
    sent: bool
    request: Mapping[str, str]
    error: str = ""


class Attempt(Struct, frozen=True):
    """One pod's way through the extension points.

    pod:       its key; profile: the schedulerName of the profile that tried it
    node:      the node taken, or ""
    score:     the node's total, where nodes were scored
    evaluated: how many nodes were looked at, as kube-scheduler counts them
    ties:      the best nodes, when more than one, by name; kept with the detail
    is_tied:   several nodes were equally good, and the tie-break chose
    pre_filter, reserve: the status that ended the attempt there
    permit:    Wait for a pod that was allowed in the end, else what rejected it
    bind:      a status of PreBind or Bind other than success
    waited:    for how many seconds Permit made it wait, where it did
    notes:     by name, what plugins noted of the placement, where they did
    extender_binding: the call that binds the pod, where an extender does
    claims:    by the key of a claim, the devices that the pod holds
    message:   kube-scheduler's own text, where no node fits
    post_filter: what PostFilter answered: its `status`, the `node` and the `victims`
    error:     why the cycle broke
    detail:    by node name, the status of those that were rejected in `filter`, and the `totals`
               and the plugins' `scores` of the others
    """

    pod: str
    profile: str
    node: str = ""
    score: int | None = None
    evaluated: int = 0
    pre_filter: Status | None = None
    ties: tuple[str, ...] = ()
    is_tied: bool = False
    reserve: Status | None = None
    permit: Status | None = None
    bind: Status | None = None
    waited: float | None = None
    extender_binding: ExtenderBinding | None = None
    notes: Mapping[str, Note] | None = None
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    message: str = ""
    post_filter: PostFilterRecord | None = None
    error: str = ""
    detail: Detail = NO_DETAIL

    @property
    def why_not(self) -> str:
        """Return kube-scheduler's message, the error that ended the cycle, or the status of
        Reserve, Permit or Bind; "" where the pod has a node."""
        refusal = None if self.node else self.reserve or self.permit or self.bind
        return (
            self.message
            or self.error
            or (f"{refusal.plugin}: {refusal.message}" if refusal else "")
        )


class Eviction(Struct, frozen=True):
    """A pod that preemption takes off its node."""

    pod: str
    node: str
    preemptor: str


class IgnoredPod(Struct, frozen=True):
    """A pod that the scheduler never looks at. reason: in words that follow "it is"."""

    pod: str
    reason: str


class RunRecord(Struct, frozen=True):
    """A whole run.

    attempts:   in the order in which they were made
    placements: pod key → node, in the order they were placed
    pending:    in the order of the queue
    gated:      by pod key, the status that holds it back; in the order of creation
    evicted:    each with `pod`, `node` and `preemptor`
    last:       by pod key, its last attempt
    failed:     the pending pods whose last attempt a plugin's defect ended: not decided
    ignored:    pods that the scheduler never looks at
    """

    attempts: tuple[Attempt, ...]
    placements: Mapping[str, str]
    pending: tuple[str, ...]
    gated: Mapping[str, Status]
    evicted: tuple[Eviction, ...]
    last: Mapping[str, Attempt]
    failed: tuple[str, ...] = ()
    ignored: tuple[IgnoredPod, ...] = ()

    @property
    def extender_bindings(self) -> tuple[ExtenderBinding, ...]:
        """Return the calls that bind pods in place of the Bind plugins, in their order."""
        calls = [attempt.extender_binding for attempt in self.attempts]
        return tuple(call for call in calls if call is not None)

    def nodes(self, pods: Iterable[Pod]) -> dict[str, str]:
        """Return pod → node for the pods that have a node after the run. pods: of the state"""
        nodes = {pod.key: pod.node_name for pod in pods if pod.node_name and not pod.finished}
        for eviction in self.evicted:
            nodes.pop(eviction.pod, None)
        return nodes | dict(self.placements)

    def about(self, pods: Container[str] | None) -> RunRecord:
        """Return the record of only these pods, or with None of all pods."""
        if pods is None:
            return self
        return replace(
            self,
            attempts=tuple(attempt for attempt in self.attempts if attempt.pod in pods),
            placements={pod: node for pod, node in self.placements.items() if pod in pods},
            pending=tuple(pod for pod in self.pending if pod in pods),
            gated={pod: status for pod, status in self.gated.items() if pod in pods},
            evicted=tuple(e for e in self.evicted if e.pod in pods or e.preemptor in pods),
            failed=tuple(pod for pod in self.failed if pod in pods),
            ignored=tuple(ignored for ignored in self.ignored if ignored.pod in pods),
        )
