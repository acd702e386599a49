"""A replay, or several draws of it, as curves over time with the events that bend them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.analysis.usage_over_time import (
    DIGITS,
    Extent,
    UsageOverTime,
    UsageSample,
    points_of,
)
from ksched_cli.engine.replay.node_counts import NodeCounts
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.time import SECOND

_DRAWN_POINTS = 500  # of a curve with a band


class Curve(Struct, frozen=True):
    """A quantity over time: a value holds until the next time.

    times: seconds after the start, ascending
    extent: of all moments, not only of these; None where nobody knows
    low, high: the lowest and the highest of several draws, of which the values are the mean; empty
               for a single replay
    """

    times: Sequence[float]
    values: Sequence[float]
    extent: Extent | None = None
    low: Sequence[float] = ()
    high: Sequence[float] = ()


class EventKind(StrEnum):
    """The kind of a mark on the time axis."""

    CHANGE = "changes"
    NODES = "nodes"
    SCALING = "scaling"
    EVICTION = "evictions"


class CurveEvent(Struct, frozen=True):
    """at: seconds after the start"""

    at: float
    kind: EventKind
    text: str


class ReplayCurves(Struct, frozen=True):
    """Curves by chart and name; shares are those of `utilization` and `stranded`.

    start: of the timeline, seconds since 1970; None where it has none
    end: seconds after the start
    draws: of how many replays
    """

    start: int | None
    end: float
    pods: Mapping[str, Curve]
    nodes: Mapping[str, Curve]
    utilization: Mapping[str, Curve]
    stranded: Mapping[str, Curve]
    events: Sequence[CurveEvent] = ()
    draws: int = 1

    @classmethod
    def of(
        cls, replay: Replay, usage: UsageOverTime, samples: Sequence[UsageSample] = ()
    ) -> ReplayCurves:
        """usage: of the replay; samples: at its points, where they are at hand"""
        samples = samples or usage.samples(points_of(replay, usage))
        times = [sample.at for sample in samples]
        extents = usage.over_time()

        def shares(key: str, own_extents: Mapping[str, Extent]) -> dict[str, Curve]:
            by_time = [getattr(sample, key) for sample in samples]
            names = dict.fromkeys(name for each in by_time for name in each)
            curves = {
                name: Curve(times, [each.get(name, 0.0) for each in by_time], own_extents.get(name))
                for name in names
            }
            return {name: curve for name, curve in curves.items() if any(curve.values)}

        groups = {} if replay.autoscaler is None else replay.autoscaler.state.counts
        return cls(
            replay.options.start,
            replay.clock.now / SECOND,
            {
                "running": Curve(times, [each.pods for each in samples], extents.pods),
                "pending": Curve(times, [each.pending for each in samples], extents.pending),
            },
            {
                "nodes": Curve(times, [each.nodes for each in samples], extents.nodes),
                "nodes with pods": Curve(
                    times, [each.nodes_used for each in samples], extents.nodes_used
                ),
                **{
                    f"nodes of {name}": _sizes(counts, replay.clock.now)
                    for name, counts in groups.items()
                },
            },
            shares("utilization", extents.utilization),
            shares("stranded", {}),
            tuple(_events(replay)),
        )

    @classmethod
    def of_draws(cls, draws: Sequence[ReplayCurves]) -> ReplayCurves:
        """Return the mean of draws of one replay, and the lowest and the highest of them; a draw
        that has ended keeps its last values. Events are those that all draws have."""
        first = draws[0]
        common = set(first.events).intersection(*(each.events for each in draws[1:]))

        def merged(key: str) -> dict[str, Curve]:
            parts: list[Mapping[str, Curve]] = [getattr(each, key) for each in draws]
            names = dict.fromkeys(name for part in parts for name in part)
            return {name: _merged([part.get(name, _NOTHING) for part in parts]) for name in names}

        return cls(
            first.start,
            max(each.end for each in draws),
            merged("pods"),
            merged("nodes"),
            merged("utilization"),
            merged("stranded"),
            [event for event in first.events if event in common],
            len(draws),
        )


_NOTHING = Curve((0.0,), (0.0,))


def _merged(curves: Sequence[Curve]) -> Curve:
    """One curve of several draws."""
    times = np.unique(np.concatenate([np.asarray(curve.times) for curve in curves]))
    if len(times) > _DRAWN_POINTS:
        times = times[np.linspace(0, len(times) - 1, _DRAWN_POINTS).astype(int)]
    rows = np.array([_values_at(curve, times) for curve in curves])

    def listed(values: NDArray[np.float64]) -> list[float]:
        return [round(value, DIGITS) for value in values.tolist()]

    return Curve(
        times.tolist(),
        listed(rows.mean(axis=0)),
        None,
        listed(rows.min(axis=0)),
        listed(rows.max(axis=0)),
    )


def _values_at(curve: Curve, times: NDArray[np.float64]) -> NDArray[np.float64]:
    indexes = np.searchsorted(np.asarray(curve.times), times, side="right") - 1
    return np.asarray(curve.values, dtype=np.float64)[np.maximum(indexes, 0)]


def _sizes(counts: NodeCounts, now: int) -> Curve:
    """A node group's sizes over time; 0 before its first size. now: the end of the replay"""
    steps = dict([(0, 0), *counts.steps])
    most = max(steps.values())
    highest = next(at for at, count in steps.items() if count == most) / SECOND
    mean = counts.node_time_until(now) / now if now else counts.last
    times = [at / SECOND for at in steps]
    return Curve(times, [*steps.values()], Extent(round(mean, DIGITS), most, highest))


def _events(replay: Replay) -> list[CurveEvent]:
    """Return the events, ascending: changes of the timeline, nodes that came and went, decisions of
    the autoscaler, and evictions."""
    events = [
        CurveEvent(change.at / SECOND, EventKind.CHANGE, change.text)
        for change in replay.log.changes
    ]
    history = replay.usage.history
    present: set[int] = set()
    for change in history.node_changes:
        name = history.names[change.node]
        is_there = change.allocatable is not None
        if change.at and is_there != (change.node in present):
            text = f"{name} {'joins' if is_there else 'leaves'}"
            events.append(CurveEvent(change.at / SECOND, EventKind.NODES, text))
        (present.add if is_there else present.discard)(change.node)
    if replay.autoscaler is not None:
        for event in replay.autoscaler.state.events:
            text = f"{event.action} {event.group}: {', '.join(event.nodes)}"
            events.append(CurveEvent(event.at / SECOND, EventKind.SCALING, text))
    for at, count in Counter(replay.log.evictions).items():
        text = f"{count:,} pod{'s' * (count > 1)} evicted"
        events.append(CurveEvent(at / SECOND, EventKind.EVICTION, text))
    return sorted(events, key=lambda event: event.at)
