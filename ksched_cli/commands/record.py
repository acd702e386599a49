"""`ksched record`: what happens in a live cluster, as a timeline with the state to begin with."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from ksched_cli.commands.command_line import option
from ksched_cli.commands.options import ClusterReadingOptions, RedactKey
from ksched_cli.commands.output import show, warn
from ksched_cli.commands.signals import Interruption
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.file_lock import locked

if TYPE_CHECKING:
    from ksched_cli.live.recorder import RecordingLimits

_NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True)
class RecordOptions(ClusterReadingOptions):
    """The options of `record`.

    duration DURATION: Stop after this time, such as 24h; by default on Ctrl-C.
    part_size SIZE: Start a new part when a timeline reaches this size, such as 100Mi.
    redact: Rename everything that has a name, like snapshot.
    sources FILE: Read kubectl's watches or audit logs; repeatable.
    state PATH: With --from: the state at first; repeatable.
    """

    HELP: ClassVar = {"feature_gates": "Record the pod groups that these gates schedule, too."}

    duration: Annotated[str, option(name="--for")] = ""
    part_size: str = ""
    redact: bool = False
    redact_key: RedactKey = ""
    sources: Annotated[list[str] | None, option(name="--from")] = None
    state: list[str] | None = None


def record(
    options: RecordOptions,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Timeline to write, *.jsonl or *.jsonl.gz.", show_default=False
        ),
    ],
) -> ExitCode:
    """What happens in a live cluster, as a timeline to replay.

    Writes the state to FILE.state.json, then every change to FILE until Ctrl-C, SIGTERM or the end
    of --for; where FILE exists, to another part. --from reads what `kubectl get --watch
    --output-watch-events -o json` printed, or with --state an audit log. Exit code 2 when the
    cluster does not answer at first, or refuses the credentials; what was recorded stays.

    Examples:
        ksched record week.jsonl --for 7d
        ksched record day.jsonl --from pods.json --from nodes.json
    """
    from ksched_cli.kube.gates import group_kinds
    from ksched_cli.live.client import connect
    from ksched_cli.live.recorder import Recorder
    from ksched_cli.live.snapshot_file import parts

    files = parts(file)
    if options.sources:
        from ksched_cli.live.other_records import record_files

        about_cluster = {
            "--for": options.duration,
            "--part-size": options.part_size,
            "--redact": options.redact or options.redact_key,
            "--kubeconfig": options.kubeconfig,
            "--context": options.context,
            "--namespace": options.namespace,
        }
        for name, value in about_cluster.items():
            if value:
                raise UsageError(f"--from reads files, and cannot be combined with {name}")
        result = record_files(next(files), options.sources, options.state or (), warn)
        return show(result, options)
    if options.state:
        raise UsageError("--state requires --from")
    interruption = Interruption()
    limits = _limits(options, interruption)
    server = connect(options.kubeconfig, options.context)
    with ExitStack() as stack:
        redactor = None
        if options.redact or options.redact_key:
            from ksched_cli.commands.snapshot_files import RecordingRedactor

            stack.enter_context(locked(options.redact_key, "--redact-key"))
            redactor = RecordingRedactor(options.redact_key)
            stack.callback(redactor.save)
        reads = group_kinds(options.given["feature_gates"])
        recorder = Recorder(server, options.namespace, files, limits, warn, redactor, reads)
        with interruption.awaited():
            recorder.run()
    return show(recorder.result(), options)


def _limits(options: RecordOptions, interruption: Interruption) -> RecordingLimits:
    """Return when the recording ends, and how large its parts are. Raises UsageError."""
    from ksched_cli.kube.formatting import DurationError, parse_duration
    from ksched_cli.kube.quantity import Quantity, QuantityError
    from ksched_cli.live.recorder import RecordingLimits

    seconds = part_bytes = None
    if options.duration:
        try:
            seconds = parse_duration(options.duration) / _NANOSECONDS
        except DurationError as error:
            raise UsageError(
                f"--for {options.duration}: {error}; expected a duration such as 24h or 90m"
            ) from None
        if seconds <= 0:
            raise UsageError(f"--for {options.duration}: expected a duration above 0")
    if options.part_size:
        try:
            part_bytes = Quantity.parse(options.part_size).value()
        except QuantityError:
            part_bytes = 0
        if part_bytes <= 0:
            raise UsageError(f"--part-size {options.part_size}: expected a size such as 100Mi")
    return RecordingLimits(seconds, part_bytes, lambda: bool(interruption.number))
