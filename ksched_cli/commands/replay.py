"""`ksched replay`: a timeline of changes to a cluster, in simulated time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from ksched_cli.commands.options import Seeds, StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.commands.signals import EndedBySignal
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.run.run import Run

_DRAWS = 20  # of --from-now


@dataclass(frozen=True, slots=True)
class ReplayCommandOptions(StateOptions):
    """Options of `replay`: a field per option.

    summary: Leave individual pods out of -o json and -o yaml.
    trace: With -o json or yaml: add every attempt with its time.
    save_state FILE.json: Write the final cluster state, for --state.
    usage: With -o csv: a line per moment with an event, not per pod.
    from_now: Predict when pending pods start: p50 and p90 over --seeds draws, default 20.
    metric FILE.py:FUNCTION: Show this function of the snapshot and the record; repeatable.
    history FILE: With --from-now: dump or timeline that gives run times; repeatable.
    """

    LEAVES: ClassVar = ("timeline",)  # an argument here

    summary: bool = False
    trace: bool = False
    save_state: str = ""
    usage: bool = False
    seeds: Seeds = None
    from_now: bool = False
    metric: list[str] | None = None
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
    pending. Ctrl-C ends it, with the result so far. --from-now requires no TIMELINE: it replays
    the state's own pods and says when the pending ones start. Exit code 0 when every pod that is
    not gated found a node, with --from-now in nine draws of ten, 1 when some stay pending, 2 when
    an input is broken, 3 when a plugin failed.

    Examples:
        ksched replay day.yaml
        ksched replay week.jsonl --autoscaler groups.yaml
        ksched replay --from-now --history yesterday.json
        ksched replay day.yaml --seeds 10 -o json --summary
    """
    _check(options, timeline)
    if options.from_now:
        from ksched_cli.analysis.replay_result import LookForward

        run = _drawn(options, timeline=timeline, until="")
        look = LookForward(
            history=tuple(options.history or ()),
            draws=options.seeds or _DRAWS,
            until=options.given["until"],
        )
        return show(answered(look, run), options)
    if options.seeds:
        from ksched_cli.sweep.draws import DrawReplay

        run = _drawn(options, timeline=timeline)
        draws = DrawReplay(seeds=options.seeds, metrics=tuple(options.metric or ()))
        return show(answered(draws, run), options)
    from ksched_cli.analysis.replay_result import ReplayTimeline
    from ksched_cli.commands.observer import ReplayTerminal

    has_pods = options.output in (Form.CSV, Form.PARQUET, Form.HTML) and not options.usage
    observer = ReplayTerminal()
    question = ReplayTimeline(
        trace=options.trace,
        lists_pods=not options.summary if _is_data(options) else has_pods,
        all_moments=options.usage,
        metrics=tuple(options.metric or ()),
    )
    answer = answered(question, run_of(options, timeline=timeline), observer=observer)
    replay = observer.replay
    assert replay is not None
    if options.save_state and not replay.is_interrupted:
        _save(replay, options.save_state)
    code = show(answer, options)
    if replay.is_interrupted:
        raise EndedBySignal(observer.interruption.number)
    return code


def _drawn(options: ReplayCommandOptions, **fields: Any) -> Run:
    """Return the Run whose ties are drawn, from its seed on."""
    seed = options.given["seed"] or 0
    return run_of(options, tie_break="random", seed=seed, **fields)


def _is_data(options: ReplayCommandOptions) -> bool:
    return options.output in (Form.JSON, Form.YAML)


def _check(options: ReplayCommandOptions, timeline: str) -> None:
    """Check options that exclude or require each other. Raises UsageError."""
    if not timeline and not options.from_now:
        raise UsageError("replay requires a TIMELINE or --from-now")
    if options.history and not options.from_now:
        raise UsageError("--history has no effect without --from-now")
    if options.metric and options.from_now:
        raise UsageError("--metric has no effect with --from-now")
    data_option = "--trace" if options.trace else "--summary" if options.summary else ""
    if data_option and not _is_data(options):
        raise UsageError(f"{data_option} has no effect without -o json or -o yaml")
    if options.save_state:
        from ksched_cli.live.snapshot_file import check_suffix, check_writable

        check_suffix(options.save_state)
        check_writable(options.save_state)
    if options.usage and options.output not in (Form.CSV, Form.PARQUET):
        raise UsageError("--usage has no effect without -o csv or parquet")
    if options.seeds or options.from_now:
        several = "--from-now" if options.from_now else "--seeds"
        single_only = {
            "--trace": options.trace,
            "--summary": options.summary,
            "--save-state": options.save_state,
            "--record-extenders": options.given["record_extenders"],
            "--usage": options.usage,
            f"-o {options.output.value}": options.output is Form.NAME,
        }
        for name in (name for name, is_given in single_only.items() if is_given):
            raise UsageError(
                f"{several} cannot be combined with {name}, which requires a single draw"
            )


def _save(run: Replay, path: str) -> None:
    """Write what a snapshot would have of the final state."""
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
