"""`ksched snapshot`: what the plugins read, from a live cluster to one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli import program_name
from ksched_cli.commands import runs
from ksched_cli.commands.options import ClusterReadingOptions, RedactKey
from ksched_cli.commands.output import results
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.file_lock import locked
from ksched_cli.report.forms import Form

STDOUT = "-"


@dataclass(frozen=True, slots=True)
class SnapshotOptions(ClusterReadingOptions):
    """The options of `snapshot`.

    state PATH: Read these files instead of a cluster; repeatable.
    full: Write whole objects, with environment and annotations, which may hold secrets.
    events: Add the schedulers' events, for ksched audit --after.
    redact: Rename everything with a name; check that all decisions stay the same.
    """

    state: list[str] | None = None
    full: bool = False
    events: bool = False
    redact: bool = False
    redact_key: RedactKey = ""


def snapshot(
    options: SnapshotOptions,
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE]",
            help="*.json or *.json.gz; - or none is standard output.",
            show_default=False,
        ),
    ] = "",
) -> ExitCode:
    """What the plugins read, from a live cluster to one file.

    Writes nodes, pods and everything else that scheduling depends on, without environment,
    commands, configuration and annotations that nobody reads. A kind that may not be listed is a
    warning, with the consequence. All commands read the file with --state FILE. Exit code 0 when it
    is written, 1 when pods of the redacted state end up elsewhere, 2 when the cluster does not
    answer, or nodes or pods may not be listed; an older file stays then.

    Examples:
        ksched snapshot cluster.json.gz
        ksched snapshot cluster.json.gz --redact --redact-key key.json
        ksched snapshot | ksched schedule --state -
    """
    from ksched_cli.commands.snapshot_files import Origin, write_plain, write_redacted
    from ksched_cli.live.snapshot_file import check_suffix
    from ksched_cli.plugins import kinds_read

    check_suffix(file)
    if not file and results().isatty():
        raise UsageError(
            f"FILE is missing: {program_name()} snapshot cluster.json.gz; "
            "- writes to standard output"
        )
    path = "" if file == STDOUT else file
    if not path and options.output is not Form.TABLE:
        raise UsageError(
            f"-o {options.output.value} shows the summary, which requires FILE; the snapshot "
            "itself is JSON"
        )
    origin = Origin(
        options.state or (),
        options.context,
        options.kubeconfig,
        options.namespace,
        options.full,
        options.events,
        options.given["allow_empty_state"],
    )
    origin.check()
    if options.full and (options.redact or options.redact_key):
        raise UsageError("--full cannot be combined with --redact")
    if options.events and (options.redact or options.redact_key):
        raise UsageError("--events cannot be combined with --redact")
    run = runs.run_of(options)
    reads = kinds_read(runs.opener(run).plugins(run), run.feature_gates)
    if options.redact or options.redact_key:
        with locked(options.redact_key, "--redact-key"):
            return write_redacted(options, origin, reads, path, options.redact_key)
    return write_plain(options, origin, reads, path)
