"""Runs commands again and again, and kills them at every write: a script of its own, that forks.

A line of its input is a JSON array of a file, what is in it before each run, and the arguments of
the command that writes it. The answer is a line of JSON with an array for each point. A point is
how large a file may become: beyond it, the kernel kills the process in the middle of its write. The
point "rename" kills it where it would put a whole file in place.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import signal
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command

from ksched_cli.commands import main as entry
from ksched_cli.live.snapshot import ClusterSnapshot
from ksched_cli.live.snapshot_file import parts
from ksched_cli.sweep import execution, run_process
from ksched_cli.testing import node
from tests.sweep.sweeps import in_this_process

COMPLETE = "complete"
# Sizes that a file may have; the files here are larger than some of these, and smaller than others.
POINTS = ("0", "7", "60", "250", "900", "rename", COMPLETE)
SECONDS = 600  # that a command may take; this process ends then
RECORDER = "the recorder of `record`"


def run(arguments: list[str], point: str) -> int:
    """How the process ended, as `waitpid` has it."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if point == "rename":
        sys.addaudithook(lambda event, _: killed() if event == "os.rename" else None)
    elif point != COMPLETE:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(point), int(point)))
    os._exit(completed(arguments))


def completed(arguments: list[str]) -> int:
    """The exit code."""
    sys.argv = ["ksched", *arguments]
    try:
        if arguments[0] == RECORDER:
            record(arguments[1])
        else:
            entry.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


@cache
def built(build: Callable[..., Any], names: tuple[str, ...]) -> Any:
    return get_command(build(names))


def record(path: str) -> None:
    """What `record` writes of a cluster in which a node is cordoned, without a cluster."""
    file = next(parts(path))
    about = ClusterSnapshot("", "", "", ())
    file.begin([json.dumps(node("n")).encode()], lambda: about, 0.0)
    for second in range(60):
        file.add({"change": "cordon n" if second % 2 else "uncordon n"}, float(second))
        file.flush()
    file.close()


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def reset(file: Path, before: str | None) -> None:
    for other in file.parent.iterdir():
        if other.is_file():
            other.unlink()
    if before is not None:
        file.write_text(before)


def outcomes(file: Path, before: str | None, command: list[str]) -> Iterator[list[Any]]:
    """For each point: how the process ended, and what is in the file then, in base64; and the same
    after a run to the end. before: what is in the file before each first run"""
    gc.freeze()  # a search for garbage would copy the memory of each fork
    reset(file, before)
    completed(command)  # what is imported and counted now need not be in each fork
    gc.collect()  # nor may a fork have its files
    gc.freeze()
    for point in POINTS:
        reset(file, before)
        status = run(command, point)
        content = content_of(file)
        again = run(command, COMPLETE) if point != COMPLETE else status
        yield [point, status, content, again, content_of(file)]


def content_of(file: Path) -> str | None:
    return b64encode(file.read_bytes()).decode() if file.exists() else None


if __name__ == "__main__":
    results = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # The command line is built once, before a command is run again and again.
    build = entry.application
    setattr(entry, "application", lambda names: built(build, tuple(names)))  # noqa: B010
    # This process writes all files; another for each run would only take long to start.
    for module in (execution, run_process):
        setattr(module, "serially", lambda shared, timeout: in_this_process(shared))  # noqa: B010
    for line in sys.stdin:
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        name, text, arguments = json.loads(line)
        print(json.dumps([*outcomes(Path(name), text, arguments)]), flush=True, file=results)
