"""The extenders' part in a cycle: between Filter and Score, beside Score, and in place of Bind.

Their part in preemption is where the candidates are (plugins/preemption_extenders.py).

Upstream: pkg/scheduler/schedule_one.go (findNodesThatPassExtenders, prioritizeNodes,
extendersBinding).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import finalize

import msgspec
import numpy as np
from msgspec import Struct

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.types import Extender
from ksched_cli.engine.records import ExtenderBinding, NodeScore
from ksched_cli.extenders.wire import MAX_EXTENDER_PRIORITY
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.interface import MAX_NODE_SCORE
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.preemption import ExtenderError
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import Status
from ksched_cli.kube.int64 import wrap
from ksched_cli.masking import masked_url

if TYPE_CHECKING:
    from ksched_cli.extenders.http_extender import Extenders, FilteredNodes, HTTPExtender

SCALE = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY


class ExtenderOptions(Struct, frozen=True):
    """How a run calls extenders.

    used: False calls none
    bind: really call binders
    record, replay: files, or ""
    warn: takes a line of warning
    """

    used: bool = True
    bind: bool = False
    record: str = ""
    replay: str = ""
    warn: Callable[[str], None] | None = None


class ExtenderStep(Struct, frozen=True):
    """One extender's answer about the nodes sent to it."""

    extender: str
    sent: Nodes
    answer: FilteredNodes

    def statuses(self) -> Mapping[str, Status]:
        """Return statuses by the names of the nodes that the extender fails; such a node may have
        passed, or may not exist."""
        failed = {name: Status.unschedulable(why) for name, why in self.answer.failed.items()}
        final = self.answer.failed_and_unresolvable.items()
        return failed | {name: Status.unresolvable(why) for name, why in final}


class ExtenderScores(Struct, frozen=True):
    """hosts: name and score, as often as the extender named it."""

    extender: str
    weight: int
    hosts: Sequence[tuple[str, int]]

    def by_node(self) -> dict[str, NodeScore]:
        """Return the scores by the names that the extender gives, whether or not they are nodes."""
        scores: dict[str, NodeScore] = {}
        for host, score in self.hosts:
            normalized = wrap(score * SCALE)
            node_score = NodeScore(score, normalized, self.weight, wrap(normalized * self.weight))
            scores[host] = with_another(scores.get(host), node_score)
        return scores


def with_another(score: NodeScore | None, other: NodeScore) -> NodeScore:
    """Return the sum of a node's scores by one extender, or by several of one URL: each counts in
    the total."""
    if score is None:
        return other
    return NodeScore(
        wrap(score.raw + other.raw),
        wrap(score.normalized + other.normalized),
        max(score.weight, other.weight),
        wrap(score.weighted + other.weighted),
    )


class ExtenderRunner:
    """Calls the extenders of a run.

    sends_bindings: whether binders are really called
    built: the extenders with what they share; None where none are called
    """

    def __init__(self, extenders: Extenders | None = None, sends_bindings: bool = False) -> None:
        self.extenders: tuple[HTTPExtender, ...] = () if extenders is None else extenders.all
        self.filters = any(extender.is_filter for extender in self.extenders)
        self.prioritizes = any(extender.is_prioritizer for extender in self.extenders)
        self._sends_bindings = sends_bindings
        self.built = extenders
        self._end = None if extenders is None else finalize(self, extenders.close)

    @classmethod
    def of(
        cls,
        configured: Sequence[Extender],
        nominator: Nominator,
        options: ExtenderOptions,
        before: ExtenderRunner | None = None,
    ) -> ExtenderRunner:
        """Create the runner of the configured extenders. before: of the same run, which this one
        continues

        Raises KschedError where TLS or a file is unusable.
        """
        if not options.used or not configured:
            return cls()
        # The HTTP client is loaded for those who need it.
        from ksched_cli.extenders.http_extender import Extenders

        warn = options.warn or (lambda line: None)
        extenders = Extenders.build(
            configured,
            nominator,
            warn,
            options.record,
            options.replay,
            None if before is None else before.built,
        )
        return cls(extenders, options.bind)

    def check(self) -> None:
        """Raise UsageError if an extender's failure ends the run. Call this after plugins have
        asked extenders: a plugin's failure ends only an attempt."""
        if self.built is not None and self.built.failure is not None:
            raise self.built.failure

    def close(self) -> None:
        """Close connections and files. This happens at the latest when the program ends."""
        if self._end is not None:
            self._end()

    def __bool__(self) -> bool:
        return bool(self.extenders)

    def filter(self, pod: PodInfo, nodes: Nodes, statuses: NodeStatuses) -> Nodes:
        """Return the nodes that pass, in the order of the last answer; the others' statuses go to
        `statuses`. Raises ExtenderError where an extender fails that must not."""
        for step in self.steps(pod, nodes):
            for name, status in step.statuses().items():
                statuses.set_by_name(name, status)
            nodes = step.answer.nodes
        return nodes

    def steps(self, pod: PodInfo, nodes: Nodes) -> Iterator[ExtenderStep]:
        """Ask each extender about what the one before left. Raises ExtenderError."""
        for extender in self.extenders:
            if not len(nodes):
                return
            if not extender.is_filter or not extender.is_interested(pod):
                continue
            try:
                answer = extender.filter(pod, nodes)
            except ExtenderError:
                if extender.ignorable:
                    continue
                raise
            yield ExtenderStep(extender.name, nodes, answer)
            nodes = answer.nodes

    def prioritize(self, pod: PodInfo, nodes: Nodes) -> list[ExtenderScores]:
        """Return the scores of all extenders, which are asked at the same time. One that fails
        gives none."""
        calls = [
            (extender, extender.prioritize(pod, nodes))
            for extender in self.extenders
            if extender.is_interested(pod)
        ]
        scores = []
        for extender, wait in calls:
            try:
                hosts, weight = wait()
            except ExtenderError:
                continue
            scores.append(ExtenderScores(extender.name, weight, hosts))
        return scores

    def extenders_bind(self, pod: PodInfo, node: str) -> ExtenderBinding | None:
        """Return the binder that replaces the Bind plugins, or None where they bind."""
        for extender in self.extenders:
            if not extender.is_binder or not extender.is_interested(pod):
                continue
            call = extender.binding(pod, node)
            error = ""
            if self._sends_bindings:
                try:
                    extender.bind(call)
                except ExtenderError as failure:
                    if extender.ignorable:
                        continue
                    error = str(failure)
            request = msgspec.json.decode(call.body, type=dict[str, str])
            url, is_sent = masked_url(call.url), self._sends_bindings
            return ExtenderBinding(extender.name, url, is_sent, request, error)
        return None


def extender_totals(scores: Sequence[ExtenderScores], nodes: Nodes) -> Scores:
    """Return what the extenders add to each node's total, in the order of `nodes`; wraps around at
    64 bits, as in Go."""
    sums: dict[str, int] = {}
    for extender in scores:
        factor = extender.weight * SCALE
        for host, score in extender.hosts:
            sums[host] = sums.get(host, 0) + score * factor
    return np.array([wrap(sums.get(name, 0)) for name in nodes.names()], dtype=np.int64)
