"""Runs a command again and again, and kills it at every write: a script of its own, that forks.

    killed.py POINTS ARGUMENT...     with the bytes of the file FILE before each run in $BEFORE

Prints a line of JSON for each point: what is in the file then, in base64, and what of its kind lies
beside it. A point is how large a file may become: beyond it, the kernel kills the process in the
middle of its write. The point "rename" kills it where it would put a whole file in place.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from base64 import b64encode
from pathlib import Path

from ksched_cli.commands import checkpoints
from ksched_cli.commands.main import main
from ksched_cli.live.recording_file import parts
from ksched_cli.live.snapshot import ClusterSnapshot
from ksched_cli.sweep import execution, run_process
from ksched_cli.testing import node
from tests.sweep.sweeps import in_this_process

COMPLETE = "complete"
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
    checkpoints.INTERVAL = -1.0
    os._exit(completed(arguments))


def completed(arguments: list[str]) -> int:
    """The exit code."""
    sys.argv = ["ksched", *arguments]
    try:
        if arguments[0] == RECORDER:
            record(arguments[1])
        else:
            main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    return 0


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


def reset(file: Path, before: bytes | None) -> None:
    for other in file.parent.iterdir():
        if other.is_file():
            other.unlink()
    if before is not None:
        file.write_bytes(before)


if __name__ == "__main__":
    points, name, *command = sys.argv[1:]
    target, text = Path(name), os.environ.get("BEFORE")
    results = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # This process writes all files; another for each run would only take long to start.
    for module in (execution, run_process):
        setattr(module, "serially", lambda shared, timeout: in_this_process(shared))  # noqa: B010
    reset(target, None if text is None else text.encode())
    completed(command)  # what is imported now need not be in each fork
    gc.collect()  # nor may a fork have its files
    gc.freeze()  # a search for garbage would copy the memory of each fork
    for each in points.split(","):
        reset(target, None if text is None else text.encode())
        status = run(command, each)
        content = target.read_bytes() if target.exists() else None
        after = None if content is None else b64encode(content).decode()
        again = run(command, COMPLETE) if each != COMPLETE else status
        whole = target.read_bytes() if target.exists() else None
        resumed = None if whole is None else b64encode(whole).decode()
        print(json.dumps([each, status, after, again, resumed]), flush=True, file=results)
