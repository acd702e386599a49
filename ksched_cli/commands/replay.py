"""`ksched replay`: a timeline of changes to a cluster, in simulated time."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import Seed, StateOptions, TieBreak
from ksched_cli.errors import UsageError
from ksched_cli.report.forms import Form

_LONG = 2.0  # seconds after which a replay says how fast it was

if TYPE_CHECKING:
    from ksched_cli.commands.checkpoints import Checkpoints
    from ksched_cli.engine.replay.records import PodRecord
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.engine.replay.world import World
    from ksched_cli.report.forms import Report
    from ksched_cli.scenario.node_groups import AutoscalerSettings
    from ksched_cli.scenario.timeline import Timeline


Summary = Annotated[
    bool, typer.Option("--summary", help="Leave the single pods out of -o json and -o yaml.")
]
Trace = Annotated[
    bool, typer.Option("--trace", help="With -o json or yaml: every attempt with its time.")
]
SaveState = Annotated[
    str,
    typer.Option(
        "--save-state",
        metavar="FILE.json",
        help="Write the cluster as it is at the end, for --state.",
        show_default=False,
    ),
]
EvictAtOnce = Annotated[
    bool,
    typer.Option(
        "--evict-at-once",
        help="Victims have no grace period, and the pod that they make room for is tried again "
        "at once, as in schedule.",
    ),
]
AutoscalerFile = Annotated[
    str,
    typer.Option(
        "--autoscaler",
        metavar="FILE",
        help="Of kind Autoscaler: node groups, of which nodes join for pods that fit nowhere "
        "and leave when nobody needs them.",
        show_default=False,
    ),
]
Usage = Annotated[
    bool,
    typer.Option(
        "--usage", help="With -o csv: a line per sample of the cluster over time, not per pod."
    ),
]
CheckpointFile = Annotated[
    str,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Write the replay here every minute and when it is interrupted; the same command "
        "goes on with it.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class ReplayCommandOptions(StateOptions):
    """Of `replay`: a field per option."""

    tie_break: TieBreak = "name"
    seed: Seed = None
    summary: Summary = False
    trace: Trace = False
    save_state: SaveState = ""
    evict_at_once: EvictAtOnce = False
    autoscaler: AutoscalerFile = ""
    usage: Usage = False
    checkpoint: CheckpointFile = ""


def replay(
    options: ReplayCommandOptions,
    timeline: Annotated[
        str, typer.Argument(metavar="TIMELINE", help="Of kind Timeline; or JSON lines, *.jsonl.")
    ],
) -> ExitCode:
    """A cluster over time: pods come, run and end, nodes join and leave.

    TIMELINE says what happens when; the state is the cluster at its start. Pods wait in
    kube-scheduler's queue, with backoff, queueing hints and the grace periods of victims, while
    simulated time passes. -o csv has a line per pod, -o html curves, -o name the pods that stay
    pending. Exit code 0 when every pod that is not gated found a node, 1 when some stay pending, 2
    when the timeline, state or configuration is broken, 3 when a plugin failed.
    """
    from ksched_cli.commands import session
    from ksched_cli.commands.output import show_of_state
    from ksched_cli.engine.simulation import Options
    from ksched_cli.scenario.autoscaler_file import read_autoscaler
    from ksched_cli.scenario.timeline import read_timeline

    _check(options)
    tie_break = session.tie_break(options.tie_break, options.seed)
    world = session.open_world(options, Options(tie_break=tie_break))
    changes = world.state.changes
    events = read_timeline(timeline, world.state, options.namespace)
    scaling = read_autoscaler(options.autoscaler, world.state) if options.autoscaler else None
    run = _Run(world, events, options, [] if _lists_pods(options) else None, scaling)
    if options.checkpoint:
        run.use_checkpoints(timeline)
    replay = run.run()
    session.report_defects(world.simulation, options.debug)
    if options.save_state:
        _save(replay, options.save_state)
    show_of_state(_report(replay, events.name, options, run.records), options, changes)
    if replay.attempts.failed:
        return ExitCode.DEFECT
    return ExitCode.NO if replay.pending() else ExitCode.YES


def _is_data(options: ReplayCommandOptions) -> bool:
    return options.output in (Form.JSON, Form.YAML)


def _lists_pods(options: ReplayCommandOptions) -> bool:
    if _is_data(options):
        return not options.summary
    return options.output is Form.CSV and not options.usage


def _check(options: ReplayCommandOptions) -> None:
    """Raises UsageError for what does not go together."""
    data_option = "--trace" if options.trace else "--summary" if options.summary else ""
    if data_option and not _is_data(options):
        raise UsageError(f"{data_option} does nothing without -o json or -o yaml")
    if options.save_state:
        from ksched_cli.live.snapshot_file import check_suffix, check_writable

        check_suffix(options.save_state)
        check_writable(options.save_state)
    if options.usage and options.output is not Form.CSV:
        raise UsageError("--usage does nothing without -o csv")


@dataclass(slots=True)
class _Run:
    """records: of the pods that have left, where they are listed in the end, else None"""

    world: World
    timeline: Timeline
    options: ReplayCommandOptions
    records: list[PodRecord] | None
    autoscaler: AutoscalerSettings | None = None
    _checkpoints: Checkpoints | None = None

    def use_checkpoints(self, timeline: str) -> None:
        """timeline: its path. Raises UsageError."""
        from ksched_cli.commands.checkpoints import Checkpoints, check_state, fingerprint_of

        options = self.options
        check_state(self.world)
        lists_pods = self.records is not None
        fingerprint = fingerprint_of(
            self.world,
            (timeline, options.autoscaler),
            options,
            tie_break=(options.tie_break, options.seed),
            trace=options.trace,
            lists_pods=lists_pods,
            evicts_at_once=options.evict_at_once,
        )
        self._checkpoints = Checkpoints(
            options.checkpoint, fingerprint, [] if self.records is None else self.records
        )

    def run(self) -> Replay:
        from ksched_cli.commands import progress
        from ksched_cli.engine.replay.replay import Replay, ReplayOptions

        began, checkpoints = perf_counter(), self._checkpoints
        with progress.of_time() as on_progress:

            def on_instant(run: Replay) -> None:
                if on_progress is not None:
                    on_progress(run.clock.now / 1e6, run.log.counts.events)
                if checkpoints is not None:
                    checkpoints.after_instant(run)

            options = ReplayOptions(
                self.timeline.start,
                self.timeline.until,
                makes_pods=not self.options.no_workloads,
                evicts_at_once=self.options.evict_at_once,
                traces=self.options.trace,
                on_record=None if self.records is None else self.records.append,
                on_instant=on_instant if on_progress or checkpoints else None,
                autoscaler=self.autoscaler,
            )
            run = Replay(self.world, self.timeline.events(), options)
            if checkpoints is None:
                run.run()
            else:
                checkpoints.resume(run)
                with checkpoints.signals():
                    run.run()
                checkpoints.finish()
        _note_speed(run, perf_counter() - began)
        return run


def _report(
    run: Replay,
    name: str,
    options: ReplayCommandOptions,
    records: list[PodRecord] | None,
) -> Report:
    from ksched_cli.commands.output import limit
    from ksched_cli.report import replay as renderer
    from ksched_cli.report.forms import Report

    def pods() -> list[PodRecord]:
        return [*(records or ()), *run.log.live.values()]

    def csv() -> str:
        return renderer.usage_csv(run) if options.usage else renderer.csv_text(pods())

    return Report(
        document=lambda: renderer.document(
            run, name, None if records is None else pods(), traces=options.trace
        ),
        table=lambda: renderer.table(run, limit(options.everything)),
        names=run.pending,
        headline=lambda: renderer.headline(run),
        texts={
            Form.CSV: lambda: (
                renderer.usage_csv(run) if options.usage else renderer.csv_text(pods())
            )
        },
    )


def _note_speed(run: Replay, took: float) -> None:
    from ksched_cli.commands.output import note

    if took < _LONG:
        return
    counts = run.log.counts
    rate = (counts.events + counts.attempts + counts.ended) / max(took, 1e-9)
    events = f"{counts.events:,} events, {counts.attempts:,} attempts"
    note(f"{events} and {counts.ended:,} ends in {took:.1f} s: {rate:,.0f} a second")


def _save(run: Replay, path: str) -> None:
    from ksched_cli.live.snapshot_file import snapshot_text, written_aside
    from ksched_cli.scenario.state_file import manifests

    with written_aside(path) as file:
        for part in snapshot_text(manifests(run.state()), lambda: None):
            file.write(part)
