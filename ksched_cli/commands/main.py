"""`ksched`: the commands, and the one place where failures become exit codes.

Command modules import what is slow inside their functions, so that `--help` and completion load
neither NumPy nor jsonschema.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from ksched_cli import __version__
from ksched_cli.commands import config
from ksched_cli.commands.audit import audit
from ksched_cli.commands.capacity import capacity
from ksched_cli.commands.command import ExitCode, as_command
from ksched_cli.commands.command_line import Command, CommandGroup, CommandLineError, described
from ksched_cli.commands.compare import compare
from ksched_cli.commands.drift import drift
from ksched_cli.commands.explain import explain
from ksched_cli.commands.plugins import plugins
from ksched_cli.commands.preempt import preempt
from ksched_cli.commands.replay import replay
from ksched_cli.commands.schedule import schedule
from ksched_cli.commands.signals import EndedBySignal, end_by, raised_signals
from ksched_cli.commands.snapshot import snapshot
from ksched_cli.commands.sweep import sweep
from ksched_cli.commands.test import test
from ksched_cli.commands.tune import tune
from ksched_cli.commands.validate import validate
from ksched_cli.errors import KschedError, OutputError, ReaderGoneError

COMMANDS: tuple[Callable[..., ExitCode], ...] = (
    validate,
    schedule,
    explain,
    preempt,
    capacity,
    compare,
    drift,
    audit,
    replay,
    snapshot,
    test,
    sweep,
    tune,
    plugins,
)
GROUPS: tuple[tuple[str, typer.Typer], ...] = (("config", config.app),)

# New objects between two collections; Python's default of 700 is for programs that run longer.
_GC_THRESHOLD = 50_000

# Errors of writing to a stream; help and the version are printed by typer.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

app = typer.Typer(
    name="ksched",
    cls=CommandGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in COMMANDS:
    app.command(cls=Command)(as_command(command))
for name, group in GROUPS:
    app.add_typer(group, name=name)


def _print_version(requested: bool) -> None:
    if requested:
        from ksched_cli.kube.versions import MINORS

        versions = f"{', '.join(MINORS[:-1])} or {MINORS[-1]}"
        print(f"ksched {__version__}, decides as kube-scheduler {versions}")
        raise typer.Exit


@app.callback()
def ksched(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """What kube-scheduler would decide, and why, without a cluster."""


def main() -> NoReturn:
    """The console entry. Exit codes: 0 yes, 1 no, 2 cannot be asked, 3 a defect, 141 nobody
    reads."""
    # Most of what a command makes stays until its end: fewer collections of cyclic garbage.
    gc.set_threshold(_GC_THRESHOLD, *gc.get_threshold()[1:])
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # until the end
    if sys.stdout is None:
        sys.exit(_report_error(OutputError()))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Lone surrogates, and what the terminal's encoding lacks, are shown escaped.
        sys.stdout.reconfigure(errors="backslashreplace")
    code = _run()
    try:
        # typer swallows the error of a pipe that nobody reads, and wraps the stream.
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":
            raise BrokenPipeError
        sys.stdout.flush()
    except OSError as error:
        is_reader_gone = isinstance(error, BrokenPipeError)
        if code not in (OutputError.exit_code, ReaderGoneError.exit_code):
            code = _report_error(ReaderGoneError() if is_reader_gone else OutputError(error))
        # The interpreter must not flush what is left into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _run() -> int | str | None:
    """Runs the command that the arguments name, and returns its exit code."""
    try:
        with raised_signals():
            code: int | None = app(prog_name=_program_name(), standalone_mode=False)
    except EndedBySignal as ended:
        end_by(ended.number)
    except SystemExit as exit:
        return exit.code
    except CommandLineError as error:
        return _report_error(described(error))
    except KschedError as error:
        return _report_error(error)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
            return _report_error(OutputError(error))
        return _report_defect(error)
    return code


def _program_name() -> str:
    """As it was called, or as a plugin of kubectl; "ksched" of `python -m ksched_cli`. Without it,
    typer names the module that Python was started with, whoever called main."""
    name = os.path.basename(sys.argv[0])
    return name if name.endswith("ksched") else "ksched"


def _report_error(error: KschedError) -> int:
    if not isinstance(error, ReaderGoneError):
        from ksched_cli.report.table import printable

        print(f"error: {printable(str(error))}", file=sys.stderr)
    return error.exit_code


def _report_defect(error: Exception) -> int:
    """Writes the traceback to a file to attach to a bug report."""
    text = "".join(traceback.format_exception(error))
    summary = f"ksched has a defect: {type(error).__name__}: {error}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="ksched-", suffix=".traceback.txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        print(f"{summary}\n  the traceback is in {file.name}; please report it", file=sys.stderr)
    except OSError:
        print(f"{summary}\n{text}", file=sys.stderr)
    return ExitCode.DEFECT
