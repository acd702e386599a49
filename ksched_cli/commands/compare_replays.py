"""`ksched compare --timeline`: one timeline, replayed on several sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import StateOptions

if TYPE_CHECKING:
    from ksched_cli.analysis.compare_replays import ReplaySide
    from ksched_cli.commands.subjects import Subject


def compare_replays(options: StateOptions, subjects: Sequence[Subject], timeline: str) -> ExitCode:
    """timeline: its path. Raises KschedError."""
    from ksched_cli.analysis import compare_replays as analysis
    from ksched_cli.commands import session
    from ksched_cli.commands.output import limit, show_of_state
    from ksched_cli.report import compare_replays as renderer
    from ksched_cli.report.forms import Report
    from ksched_cli.report.table import PAGE

    sides = [_replay(options, subject, timeline) for subject in subjects]
    answer = analysis.compare_replays(sides)
    for side in sides:
        session.report_defects(side.replay.world.simulation, options.debug)
    report = Report(
        document=lambda: renderer.document(answer, timeline),
        table=lambda: renderer.table(answer, limit(options.everything)),
        headline=lambda: renderer.headline(answer, PAGE),
    )
    changes = subjects[-1].state.changes
    show_of_state(report, options, changes)
    if any(side.replay.attempts.failed for side in sides):
        return ExitCode.DEFECT
    return ExitCode.NO if answer.differences else ExitCode.YES


def _replay(options: StateOptions, subject: Subject, timeline: str) -> ReplaySide:
    from ksched_cli.analysis.compare_replays import ReplaySide
    from ksched_cli.commands import progress, session
    from ksched_cli.engine.replay.records import PodRecord
    from ksched_cli.engine.replay.replay import Replay, ReplayOptions
    from ksched_cli.engine.simulation import Options
    from ksched_cli.scenario.autoscaler_file import read_autoscaler
    from ksched_cli.scenario.timeline import read_timeline

    materials = (subject.state, subject.configuration, subject.registry)
    world = session.make_world(options, *materials, session.run_options(options, Options()))
    events = read_timeline(timeline, world.state, options.namespace)
    scaling = read_autoscaler(subject.autoscaler, world.state) if subject.autoscaler else None
    departed: list[PodRecord] = []
    with progress.of_time() as on_progress:

        def on_instant(run: Replay) -> None:
            if on_progress is not None:
                on_progress(run.clock.now / 1e6, run.log.counts.events)

        run_options = ReplayOptions(
            events.start,
            events.until,
            makes_pods=not options.no_workloads,
            on_record=departed.append,
            on_instant=on_instant if on_progress else None,
            autoscaler=scaling,
        )
        run = Replay(world, events.events(), run_options)
        run.run()
    return ReplaySide.of(subject.name, run, departed)
