"""`ksched replay`: a timeline of changes to a cluster, in simulated time."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands import progress, runs
from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import ReplayableOptions, Seeds
from ksched_cli.commands.output import limit, note, report_of, show, warn
from ksched_cli.commands.signals import EndedBySignal, Interruption
from ksched_cli.errors import UsageError
from ksched_cli.kube.file_lock import locked
from ksched_cli.report.forms import Form, Report

if TYPE_CHECKING:
    from ksched_cli.engine.replay.mutable_cluster import MutableCluster
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import Run

_DRAWS = 20  # of --from-now
_LONG = 2.0  # seconds after which a replay says how fast it was


@dataclass(frozen=True, slots=True)
class ReplayCommandOptions(ReplayableOptions):
    """Options of `replay`: a field per option.

    summary: Leave individual pods out of -o json and -o yaml.
    trace: With -o json or yaml: add every attempt with its time.
    save_state FILE.json: Write the final cluster state, for --state.
    usage: With -o csv: a line per moment with an event, not per pod.
    checkpoint FILE: Save the replay every minute and on Ctrl-C; resume if the file exists.
    from_now: Predict when pending pods start: p50 and p90 over --seeds draws, default 20.
    history FILE: With --from-now: dump or timeline that gives run times; repeatable.
    """

    summary: bool = False
    trace: bool = False
    save_state: str = ""
    usage: bool = False
    checkpoint: str = ""
    seeds: Seeds = None
    from_now: bool = False
    history: list[str] | None = None


def replay(
    options: ReplayCommandOptions,
    timeline: Annotated[
        str, typer.Argument(metavar="[TIMELINE]", help="Timeline file, or JSON lines, *.jsonl.")
    ] = "",
) -> ExitCode:
    """A cluster over time: pods come, run and end, nodes join and leave.

    TIMELINE says what happens when; the state is the cluster at its start. Pods wait in
    kube-scheduler's queue, with backoff, queueing hints and the grace periods of victims, while
    simulated time passes. -o csv has a line per pod, -o html curves, -o name the pods that stay
    pending. Ctrl-C ends it after the instant, with the result so far. --from-now requires no
    TIMELINE: it replays the state's own pods and says when the pending ones start. Exit code
    0 when every pod that is not gated found a node, with --from-now in nine draws of ten, 1 when
    some stay pending, 2 when the timeline, state or configuration is broken, 3 when a plugin
    failed.

    Examples:
        ksched replay day.yaml
        ksched replay week.jsonl --autoscaler groups.yaml --checkpoint week.ckpt
        ksched replay --from-now --history yesterday.json
        ksched replay day.yaml --seeds 10 -o json --summary
    """
    _check(options, timeline)
    if options.from_now:
        return _look_forward(options, timeline)
    name = "standard input" if timeline == "-" else timeline
    if options.seeds:
        return _draw(options, timeline, name)
    described = runs.run_of(options, timeline=timeline)
    run = _Run(described, runs.opener(described), options)
    with locked(options.checkpoint, "--checkpoint"):
        replay = run.run()
    runs.report_defects(replay, options.debug)
    if options.save_state and not replay.is_interrupted:
        _save(replay, options.save_state)
    changes = run.opener.state(described).changes
    show(_report(replay, name, options), options, changes)
    if replay.is_interrupted:
        raise EndedBySignal(run.interruption.number)
    return ExitCode.of(not replay.pending(), bool(replay.scheduler.failed))


def _draw(options: ReplayCommandOptions, timeline: str, name: str) -> ExitCode:
    """Several draws of it."""
    from ksched_cli.analysis.compare import replay_draws
    from ksched_cli.report.replay import draws_table
    from ksched_cli.run.differences import NamedRun

    first, count = options.seed or 0, options.seeds or 0
    options = replace(options, tie_break="random", seed=first)
    described = runs.run_of(options, timeline=timeline)
    opener = runs.opener(described)
    runs.introduce(opener.replay(described))
    draws = runs.draws_of([NamedRun("", described)], opener, count)
    (figures,), (curves,) = draws.figures, draws.curves
    answer = replay_draws(name, figures, range(first, first + count), curves)
    show(report_of(answer, draws_table), options, opener.state(described).changes)
    return ExitCode.of(not any(draw["pending"] for draw in figures))


def _look_forward(options: ReplayCommandOptions, timeline: str) -> ExitCode:
    """When the pending pods start."""
    from ksched_cli.analysis.replay_result import forward_look
    from ksched_cli.report.replay import forecast_table
    from ksched_cli.scenario.timelines.dump import RunTimes

    first, until = options.seed or 0, options.until
    options = replace(options, tie_break="random", seed=first, until="")
    described = runs.run_of(options, timeline=timeline)
    opener = runs.opener(described)
    history = RunTimes(warn)
    history.add_dump([path for path in described.states if path != "-"])
    for path in options.history or ():
        history.add(path)
    seeds = range(first, first + (options.seeds or _DRAWS))
    with progress.of_runs("draws") as on_progress:
        answer = forward_look(
            described, opener, history, seeds, until=until, on_progress=on_progress
        )
    show(report_of(answer, forecast_table), options, opener.state(described).changes)
    return ExitCode.of(answer.is_certain)


def _is_data(options: ReplayCommandOptions) -> bool:
    return options.output in (Form.JSON, Form.YAML)


def _lists_pods(options: ReplayCommandOptions) -> bool:
    if _is_data(options):
        return not options.summary
    return options.output is Form.CSV and not options.usage


def _check(options: ReplayCommandOptions, timeline: str) -> None:
    """Raises UsageError for options that exclude or require each other."""
    if not timeline and not options.from_now:
        raise UsageError("replay requires a TIMELINE or --from-now")
    if options.history and not options.from_now:
        raise UsageError("--history has no effect without --from-now")
    data_option = "--trace" if options.trace else "--summary" if options.summary else ""
    if data_option and not _is_data(options):
        raise UsageError(f"{data_option} has no effect without -o json or -o yaml")
    if options.save_state:
        from ksched_cli.live.snapshot_file import check_suffix, check_writable

        check_suffix(options.save_state)
        check_writable(options.save_state)
    if options.usage and options.output is not Form.CSV:
        raise UsageError("--usage has no effect without -o csv")
    if options.seeds or options.from_now:
        _check_draws(options, "--from-now" if options.from_now else "--seeds")


def _check_draws(options: ReplayCommandOptions, option: str) -> None:
    """Raises UsageError for what requires a single draw. option: the one that makes several"""
    given = {
        "--trace": options.trace,
        "--summary": options.summary,
        "--save-state": options.save_state,
        "--checkpoint": options.checkpoint,
        "--record-extenders": options.record_extenders,
        f"-o {options.output.value}": options.output in (Form.CSV, Form.NAME),
    }
    for name in (name for name, is_given in given.items() if is_given):
        raise UsageError(f"{option} cannot be combined with {name}, which requires a single draw")


# -- checkpoints: the replay in a file now and then, and when it is interrupted; resumed from there


INTERVAL = 60.0  # seconds from one checkpoint to the next


@dataclass(slots=True)
class Checkpoints:
    """One replay's checkpoints."""

    path: str
    fingerprint: str
    interruption: Interruption = field(default_factory=Interruption)
    _written: float = field(default_factory=monotonic)

    def resume(self, run: Replay) -> None:
        """Resumes the file's replay, if there is one. Raises InputError, and UsageError where
        the file could not be written."""
        from ksched_cli.engine.replay.checkpoint import read_checkpoint, resume
        from ksched_cli.kube.documents import read_file
        from ksched_cli.live.snapshot_file import check_writable

        check_writable(self.path)
        if not os.path.exists(self.path):
            return
        if not os.path.isfile(self.path):
            raise UsageError(
                f"--checkpoint {self.path}: expected a plain file, from which a replay can resume"
            )
        data, name = read_file(self.path)
        checkpoint = read_checkpoint(data, name, self.fingerprint)
        resume(run, checkpoint, name)
        note(f"resuming {name} at {run.clock.text}")

    def after_instant(self, run: Replay) -> None:
        """Raises EndedBySignal."""
        is_due = self.interruption.number or monotonic() - self._written > INTERVAL
        if not is_due or not run.is_resumable:
            return
        self._write(run)
        if self.interruption.number:
            note(f"interrupted at {run.clock.text}; the same command resumes {self.path}")
            raise EndedBySignal(self.interruption.number)
        self._written = monotonic()

    def _write(self, run: Replay) -> None:
        from ksched_cli.engine.replay.checkpoint import take_checkpoint
        from ksched_cli.live.snapshot_file import written_aside

        check_state(run.cluster)
        with written_aside(self.path, private=True) as file:
            file.write(take_checkpoint(run, self.fingerprint))

    def finish(self) -> None:
        """The replay is over: its checkpoint goes. A link to it stays."""
        Path(os.path.realpath(self.path)).unlink(missing_ok=True)


