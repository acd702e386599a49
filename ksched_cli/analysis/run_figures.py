"""What comes of a run as numbers by name: the figures of `sweep`, `tune` and `test`.

A name is a path in a row of a sweep: utilization.cpu.mean, jobs.completionTime.p99, or that of a
plugin's metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from ksched_cli.analysis.best_placement import Regret, regret_at_end, regret_of
from ksched_cli.analysis.metrics import Metric, own_figures
from ksched_cli.analysis.replay_figures import (
    Durations,
    JobFigures,
    UsageOverTime,
    UserFigures,
    replay_figures,
    user_figures,
)
from ksched_cli.analysis.replay_result import replay_result
from ksched_cli.analysis.usage import nodes_used, utilization
from ksched_cli.engine.engine import Engine
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.engine.simulation import Simulation
from ksched_cli.run.inputs import DIGEST_LENGTH
from ksched_cli.run.open import Opener, name_of
from ksched_cli.run.run import Run

OK: Final = "ok"
ERROR: Final = "error"
DIGITS = 6

# Beyond these no run has figures, and sums of them are none.
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Figure = Annotated[float, Meta(ge=-1e300, le=1e300)]
Sum = Annotated[float, Meta(ge=0, le=1e300)]


class Attempted(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the row of every run has.

    seconds: The seconds that the run took.
    worker: The process that made it.
    """

    seconds: Sum = 0.0
    worker: str = ""


class Failed(Attempted, frozen=True, kw_only=True):
    """A run that did not come to its end.

    is_defect: The error is of a plugin or of ksched, not of what the run is made from.
    """

    status: Literal["error", "timeout", "lost"] = ERROR
    error: str
    is_defect: bool = msgspec.field(default=False, name="defect")


class Share(Struct, frozen=True, forbid_unknown_fields=True):
    """What pods request of what the nodes have."""

    mean: Figure
    max: Figure
    stddev: Figure


class BestPlacement(Struct, frozen=True, rename="camel"):
    """What the best placement has beyond the run, and what none exceeds; see Regret."""

    regret: Sum
    at_most: Sum

    @classmethod
    def of(cls, regret: Regret | UnsetType) -> BestPlacement | UnsetType:
        return cls(regret.regret, regret.at_most) if regret else UNSET


class Ended(Attempted, frozen=True, kw_only=True):
    """A run that came to its end. What follows `metrics` is of replays, see ReplayFigures.

    nodes_used: The nodes with pods at the end; of a replay the most at one moment.
    utilization: The shares by resource; of a replay, at its end.
    placements: A digest: the same where the same pods are on the same nodes.
    metrics: The metrics of plugins and of --metric.
    best: The best placement, where the file asks for regret; that of a replay is at its end.
    ended: This and what follows, up to cost: of replays.
    wait: Seconds from creation to placement, of pods that were placed or still wait at the end.
    job_completion_time: Seconds from creation to end, of pods that were placed and ended.
    jobs: Of pod groups, controllers and pods alone that were completed.
    users: Of the jobs of each user, where a label says whose a pod is.
    pending_hours: The hours that pods waited, added up.
    node_hours: The hours that nodes were there, added up.
    used_node_hours: The hours that nodes had pods, added up.
    cost: The cost of the nodes, where prices are given.
    """

    status: Literal["ok"] = OK
    placed: Count
    pending: Count
    gated: Count
    evicted: Count
    nodes_used: Count
    utilization: dict[str, Share]
    placements: str
    metrics: dict[str, Figure]
    best: BestPlacement | UnsetType = UNSET
    ended: Count | UnsetType = UNSET
    wait: Durations | UnsetType = UNSET
    job_completion_time: Durations | UnsetType = UNSET
    jobs: JobFigures | UnsetType = UNSET
    users: dict[str, UserFigures] | UnsetType = UNSET
    pending_hours: Sum | UnsetType = UNSET
    node_hours: Sum | UnsetType = UNSET
    used_node_hours: Sum | UnsetType = UNSET
    cost: Sum | UnsetType = UNSET

    def figures(self) -> dict[str, float]:
        """Return all of its numbers, `utilization.cpu.mean` among them."""
        plain = msgspec.to_builtins(self)
        own, seconds = plain.pop("metrics"), plain.pop("seconds")
        return {**dict(_numbers(plain)), "seconds": seconds, **own}


def _numbers(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}.")
        elif value is not None and not isinstance(value, str):
            yield f"{prefix}{name}", value


Outcome: TypeAlias = Ended | Failed


def figures_of_simulation(
    run: Run, simulation: Simulation, record: RunRecord, metrics: Sequence[Metric]
) -> Outcome:
    """Return the outcome of a Run at one instant, which has ended. Raises KschedError."""
    if record.failed:
        return _failure_of(simulation)
    regret: Regret | UnsetType = UNSET
    if run.regret:
        regret = regret_of(simulation, record, run.regret, run.time_limit, metrics)
    lines = [f"{pod} {node}\n" for pod, node in record.placements.items()]
    return Ended(
        placed=len(record.placements),
        pending=len(record.pending),
        gated=len(record.gated),
        evicted=len(record.evicted),
        nodes_used=nodes_used(simulation.snapshot),
        utilization=_utilization(simulation),
        placements=_digest(lines, (eviction.pod for eviction in record.evicted)),
        metrics=own_figures(simulation, metrics, lambda: record),
        best=BestPlacement.of(regret),
    )


def figures_of_replay(
    opener: Opener, run: Run, replay: Replay, metrics: Sequence[Metric]
) -> Outcome:
    """Return the outcome of a Run over time, which has ended. Raises KschedError."""
    engine, log = replay.cluster.engine, replay.log
    if replay.scheduler.failed:
        return _failure_of(engine)
    usage = UsageOverTime(replay)
    figures = replay_figures(replay, usage)
    outcomes = [each.outcome for each in log.live.values()]
    lines = [f"{pod.pod} {pod.node} {pod.placed}\n" for pod in log.records if pod.node]
    evicted = (pod.pod for pod in log.records if pod.evicted is not None)
    regret = regret_at_end(opener, run, replay, metrics)
    ended = Ended(
        placed=log.counts.placed,
        pending=outcomes.count(PodOutcome.PENDING),
        gated=outcomes.count(PodOutcome.GATED),
        evicted=log.counts.evicted,
        nodes_used=figures.nodes_used,
        utilization=_utilization(engine),
        placements=_digest(lines, evicted),
        metrics=own_figures(engine, metrics, lambda: replay_result(replay, name_of(run.timeline))),
        best=BestPlacement.of(regret),
        users=(
            {each.name: each for each in user_figures(replay, usage)} if run.user_label else UNSET
        ),
    )
    present = {name: each for name, each in structs.asdict(figures).items() if each is not None}
    return structs.replace(ended, **present)


def _utilization(engine: Engine) -> dict[str, Share]:
    return {
        resource: Share(*(round(each, DIGITS) for each in (share.mean, share.max, share.stddev)))
        for resource, share in utilization(engine.snapshot).items()
    }


def _failure_of(engine: Engine) -> Failed:
    defects = engine.caller.defects.values()
    texts = [f"plugin {item.plugin} failed in {item.point}: {item.problem}" for item in defects]
    return Failed(error="; ".join(texts) or "a plugin failed", is_defect=True)


def _digest(lines: Iterable[str], evicted: Iterable[str]) -> str:
    parts = sorted(lines) + sorted(f"evicted {pod}\n" for pod in evicted)
    return sha256("".join(parts).encode()).hexdigest()[:DIGEST_LENGTH]
