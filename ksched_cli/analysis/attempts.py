"""Attempts as parts of answers, in the conformance format, and a pod's turn: the attempts that a
run makes for it, with the questions asked before each.

One run answers both, so that no question about a pod contradicts `schedule`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, Self, TypeVar, cast

from msgspec import Struct, field

from ksched_cli.answers import Count, Part
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.records import Attempt, PreemptionCandidate
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.status import Rejection, Status

CodeName = Literal[
    "Success",
    "Error",
    "Unschedulable",
    "UnschedulableAndUnresolvable",
    "Wait",
    "Skip",
    "Pending",
]


class PluginStatus(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What a plugin answered.

    plugin: missing where none is named, as of an extender
    """

    plugin: str = ""
    code: CodeName
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, status: Status) -> Self:
        return cls(plugin=status.plugin, code=code_name(status), reasons=status.reasons)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


class NodeRejection(PluginStatus, frozen=True, kw_only=True, omit_defaults=True):
    """What a plugin answered about a node.

    details: the numbers and names behind the reasons
    """

    details: tuple[str, ...]

    @classmethod
    def of_node(cls, rejection: Rejection) -> Self:
        status = rejection.status
        return cls(
            plugin=status.plugin,
            code=code_name(status),
            reasons=status.reasons,
            details=rejection.details,
        )


class PostFilterOutcome(Part, frozen=True, omit_defaults=True):
    """The outcome of PostFilter; empty fields are missing."""

    code: CodeName
    message: str = ""
    node: str = ""
    ties: tuple[str, ...] = ()
    victims: tuple[str, ...] = ()
    candidates: Mapping[str, PreemptionCandidate] = field(default_factory=dict)


class AttemptTrace(Part, frozen=True, kw_only=True, omit_defaults=True):
    """One pod's way through the extension points; empty fields are missing.

    filter: per rejected node, the first rejecting status
    scores: node → plugin → weighted score
    waited_seconds: how long Permit made the pod wait, in simulated time
    notes: by name, what plugins noted of the placement
    """

    pod: str
    profile: str
    pre_filter: PluginStatus | None = None
    filter: Mapping[str, PluginStatus] = field(default_factory=dict)
    evaluated_nodes: Count
    feasible: tuple[str, ...] = ()
    scores: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    ties: tuple[str, ...] = ()
    node: str = ""
    reserve: PluginStatus | None = None
    permit: PluginStatus | None = None
    waited_seconds: float | None = None
    bind: PluginStatus | None = None
    claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""
    post_filter: PostFilterOutcome | None = None
    error: str = ""


def code_name(status: Status) -> CodeName:
    return cast(CodeName, status.code.text)


def status_of(status: Status | None) -> PluginStatus | None:
    return PluginStatus.of(status) if status else None


def trace_of(record: Attempt) -> AttemptTrace:
    """Return the attempt with its recorded detail."""
    detail, post_filter, outcome = record.detail, record.post_filter, None
    if post_filter is not None:
        outcome = PostFilterOutcome(
            code_name(post_filter.status),
            post_filter.status.message,
            post_filter.node,
            post_filter.ties,
            post_filter.victims,
            post_filter.candidates,
        )
    return AttemptTrace(
        pod=record.pod,
        profile=record.profile,
        pre_filter=status_of(record.pre_filter),
        filter={node: PluginStatus.of(status) for node, status in detail.filter.items()},
        evaluated_nodes=record.evaluated,
        feasible=detail.feasible,
        scores={
            node: {source: score.weighted for source, score in detail.scores[node].items()}
            for node in detail.feasible
            if node in detail.scores
        },
        totals=dict(sorted(detail.totals.items())),
        ties=record.ties,
        node=record.node,
        reserve=status_of(record.reserve),
        permit=status_of(record.permit),
        waited_seconds=record.waited,
        bind=status_of(record.bind),
        claims=dict(record.claims),
        notes=dict(record.notes or {}),
        message=record.message,
        post_filter=outcome,
        error=record.error,
    )


# -- a pod's turn ---------------------------------------------------------------------------------

Answer = TypeVar("Answer")


class Turn(Struct, Generic[Answer], frozen=True):
    """The attempts of one pod, at least one, and an answer for each.

    answers:    from the cluster as the attempt of the same index found it
    gated:      why the pod is not in the queue; its attempt was then made after all others
    evicts:     pods evicted for it
    evicted_by: the pod that it was evicted for after it had been placed, or ""
    failed:     whether a plugin's defect ended its last attempt
    """

    attempts: tuple[Attempt, ...]
    answers: tuple[Answer, ...]
    gated: Status | None = None
    evicts: tuple[str, ...] = ()
    evicted_by: str = ""
    failed: bool = False


def take_turn(
    simulation: Simulation,
    pod: PodInfo,
    ask: Callable[[PodInfo], Answer],
    *,
    alone: bool = False,
    on_choice: Callable[[int], None] | None = None,
) -> Turn[Answer]:
    """Run a simulation that has not run yet.

    alone: leaves the other pending pods out; without it they are tried too, each in its turn
    on_choice: called with the row of a node that the pod takes, before it is there
    """
    answers: list[Answer] = []
    simulation.focus = Focus(
        frozenset({pod.key}), lambda info: answers.append(ask(info)), on_choice=on_choice
    )
    run = simulation.run(only=pod if alone else None)
    attempts = [attempt for attempt in run.attempts if attempt.pod == pod.key]
    gated = run.gated.get(pod.key)
    if gated is not None:
        attempts += simulation.try_pod(pod)
    simulation.focus = None
    evictions = simulation.scheduler.evicted
    return Turn(
        tuple(attempts),
        tuple(answers),
        gated,
        tuple(eviction.pod for eviction in evictions if eviction.preemptor == pod.key),
        next((eviction.preemptor for eviction in evictions if eviction.pod == pod.key), ""),
        pod.key in simulation.scheduler.failed,
    )