def check_state(cluster: MutableCluster) -> None:
    """Raises UsageError where a checkpoint would lose something: what a plugin assumes."""
    names = cluster.unsaved()
    if names:
        plugins = ", ".join(names)
        raise UsageError(
            f"--checkpoint cannot save the state of {plugins}: a plugin with carry_over "
            "must also have the methods assumed and assume"
        )


def fingerprint_of(run: Run, opener: Opener, **others: object) -> str:
    """A digest of all that a replay depends on: the Run with its files, the state as it was loaded,
    and what is recorded (others). Raises KschedError."""
    from msgspec.structs import replace as with_fields

    from ksched_cli.run.differences import digest_of
    from ksched_cli.run.inputs import digest
    from ksched_cli.scenario.objects import manifests

    if run.record_extenders or run.replay_extenders:
        recording = "--record-extenders" if run.record_extenders else "--replay-extenders"
        raise UsageError(f"--checkpoint cannot be combined with {recording}, which cannot resume")

    # The state may be of standard input, which has been read, or of a live cluster.
    settings = digest_of(with_fields(run, states=(), live=None), opener.inputs)
    release = opener.release(run).version
    return digest(settings, release, sorted(others.items()), *manifests(opener.state(run)))


# -- the run and its report ----------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    described: Run
    opener: Opener
    options: ReplayCommandOptions
    interruption: Interruption = field(default_factory=Interruption)
    _checkpoints: Checkpoints | None = None

    def run(self) -> Replay:
        """Raises EndedBySignal where it is interrupted and its checkpoint has been written."""
        from ksched_cli.analysis.replay_result import replay_warnings
        from ksched_cli.run.open import Watch

        with progress.of_replay() as shown:

            def on_instant(replay: Replay) -> None:
                shown.after_instant()
                if self._checkpoints is not None:
                    self._checkpoints.after_instant(replay)
                elif self.interruption.number:
                    replay.is_interrupted = True

            watch = Watch(
                traces=self.options.trace,
                keeps_records=_lists_pods(self.options),
                on_instant=on_instant,
            )
            replay = self.opener.replay(self.described, watch)
            runs.introduce(replay)
            if self.options.checkpoint:
                self._resume(replay)
            pace = shown.begin(replay)
            with self.interruption.awaited():
                replay.run()
        if self._checkpoints is not None:
            self._checkpoints.finish()
        warn(*replay_warnings(replay))
        if replay.is_interrupted:
            warn(f"interrupted at {replay.clock.text}: the result covers the time until then")
        _note_speed(replay, pace)
        return replay

    def _resume(self, replay: Replay) -> None:
        """Resumes the checkpoint, if there is one. Raises UsageError."""
        check_state(replay.cluster)
        fingerprint = fingerprint_of(
            self.described,
            self.opener,
            traces=self.options.trace,
            lists_pods=_lists_pods(self.options),
        )
        path = self.options.checkpoint
        self._checkpoints = Checkpoints(path, fingerprint, self.interruption)
        self._checkpoints.resume(replay)


