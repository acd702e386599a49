"""`ksched audit`: whether a real scheduler decided as a configuration says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ksched_cli.commands import progress, runs
from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import (
    All,
    CommonOptions,
    Config,
    Debug,
    ExtendersFile,
    PluginTimeout,
)
from ksched_cli.commands.output import report_of, show, warn
from ksched_cli.errors import UsageError
from ksched_cli.kube.file_paths import check_standard_input

if TYPE_CHECKING:
    from ksched_cli.analysis.audit.decisions import DecisionLog, LogLine
    from ksched_cli.engine.simulation import Simulation
    from ksched_cli.run.run import Run


@dataclass(frozen=True, slots=True)
class AuditOptions(CommonOptions):
    """Options of `audit`, which asks about two states.

    before PATH: The state before the decisions, as --state elsewhere; repeatable.
    after PATH: The state after them, best with the scheduler's events; repeatable.
    scheduler_log FILE: kube-scheduler's log of that time, at -v=3 or -v=4; repeatable.
    timeline FILE: Audit this recording by ksched record, whose state is the default --before.
    """

    before: list[str] | None = None
    after: list[str] | None = None
    scheduler_log: list[str] | None = None
    timeline: str = ""
    config: Config = None
    replay_extenders: ExtendersFile = ""
    everything: All = False
    debug: Debug = False
    plugin_timeout: PluginTimeout = 0


def audit(options: AuditOptions) -> ExitCode:
    """Did a real scheduler decide as this configuration says?

    Repeats every decision between two states of a cluster, in its order, on the cluster as the real
    scheduler saw it. A decision agrees when the real node is among the best. The order is that of
    the bindings, or of the scheduler's events where --after has them (kubectl get events -A -o
    json); --scheduler-log has the exact order. --timeline audits a recording instead. -o name lists
    the pods that differ. Exit code 0 when no decision differs, 1 when some do, 3 when a plugin
    failed.

    Examples:
        ksched audit --before before.json.gz --after after.json.gz
        ksched audit --timeline week.jsonl
        ksched audit --before a.json --after b.json --scheduler-log log.txt
    """
    from ksched_cli.analysis.audit import audit as analysis
    from ksched_cli.report import audit as renderer

    if options.timeline:
        if options.after:
            raise UsageError("--timeline cannot be combined with --after")
        open_simulation, decision_log = _open_recording(options)
    elif not options.before or not options.after:
        raise UsageError(
            "audit requires two states, --before PATH and --after PATH, or a recording, "
            "--timeline FILE"
        )
    else:
        open_simulation, decision_log = _open(options, options.before, options.after)
    simulations = [open_simulation()]
    runs.introduce(simulations[0])

    def reopen() -> Simulation:
        simulations.append(open_simulation())
        return simulations[-1]

    with progress.of_pods("decisions judged") as on_progress:
        answer = analysis.audit(reopen, decision_log, on_progress)
    failed = [simulation for simulation in simulations if simulation.caller.defects]
    for simulation in failed[:1]:
        runs.report_defects(simulation, options.debug)
    report = report_of(answer, renderer.table)
    show(replace(report, names=lambda: renderer.names(answer)), options)
    return ExitCode.of(not answer.differ, is_undecided=bool(failed))


def _open(
    options: AuditOptions, before: list[str], after: list[str]
) -> tuple[Callable[[], Simulation], DecisionLog]:
    """What makes a simulation to replay the decisions. Raises KschedError."""
    from ksched_cli.analysis.audit.decision_log import EVENT_KINDS, read_decision_log, why_swapped
    from ksched_cli.analysis.audit.decisions import OrderSource
    from ksched_cli.cluster.loading.load import load_state

    logs = options.scheduler_log or []
    config = [options.config]
    check_standard_input(
        {"--before": before, "--after": after, "--config": config, "--scheduler-log": logs}
    )
    run = _run(options, before)
    opener = runs.opener(run, reads=frozenset(EVENT_KINDS))
    state, later = opener.state(run), load_state(after, reads=opener.kinds(run))
    reason = why_swapped(state, later)
    if reason:
        raise UsageError(f"--before is later than --after ({reason}): swap them")
    warn(*(line for line in later.warnings if line not in state.warnings))
    configuration = opener.configuration(run)
    names = {profile.scheduler_name for profile in configuration.profiles}
    log = _log(logs) if logs else []
    decision_log = read_decision_log(state, later, names, log)
    if log and decision_log.order is not OrderSource.LOG:
        warn(f"ignored {', '.join(logs)}: it lacks attempts of pods that were placed")

    def open_simulation() -> Simulation:
        simulation = opener.simulation(run, state=decision_log.state)
        simulation.newcomers += decision_log.newcomers
        return simulation

    return open_simulation, decision_log


def _open_recording(options: AuditOptions) -> tuple[Callable[[], Simulation], DecisionLog]:
    """Raises KschedError."""
    from ksched_cli.analysis.audit.recorded_decisions import read_recording
    from ksched_cli.live.snapshot_file import state_path
    from ksched_cli.scenario.timeline import read_timeline

    path, logs = options.timeline, options.scheduler_log or []
    run = _run(options, options.before or [state_path(path)])
    opener = runs.opener(run)
    state = opener.base_state(run)
    timeline = read_timeline(path, state, reads=opener.kinds(run), warn=warn)
    if timeline.start is None:
        raise UsageError(f"{path} has no `start`, which ksched record writes; name a recording")
    names = {profile.scheduler_name for profile in opener.configuration(run).profiles}
    log = _log(logs) if logs else []
    decision_log = read_recording(state, timeline.events(), timeline.start, names, log)
    return lambda: opener.simulation(run, state=decision_log.state), decision_log


def _run(options: AuditOptions, states: list[str]) -> Run:
    from msgspec.structs import replace as with_fields

    run = with_fields(
        runs.configured_run(options, options.config),
        states=tuple(states),
        workloads=False,
        extenders=not options.no_extenders,
        replay_extenders=options.replay_extenders,
        plugin_timeout=options.plugin_timeout,
    )
    run.check()
    return run


def _log(paths: list[str]) -> list[LogLine]:
    """Warns of one without what is read of it. Raises InputError."""
    from ksched_cli.analysis.audit.decisions import read_logs
    from ksched_cli.kube.documents import read_file

    lines = read_logs(map(read_file, paths))
    if not lines:
        warn(
            f"{', '.join(paths)} has no attempts to schedule pods; kube-scheduler logs them "
            "at -v=3 and above"
        )
    return lines
