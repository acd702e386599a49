"""Runs command lines with standard streams of each kind, in a process each, and prints how each
ended: `python -m tests.commands.stream_table`, in the folder to run in.

A line of its input is a JSON array of the arguments and the combinations of streams. All modules
are imported once; each process is a fork that opens its streams as Python does when it starts.
"""

from __future__ import annotations

import gc
import io
import json
import os
import sys
import tempfile
from contextlib import redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, TextIO

import typer

import ksched_cli
from ksched_cli.commands import main as entry
from ksched_cli.sweep import execution, run_process
from ksched_cli.sweep.preparation import Shared
from ksched_cli.sweep.run_process import Executor
from tests.sweep.sweeps import in_this_process

STDIN, STDOUT, STDERR = 0, 1, 2
# Servers and Dask, which no line here starts, are half of the memory that each fork would copy.
NOT_IMPORTED = ("__main__", "schemas", "serve", "dask")


def open_stream(number: int, kind: str, folder: Path) -> None:
    """Makes a descriptor what a shell makes of it. kind: usable, closed, full or gone"""
    os.close(number)
    if kind == "closed":
        return
    if kind == "gone":
        reader, writer = os.pipe()
        os.dup2(writer, number) if writer != number else None
        for end in {reader, writer} - {number}:
            os.close(end)
        return
    if number == STDIN:
        path = os.devnull
    else:
        path = "/dev/full" if kind == "full" else str(folder / str(number))
    opened = os.open(path, os.O_RDONLY if number == STDIN else os.O_WRONLY | os.O_CREAT)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)


def python_stream(number: int) -> TextIO | None:
    """As Python opens it at its start: None where it is closed."""
    try:
        os.fstat(number)
    except OSError:
        return None
    raw = io.FileIO(number, "r" if number == STDIN else "w", closefd=False)
    if number == STDIN:
        return io.TextIOWrapper(io.BufferedReader(raw))
    errors = "backslashreplace" if number == STDERR else "strict"
    is_by_line = number == STDERR
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", errors, line_buffering=is_by_line)


def run(arguments: list[str], kinds: list[str], folder: Path) -> int:
    """The exit code. Without an error the streams are flushed as at Python's end."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    code: Any = 99
    try:
        for number in reversed(range(len(kinds))):
            open_stream(number, kinds[number], folder)
        stdin, stdout, stderr = map(python_stream, range(3))
        sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
        sys.argv = ["ksched", *arguments]
        try:
            entry.main()
        except SystemExit as exit:
            code = exit.code
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except BaseException as error:
        (folder / "error").write_text(repr(error))
        code = 120
    finally:
        os._exit(code if isinstance(code, int) else 0)


def text_in(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def answer(arguments: list[str], kinds: list[str]) -> tuple[int, str, str, str]:
    """Exit code, standard output and error, and what went wrong beside them."""
    with tempfile.TemporaryDirectory() as folder:
        code = run(arguments, kinds, Path(folder))
        out, err, error = (text_in(Path(folder, name)) for name in ("1", "2", "error"))
    return code, out, err, error


def runs_here(shared: Shared, timeout: float) -> Executor:
    return in_this_process(shared)


def main() -> None:
    for module in walk_packages(ksched_cli.__path__, "ksched_cli."):
        if not any(part in module.name for part in NOT_IMPORTED):
            import_module(module.name)
    for library in ("tabulate", "optuna.storages", "typer._adapters"):
        with suppress(ImportError):  # the extra tune need not be installed
            import_module(library)
    gc.freeze()  # a search for garbage would copy the memory of each fork
    application = typer.main.get_command(entry.application())
    setattr(entry, "application", lambda names: application)  # noqa: B010
    sys.argv = ["ksched", "schedule", "--state", "state.json", "-o", "json"]
    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        entry.main()  # what it imports, reads and counts need not be done in each fork
    gc.freeze()
    serially = run_process.serially
    for line in sys.stdin:
        arguments, combinations = json.loads(line)
        # `sweep` starts a process for its runs, with these streams; it would take long for others.
        starts_process = arguments == ["sweep", "sweep.json"]
        for place in (execution, run_process):
            setattr(place, "serially", serially if starts_process else runs_here)  # noqa: B010
        print(json.dumps([answer(arguments, kinds) for kinds in combinations]), flush=True)


if __name__ == "__main__":
    main()