def _report(run: Replay, name: str, options: ReplayCommandOptions) -> Report:
    from ksched_cli.analysis.replay_result import replay_result
    from ksched_cli.report import replay as renderer

    return Report(
        lambda: replay_result(run, name, traces=options.trace),
        table=lambda: renderer.table(run, limit()),
        names=run.pending,
        texts={
            Form.CSV: lambda: (
                renderer.usage_csv(run) if options.usage else renderer.csv_text(run.log.records)
            )
        },
    )


def _note_speed(run: Replay, pace: progress.Pace) -> None:
    if pace.took < _LONG:
        return
    counts = run.log.counts
    events = f"{counts.events:,} events, {counts.attempts:,} attempts"
    note(f"{events} and {counts.ended:,} ends; here {pace.rate:,.0f} a second in {pace.took:.1f} s")


def _save(run: Replay, path: str) -> None:
    """Writes what a snapshot would have of the final state."""
    import msgspec

    from ksched_cli.cluster.trimming import is_written, trimmed
    from ksched_cli.kube.plain_json import plain_json
    from ksched_cli.live.snapshot import ClusterSnapshot
    from ksched_cli.live.snapshot_file import snapshot_text, written_aside
    from ksched_cli.scenario.objects import manifests

    state = run.state()
    objects = (
        msgspec.json.encode(trimmed(obj))
        for obj in map(plain_json, manifests(state))
        if is_written(obj.get("apiVersion") or "", obj["kind"], state.others)
    )
    # Whoever reads the file decides by the same release.
    version = state.server_version
    about = ClusterSnapshot("", version, "", ()) if version else None
    with written_aside(path) as file:
        for part in snapshot_text(objects, lambda: about):
            file.write(part)
