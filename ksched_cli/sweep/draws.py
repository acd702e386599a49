"""Several draws of Runs: the same with one seed after the other, and the questions that draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ksched_cli.analysis.compare import (
    DrawnComparison,
    ReplayDraws,
    check_timelines,
    compare_draws,
    replay_draws,
)
from ksched_cli.analysis.metrics import Metric, MetricSource, load_metrics
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.replay_figures import UsageOverTime
from ksched_cli.analysis.replay_result import ReplayCurves
from ksched_cli.analysis.run_figures import Failed
from ksched_cli.cluster.loading.state_warnings import budget_warnings
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.errors import PluginDefectError, UsageError
from ksched_cli.run.differences import NamedRun, named
from ksched_cli.run.open import Opener, name_of
from ksched_cli.sweep.outcome import Performer, Task
from ksched_cli.sweep.preparation import Shared

# A side's figures, draw by draw.
Figures = Sequence[Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Draws:
    """figures: of each side; curves: of each side that is a replay"""

    figures: Sequence[Figures]
    curves: Sequence[ReplayCurves]


def draws_of(
    sides: Sequence[NamedRun],
    opener: Opener,
    count: int,
    on_progress: Callable[[int, int], None] | None = None,
    metrics: Sequence[Metric] = (),
) -> Draws:
    """metrics: figures of each draw besides those of plugins
    on_progress: called after each draw of all sides
    Raises UsageError where a draw does not come to its end, PluginDefectError where a plugin is to
    blame"""
    if any(side.run.regret_at for side in sides):
        raise UsageError("--regret-at cannot be combined with --seeds, which compares ends")
    curves: list[ReplayCurves] = []  # the sides of a draw one after the other

    def on_replay(replay: Replay) -> None:
        curves.append(ReplayCurves.of(replay, UsageOverTime(replay)))

    performer = Performer(Shared(opener.inputs), opener, on_replay, metrics)
    figures: list[list[Mapping[str, float]]] = [[] for _ in sides]
    for index in range(count):
        for side, own in zip(sides, figures, strict=True):
            run = replace(side.run, seed=(side.run.seed or 0) + index)
            outcome = performer.perform(Task("", run))
            if isinstance(outcome, Failed):
                message = f"{side.name}, seed {run.seed}: {outcome.error}".removeprefix(", ")
                if outcome.is_defect:
                    raise PluginDefectError(message, "")
                raise UsageError(message)
            own.append(outcome.figures())
        if on_progress is not None:
            on_progress(index + 1, count)
    by_side = (curves[index :: len(sides)] for index in range(len(sides)))
    return Draws(figures, [ReplayCurves.of_draws(own) for own in by_side if own])


def eviction_warnings(
    sides: Sequence[NamedRun], opener: Opener, figures: Sequence[Figures]
) -> Iterator[str]:
    """Yield lines about budgets that the states lack, where draws evicted pods."""
    for side, own in zip(sides, figures, strict=True):
        if any(draw["evicted"] for draw in own):
            yield from budget_warnings(opener.state(side.run))


# -- the questions --------------------------------------------------------------------------------


class CompareDraws(Question[DrawnComparison], frozen=True, kw_only=True):
    """Compare several draws of Runs: means, and how sure the differences are. The Runs draw from
    their seeds on. metrics: functions, or texts as --metric takes them"""

    seeds: int
    metrics: tuple[MetricSource, ...] = ()

    def answer(self, opened: Opened) -> DrawnComparison:
        check_timelines(opened.runs)
        sides = named(opened.runs, opened.opener.inputs)
        draws = _draws(sides, opened, self.seeds, self.metrics)
        return compare_draws(sides, draws.figures, draws.curves)


class DrawReplay(Question[ReplayDraws], frozen=True, kw_only=True):
    """Draw a replay several times. The Run draws from its seed on. metrics: functions, or texts as
    --metric takes them"""

    seeds: int
    metrics: tuple[MetricSource, ...] = ()

    def answer(self, opened: Opened) -> ReplayDraws:
        run, first = opened.run, opened.run.seed or 0
        name = name_of(run.timeline)
        draws = _draws([NamedRun("", run)], opened, self.seeds, self.metrics)
        (figures,), (curves,) = draws.figures, draws.curves
        return replay_draws(name, figures, range(first, first + self.seeds), curves)


def _draws(
    sides: Sequence[NamedRun], opened: Opened, count: int, sources: Sequence[MetricSource]
) -> Draws:
    """Return the results of each side, with one seed after the other. Raises KschedError."""
    opener, metrics = opened.opener, load_metrics(sources)
    opened.introduce(*(opener.opened(side.run) for side in sides), are_run=False)
    with opened.observer.progress("draws") as on_progress:
        draws = draws_of(sides, opener, count, on_progress, metrics)
    opened.warn(*eviction_warnings(sides, opener, draws.figures))
    return draws
