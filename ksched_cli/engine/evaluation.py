"""The result of the pipeline for one pod: verdicts, feasible nodes and scores, and the mode that
decides how much of them is computed."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.extender_runner import ExtenderScores, with_another
from ksched_cli.engine.records import NodeScore
from ksched_cli.framework.cache.answer_cache import CacheEntry
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import Explains
from ksched_cli.framework.node_statuses import NodeStatuses, fit_error
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.score_runner import TIE_BITS, PluginScores
from ksched_cli.framework.status import Code, Rejection, Status

# The name for all extenders among the plugins that reject a pod; upstream's ExtenderName.
EXTENDER = "Extender"


class Mode(Enum):
    """Which nodes and plugins an evaluation asks.

    SAMPLED:    as kube-scheduler asks: the nominated node first, then nodes until enough of them
                fit, each until a plugin rejects it
    ALL_NODES:  every node that PreFilter leaves, each until a plugin rejects it
    RANKED:     as ALL_NODES, with what is cached; a node is scored even where only one fits
    EXHAUSTIVE: every plugin about every node; a node is scored even where only one fits
    REASONS:    every plugin about every node, for the verdicts alone: no scores, no statuses
    """

    SAMPLED = "sampled"
    ALL_NODES = "all nodes"
    RANKED = "ranked"
    EXHAUSTIVE = "exhaustive"
    REASONS = "reasons"


# Every attempt compares with these. Python 3.11 takes 0.1 µs to find a member of an Enum.
SAMPLED, ALL_NODES, RANKED, EXHAUSTIVE, REASONS = Mode


class PluginVerdicts(NamedTuple):
    """The verdicts of a plugin, or an extender, on all rows of the snapshot.

    details: of all its rejections; None where the plugin is asked for those of each
    nominated: the pods without which it would not reject, which are nominated to the node
    """

    plugin: str
    verdicts: Verdicts
    details: tuple[str, ...] | None = None
    nominated: tuple[PodInfo, ...] = ()


class Evaluation(Struct, eq=False):
    """One pod's way through PreFilter, Filter and Score.

    statuses:   per node, the first rejection, by a plugin or an extender
    feasible:   the nodes that fit
    cached:     what is cached for pods like this one, or None
    visited:    number of nodes that the sampled search decided
    pre_filter: PreFilter's rejection of the pod, or None
    narrowed_by: the plugins that left only some nodes, and EXTENDER for extenders
    error:      the error that broke the evaluation, or ""
    keys:       per feasible node, its total with what decides among equal ones, see
                score_cache.TIE_BITS; None where that is not computed
    sums:       per feasible node, its total; None where nodes are not scored, or there are keys
    scores, extender_scores: behind the totals; scores only where detail is asked for
    rejections: per row, every rejection; only in EXHAUSTIVE mode
    verdicts:   by every plugin, on all nodes; only in EXHAUSTIVE and REASONS mode
    """

    framework: Framework
    pod: PodInfo
    mode: Mode
    state: CycleState
    statuses: NodeStatuses
    feasible: Nodes
    cached: CacheEntry | None = None
    visited: int = 0
    pre_filter: Status | None = None
    error: str = ""
    keys: Scores | None = None
    sums: Scores | None = None
    scores: Sequence[PluginScores] = ()
    extender_scores: Sequence[ExtenderScores] = ()
    rejections: Sequence[list[Rejection]] = ()
    verdicts: Sequence[PluginVerdicts] = ()
    narrowed_by: tuple[str, ...] = ()

    @property
    def totals(self) -> Scores | None:
        """Return the weighted sum per feasible node, or None where nodes are not scored."""
        return self.sums if self.keys is None else self.keys >> TIE_BITS

    def total_of(self, row: int) -> int | None:
        """Return the total of a feasible node, or None where nodes are not scored."""
        totals = self.totals
        if totals is None:
            return None
        return int(totals[(self.feasible.indices() == row).argmax()])

    def points_reached(self) -> tuple[str, ...]:
        """Return the extension points from PreFilter to Score that the attempt reached."""
        if (self.error and not len(self.feasible)) or self.pre_filter is not None:
            return ("preFilter",)
        if self.sums is None and self.keys is None:
            return ("preFilter", "filter")
        return ("preFilter", "filter", "preScore", "score")

    def rejecting_plugins(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the plugins that rejected the pod or a node, and those of them whose rejection is
        pending. Upstream: Diagnosis.UnschedulablePlugins and PendingPlugins."""
        statuses = [*self.statuses.count()]
        if self.pre_filter is not None:
            statuses.append(self.pre_filter)
        plugins = {status.plugin or EXTENDER for status in statuses if status.is_rejected}
        pending = {status.plugin for status in statuses if status.code is Code.PENDING}
        return frozenset(plugins.union(self.narrowed_by)), frozenset(pending)

    def fit_error(self, post_filter: str = "") -> str:
        """Return kube-scheduler's message for a pod that fits nowhere. post_filter: PostFilter's
        message"""
        pre_filter = self.pre_filter.message if self.pre_filter else ""
        return fit_error(self.statuses, pre_filter, post_filter)

    def details(self, plugin_name: str, point: str, row: int) -> tuple[str, ...]:
        """Return what the plugin adds to its answer about a node at `point`, filter or score."""
        plugin = self.framework.plugin(plugin_name)
        if not isinstance(plugin, Explains):
            return ()
        snapshot = self.statuses.snapshot if point == "filter" else self.feasible.snapshot
        node = NodeInfo(snapshot, row)
        return self.framework.details(plugin, point, self.state, self.pod, node)

    def rejection_details(self, answer: PluginVerdicts, row: int) -> tuple[str, ...]:
        """Return the details behind an answer's rejection of the row."""
        if answer.details is not None:
            return answer.details
        return self.details(answer.plugin, "filter", row)

    def _score_details(
        self, plugin_name: str, rows: Sequence[int], detailed: Container[int] | None
    ) -> Sequence[tuple[str, ...]]:
        """Return what the plugin adds to its scores; nothing where it adds no details."""
        plugin = self.framework.plugin(plugin_name)
        if not isinstance(plugin, Explains) or type(plugin).explain_score is Explains.explain_score:
            return ()
        details, state, pod = self.framework.details, self.state, self.pod
        snapshot = self.feasible.snapshot
        # A plugin of others is asked about all: it may fail, and that is reported.
        if detailed is None or plugin_name in self.framework.caller.foreign:
            detailed = frozenset(rows)
        return [
            details(plugin, "score", state, pod, NodeInfo(snapshot, row)) if row in detailed else ()
            for row in rows
        ]

    def with_score_details(self, scores: Mapping[str, NodeScore], row: int) -> dict[str, NodeScore]:
        """Return a node's scores, with details also of the plugins that have not been asked for
        them."""
        return {
            name: score
            if score.details or name in self.framework.caller.foreign
            else replace(score, details=self.details(name, "score", row))
            for name, score in scores.items()
        }

    def scores_by_node(
        self, detailed: Container[int] | None = None
    ) -> dict[str, dict[str, NodeScore]]:
        """Return the scores of each feasible node by plugin or extender, with details in EXHAUSTIVE
        mode.

        detailed: in-tree plugins are asked for the details of these rows only; None: of all
        """
        names = self.feasible.names()
        rows: list[int] = []
        if self.mode is Mode.EXHAUSTIVE:
            rows = self.feasible.indices().tolist()
        # Plugins score all nodes at once, so that their columns are turned into rows of nodes.
        by_node: dict[str, dict[str, NodeScore]] = {name: {} for name in names}
        for plugin in self.scores:
            columns = (plugin.raw.tolist(), plugin.normalized.tolist(), plugin.weighted.tolist())
            details = self._score_details(plugin.plugin, rows, detailed) or [()] * len(names)
            for name, raw, normalized, weighted, lines in zip(
                names, *columns, details, strict=True
            ):
                score = NodeScore(raw, normalized, plugin.weight, weighted, lines)
                by_node[name][plugin.plugin] = score
        # Extenders may score nodes that do not fit, and one URL twice: its scores add up.
        for extender in self.extender_scores:
            url = extender.extender
            for name, score in extender.by_node().items():
                if name in by_node:
                    by_node[name][url] = with_another(by_node[name].get(url), score)
        return by_node
