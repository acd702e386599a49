"""`ksched`: the commands, and the one place where failures become exit codes.

Only the module of the command that is run is imported. Command modules import what is slow inside
their functions, so that `--help` and completion load neither NumPy nor jsonschema.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from ksched_cli import __version__, program_name
from ksched_cli.commands.command import as_command
from ksched_cli.commands.command_errors import CommandLineError, described
from ksched_cli.commands.command_line import CommandGroup, ExampleCommand
from ksched_cli.commands.signals import EndedBySignal, end_by, raised_signals
from ksched_cli.errors import (
    ExitCode,
    KschedError,
    OutputError,
    ReaderGoneError,
    UsageError,
    is_of_decisions,
    shortened_lines,
)
from ksched_cli.kube.job_commands import disarmed_errors
from ksched_cli.kube.streams import occupy_closed_streams, unfailing
from ksched_cli.kube.versions import MINORS

# The panels of --help, with their commands in its order.
PANELS = {
    "Ask a cluster": ("schedule", "status", "explain", "preempt", "fix", "drift"),
    "Plan": ("drain", "capacity", "shrink", "compare", "replay", "timeline", "sweep", "tune"),
    "Configure": ("validate", "config", "test", "plugins"),
    "Live clusters": ("snapshot", "record", "audit"),
    "Serve": ("serve",),
}
# Commands that have commands: the module of each has their functions, and the group's HELP.
GROUPS = {
    "config": ("show", "diff", "migrate"),
    "timeline": ("from_dump", "generate", "from_csv"),
    "serve": ("extender", "page", "mcp"),
}
# The others: the module of each has a function of its name.
COMMANDS = tuple(name for names in PANELS.values() for name in names if name not in GROUPS)

# Errors of writing to a stream; help and the version are printed by typer.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def application(names: Collection[str] = (*COMMANDS, *GROUPS)) -> typer.Typer:
    """Return the command line with these commands, whose modules are imported."""
    return _built(names, as_command)


def listing() -> typer.Typer:
    """Return the command line with all commands, without their options: for help, nothing that
    these need is imported."""

    def listed(function: Callable[..., ExitCode]) -> Callable[[], None]:
        def command() -> None:
            raise AssertionError("it is listed, not called")

        command.__doc__ = function.__doc__
        return command

    return _built((*COMMANDS, *GROUPS), listed)


def _built(names: Collection[str], command_of: Callable[..., Callable[..., None]]) -> typer.Typer:
    app = _group("ksched")
    app.callback()(ksched)

    def add(group: typer.Typer, function: Callable[..., ExitCode], name: str, panel: str) -> None:
        group.command(name, cls=ExampleCommand, rich_help_panel=panel)(command_of(function))

    for name, panel in ((name, title) for title in PANELS for name in PANELS[title]):
        if name not in names:
            continue
        module = import_module(f"ksched_cli.commands.{name}")
        if name not in GROUPS:
            add(app, getattr(module, name), name, panel)
            continue
        group = _group(name, module.HELP)
        for inner in GROUPS[name]:
            add(group, getattr(module, inner), inner.replace("_", "-"), "")
        app.add_typer(group, name=name, rich_help_panel=panel)
    return app


def _group(name: str, help_text: str = "") -> typer.Typer:
    return typer.Typer(
        name=name,
        help=help_text or None,
        cls=CommandGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _application_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the command line that these arguments need: of the command that they name; of all of
    them for completion; their names alone for help and for a misspelt one."""
    if any(name.endswith("_COMPLETE") for name in os.environ if "KSCHED" in name):
        return application()
    line = arguments[1:] if arguments[:1] == ["help"] else arguments
    if line and line[0] in (*COMMANDS, *GROUPS):
        return application(line[:1])
    return listing()


def _print_version(context: typer.Context, requested: bool) -> None:
    if not requested:
        return
    versions = f"{', '.join(MINORS[:-1])} or {MINORS[-1]}"
    print(f"ksched {__version__}, decides as kube-scheduler {versions}")
    if context.params["verbose"]:
        # What a report of a fault needs: Python, platform, and the distributions installed that
        # ksched uses, or that bring it plugins.
        import platform
        from importlib import metadata

        print(
            f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}"
        )
        installed = {d.name.lower(): d for d in metadata.distributions()}
        required = installed["ksched"].requires or [] if "ksched" in installed else []
        names = {
            re.split(r"[^\w.-]", text)[0].lower()
            for text in required
            if not re.search(r"extra == .(test|dev|release)", text)
        }
        names |= {name for name, d in installed.items() if d.entry_points.select(group="ksched")}
        for name in sorted(names & installed.keys()):
            print(f"{name} {installed[name].version}")
    raise typer.Exit


def ksched(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, help="Print the version."),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            is_eager=True,  # known when --version prints, wherever it stands
            help="With --version: also print what a bug report needs.",
        ),
    ] = False,
) -> None:
    """What kube-scheduler would decide, and why, without a cluster."""
    if verbose:
        raise UsageError("--verbose requires --version; commands have --debug instead")


def main() -> NoReturn:
    """Run the console entry. Exit codes: 0 yes, 1 no, 2 cannot be asked, 3 a defect, 141 nobody
    reads."""
    exit_after(_run)


def exit_after(run: Callable[[], int | str | None]) -> NoReturn:
    """End the process with the exit code that is returned, or with that of standard output if it
    cannot be written."""
    occupy_closed_streams()
    sys.stderr = unfailing(sys.stderr)
    if sys.stdout is None:
        sys.exit(_report_error(OutputError()))
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Lone surrogates, and what the terminal's encoding lacks, are shown escaped.
        sys.stdout.reconfigure(errors="backslashreplace")
    with disarmed_errors():
        try:
            code = run()
        except KschedError as error:
            code = _report_error(error)
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
    """Run the command that the arguments name, and return its exit code. Raises KschedError."""
    try:
        with raised_signals():
            app = _application_for(sys.argv[1:])
            code: int | None = app(prog_name=program_name(), standalone_mode=False)
    except EndedBySignal as ended:
        end_by(ended.number)
    except SystemExit as exit:
        return exit.code
    except CommandLineError as error:
        return _report_error(described(error, sys.argv[1:]))
    except KschedError:
        raise
    except RecursionError as error:
        if is_of_decisions(error):
            return _report_defect(error)
        return _report_error(KschedError("an input file is nested too deeply"))
    except MemoryError:
        hint = "allow more, or ask about fewer nodes and pods"
        return _report_error(KschedError(f"the memory that ksched may use is not enough\n  {hint}"))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
            return _report_error(OutputError(error))
        return _report_defect(error)
    return code


def _report_error(error: KschedError) -> int:
    if not isinstance(error, ReaderGoneError):
        from ksched_cli.report.words import printable

        print(f"error: {printable(shortened_lines(str(error)))}", file=sys.stderr)
    return error.exit_code


def _report_defect(error: Exception) -> int:
    """Write the traceback to a file to attach to a bug report."""
    import tempfile

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
