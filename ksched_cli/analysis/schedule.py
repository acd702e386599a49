"""The result of a run of `schedule`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, UnsetType

from ksched_cli.analysis import cluster_map as maps
from ksched_cli.analysis import pending as pending_pods
from ksched_cli.analysis.attempts import AttemptTrace, trace_of
from ksched_cli.analysis.cluster_map import ClusterMap
from ksched_cli.analysis.pending import PendingGroup
from ksched_cli.analysis.usage import (
    NodeResources,
    NodeUsage,
    UtilizationByLabel,
    node_usages,
    resources_of,
    utilization_by,
)
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.engine.records import Eviction, ExtenderBinding, IgnoredPod, RunRecord
from ksched_cli.engine.simulation import Simulation


class PluginFailure(Part, frozen=True):
    """An exception that a plugin let out, or an answer that is none, and the pods it touched."""

    plugin: str
    point: str
    problem: str
    pods: tuple[str, ...]


class RunSummary(Part, frozen=True):
    """Counts of pods, and of attempts."""

    placed: Count
    pending: Count
    gated: Count
    evicted: Count
    attempts: Count
    ignored: Count
    undecided: Count


class ScheduleResult(StateAnswer, frozen=True, kw_only=True):
    """A run of `schedule`.

    placements: pod → node
    gated: in the order of creation
    undecided: the pending pods whose last attempt ended in a plugin's failure
    defects: failures of plugins, each once, and the pods that it touched
    ignored: pods that the scheduler never looks at: finished, being deleted, another scheduler's
    evicted: pods that preemption took off their nodes, in order
    messages: per pending or gated pod, why
    nodes: every node after the run
    utilization: with --by only, of the nodes after the run
    notes: pod → name → what plugins noted of the placement; missing where none did
    extender_bindings: calls to extenders that bind pods; made only with --extender-bind
    attempts: with --trace only
    cluster_map: the nodes before and after the run, and the pods on them
    pending_groups: the pending pods by owner and cause
    """

    COMMAND: ClassVar = "schedule"
    ROWS: ClassVar = "placements"

    kind: Literal["ScheduleResult"] = "ScheduleResult"
    placements: Mapping[str, str]
    pending: tuple[str, ...]
    gated: tuple[str, ...]
    undecided: tuple[str, ...]
    defects: tuple[PluginFailure, ...]
    ignored: tuple[IgnoredPod, ...]
    evicted: tuple[str, ...]
    evictions: tuple[Eviction, ...]
    messages: Mapping[str, str]
    summary: RunSummary
    nodes: tuple[NodeResources, ...]
    utilization: UtilizationByLabel | UnsetType = UNSET
    notes: Mapping[str, Mapping[str, Any]] | UnsetType = UNSET
    extender_bindings: tuple[ExtenderBinding, ...] | UnsetType = UNSET
    attempts: tuple[AttemptTrace, ...] | UnsetType = UNSET
    cluster_map: Annotated[ClusterMap | None, HIDDEN] = None
    pending_groups: Annotated[tuple[PendingGroup, ...], HIDDEN] = ()


def result_of(
    simulation: Simulation,
    run: RunRecord,
    *,
    trace: bool = False,
    traced: Collection[str] = (),
    by: str = "",
    before: Sequence[NodeUsage] | None = None,
) -> ScheduleResult:
    """simulation: after the run. traced: the pods whose attempts are in it; where empty, all are.
    by: the label that nodes are shown by. before: how full they were before the run, for a page"""
    usages = node_usages(simulation.snapshot)
    notes = {pod: run.last[pod].notes for pod in sorted(run.placements)}
    attempts = [record for record in run.attempts if not traced or record.pod in traced]
    return ScheduleResult(
        placements=dict(sorted(run.placements.items())),
        pending=tuple(sorted(run.pending)),
        gated=tuple(run.gated),
        undecided=run.failed,
        defects=tuple(
            PluginFailure(defect.plugin, defect.point, defect.problem, tuple(defect.pods))
            for defect in simulation.caller.defects.values()
        ),
        ignored=run.ignored,
        evicted=tuple(eviction.pod for eviction in run.evicted),
        evictions=run.evicted,
        messages={
            **{pod: run.last[pod].why_not for pod in sorted(run.pending)},
            **{pod: status.message for pod, status in run.gated.items()},
        },
        summary=summary_of(run),
        nodes=resources_of(usages),
        utilization=utilization_by(by, usages) if by else UNSET,
        notes={pod: noted for pod, noted in notes.items() if noted} or UNSET,
        extender_bindings=run.extender_bindings or UNSET,
        attempts=tuple(map(trace_of, attempts)) if trace else UNSET,
        cluster_map=maps.cluster_map(simulation, run, before) if before is not None else None,
        pending_groups=pending_pods.pending_groups(simulation, run) if before is not None else (),
    )


def summary_of(run: RunRecord) -> RunSummary:
    return RunSummary(
        placed=len(run.placements),
        pending=len(run.pending),
        gated=len(run.gated),
        evicted=len(run.evicted),
        attempts=len(run.attempts),
        ignored=len(run.ignored),
        undecided=len(run.failed),
    )
