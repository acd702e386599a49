"""`ksched snapshot`: what the plugins read, from a live cluster to one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import CommonOptions
from ksched_cli.errors import UsageError
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.live.lists import ObjectList
    from ksched_cli.live.snapshot import ClusterReader

STDOUT = "-"


def snapshot(
    options: CommonOptions,
    file: Annotated[
        str,
        typer.Argument(
            metavar="[FILE]",
            help="*.json or *.json.gz; standard output where it is - or not given.",
            show_default=False,
        ),
    ] = "",
    context: Annotated[
        str,
        typer.Option(
            "--context",
            metavar="NAME",
            help="A context of the kubeconfig, not its current one.",
            show_default=False,
        ),
    ] = "",
    kubeconfig: Annotated[
        str,
        typer.Option(
            "--kubeconfig",
            metavar="PATH",
            help="Instead of $KUBECONFIG, else ~/.kube/config; in a pod, its service account.",
            show_default=False,
        ),
    ] = "",
    namespace: Annotated[
        str,
        typer.Option(
            "-n",
            "--namespace",
            metavar="NAME",
            help="What to list where lists of all namespaces are forbidden. Without it: the "
            "context's.",
            show_default=False,
        ),
    ] = "",
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Objects as the API server has them: with environment, commands, annotations and "
            "managed fields. Secrets may be among them.",
        ),
    ] = False,
) -> ExitCode:
    """What the plugins read, from a live cluster to one file.

    Nodes, pods, and whatever else scheduling depends on, without environment, commands,
    configuration and annotations that nobody reads. A kind that may not be listed is a warning that
    says what comes out less exact. `ksched schedule --state FILE` and all other commands read the
    file. Exit code 0 when it is written, 2 when the cluster does not answer; then there is no file.
    """
    from ksched_cli.commands import progress, session
    from ksched_cli.commands.output import limit, show, warn
    from ksched_cli.live.kubeconfig import ClusterOptions, connect
    from ksched_cli.live.snapshot import ClusterReader
    from ksched_cli.report import snapshot as renderer
    from ksched_cli.report.forms import Report

    to_stdout = _is_stdout(file, options.output)
    registry = session.usable_plugins(options.plugin)
    server = connect(ClusterOptions(kubeconfig, context))
    with progress.of_objects() as on_progress:
        reader = ClusterReader(
            server,
            reads=registry.reads,
            namespace=namespace,
            whole=full,
            on_progress=on_progress,
        )
        size = _write(reader, "" if to_stdout else file)
    for line in reader.snapshot.warnings:
        warn(line)
    if not to_stdout:
        written = renderer.Written(file, size, server.identity.source, reader.snapshot)
        show(
            Report(
                document=lambda: renderer.document(written),
                table=lambda: renderer.table(written, limit()),
            ),
            options.output,
        )
    return ExitCode.YES


def _is_stdout(file: str, form: Form) -> bool:
    """Raises UsageError where the file's name or the form cannot be."""
    from ksched_cli.commands.output import results
    from ksched_cli.live.snapshot_file import check_suffix

    check_suffix(file)
    if file not in ("", STDOUT):
        return False
    if not file and results().isatty():
        raise UsageError(
            "FILE is missing: ksched snapshot cluster.json.gz; - writes to standard output"
        )
    if form is not Form.TABLE:
        raise UsageError(
            f"-o {form.value} is of the summary, which needs FILE; the snapshot itself is JSON"
        )
    return True


def _write(reader: ClusterReader, file: str) -> int:
    """To standard output, whole or not at all, where there is no file. Returns the file's size."""
    import os

    from ksched_cli.commands.output import print_text
    from ksched_cli.live.snapshot_file import snapshot_text, written_aside

    parts = snapshot_text(_objects(reader.lists()), lambda: reader.snapshot)
    if not file:
        print_text(b"".join(parts).decode().rstrip("\n"))
        return 0
    with written_aside(file) as out:
        for part in parts:
            out.write(part)
    return os.path.getsize(file)


def _objects(lists: Iterable[ObjectList]) -> Iterator[bytes]:
    for objects in lists:
        yield from objects.items
