"""`ksched audit`: whether a real scheduler decided as a configuration says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ksched_cli.commands.options import (
    OF_CONFIGURATION,
    All,
    CommonOptions,
    Debug,
)
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.file_paths import check_standard_input


@dataclass(frozen=True, slots=True)
class AuditOptions(CommonOptions):
    """Options of `audit`, which asks about a recording, or two states.

    before PATH: The state before the decisions, as --state elsewhere; repeatable.
    after PATH: The state after them, best with the scheduler's events; repeatable.
    scheduler_log FILE: kube-scheduler's log of that time, at -v=3 or -v=4; repeatable.
    timeline FILE: Audit this recording by ksched record, whose state is the default --before.
    """

    TAKES: ClassVar = (
        *OF_CONFIGURATION,
        *("configuration", "allow_empty_state", "replay_extenders", "plugin_timeout"),
    )

    before: list[str] | None = None
    after: list[str] | None = None
    scheduler_log: list[str] | None = None
    timeline: str = ""
    everything: All = False
    debug: Debug = False


def audit(options: AuditOptions) -> ExitCode:
    """Did a real scheduler decide as this configuration says?

    Repeats every decision of a recording, in its order, on the cluster as the real scheduler saw
    it. A decision agrees when the real node is among the best. Two states need the scheduler's log,
    which has the order; a recording may have it, too. -o name lists the pods that differ. Exit code
    0 when no decision differs, 1 when some do, 3 when a plugin failed.

    Examples:
        ksched audit --timeline week.jsonl
        ksched audit --timeline week.jsonl --scheduler-log log.txt
        ksched audit --before a.json --after b.json --scheduler-log log.txt
    """
    from ksched_cli.analysis.audit.question import Audit
    from ksched_cli.live.snapshot_file import state_path

    if options.timeline and options.after:
        raise UsageError("--timeline cannot be combined with --after")
    if not options.timeline and not (options.before and options.after):
        raise UsageError(
            "audit requires a recording, --timeline FILE, or two states and the scheduler's log, "
            "--before PATH --after PATH --scheduler-log FILE"
        )
    if options.after and not options.scheduler_log:
        raise UsageError(
            "two states do not show the order of the decisions between them: add --scheduler-log "
            "FILE, kube-scheduler's log of that time at -v=3 or more; or record the cluster with "
            "ksched record, and audit the recording with --timeline FILE"
        )
    before = options.before or [state_path(options.timeline)]
    logs = options.scheduler_log or []
    check_standard_input(
        {
            "--before": before,
            "--after": options.after or [],
            "--config": [options.given["config"]],
            "--scheduler-log": logs,
        }
    )
    question = Audit(
        after=tuple(options.after or ()), recording=options.timeline, scheduler_logs=tuple(logs)
    )
    run = run_of(options, states=tuple(before), workloads=False)
    return show(answered(question, run), options)
