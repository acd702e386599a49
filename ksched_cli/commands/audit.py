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
    """Options of `audit`, which asks about two states.

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
    from ksched_cli.analysis.audit.question import Audit
    from ksched_cli.live.snapshot_file import state_path

    if options.timeline and options.after:
        raise UsageError("--timeline cannot be combined with --after")
    if not options.timeline and not (options.before and options.after):
        raise UsageError(
            "audit requires two states, --before PATH and --after PATH, or a recording, "
            "--timeline FILE"
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
