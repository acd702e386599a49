"""A disk that is full while ksched writes to it: a tmpfs, which only root can mount.

    python -m tests.live.full_disk [SUBJECT...]

A filler leaves a few pages, so that each command runs out of space at another place of its file.
The command has to end with exit code 2 and one message, and leave the old file, or whole lines;
with space again, the same command has to come to its end as if nothing had happened. Exit code 1
when some of that is not so.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ksched_cli.testing import node
from tests.live.fake_api_server import ApiServer, write_kubeconfig
from tests.live.kills import SUBJECTS, Publisher, Record, Resumed, Subject, Whole

PAGE = 4096
DISK_PAGES = 1024
# How many pages are free when the command begins.
FREE = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)
MESSAGE = "No space left on device"


@contextmanager
def disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ksched-disk-") as folder:
        options = ["-t", "tmpfs", "-o", f"size={DISK_PAGES * PAGE}", "tmpfs", folder]
        subprocess.run(["mount", *options], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


@contextmanager
def filled(folder: Path, pages: int) -> Iterator[None]:
    """Inside, so many pages are free."""
    filler = folder / "filler"
    free = os.statvfs(folder).f_bavail - pages
    filler.write_bytes(b"x" * (max(free, 0) * PAGE))
    try:
        yield
    finally:
        filler.unlink()


def run_out(subject: Subject) -> int:
    """Returns how often the command ran out of space."""
    if isinstance(subject, Record):
        return record_runs_out(subject)
    assert isinstance(subject, Resumed | Whole)
    path = subject.folder / subject.file
    subject.complete()
    whole = subject.content() if isinstance(subject, Resumed) else path.read_bytes()
    full = 0
    for pages in FREE:
        path.write_bytes(b"" if isinstance(subject, Resumed) else b"{}\n")
        with filled(subject.folder, pages):
            ended = subject.ended(subject.start(), signal.SIGKILL)
        is_full = ended.code != 0
        full += is_full
        if is_full:
            subject.check(ended.code == 2, f"ended with {ended.code}: {ended.err}")
            subject.check(MESSAGE in ended.err, f"{pages} pages free: {ended.err}")
            subject.check(not subject.leftovers(), f"left {subject.leftovers()}")
        if isinstance(subject, Whole):
            expected = b"{}\n" if is_full else whole
            subject.check(path.read_bytes() == expected, f"{pages} pages free: another file")
        subject.complete()
        content = subject.content() if isinstance(subject, Resumed) else path.read_bytes()
        subject.check(content == whole, f"{pages} pages free: another result")
        path.unlink()
    return full


def record_runs_out(subject: Record) -> int:
    server = ApiServer([node("n")])
    write_kubeconfig(subject.folder / "kubeconfig", server.url)
    publisher = Publisher(server)
    thread = threading.Thread(target=publisher.run, daemon=True)
    thread.start()
    full = 0
    try:
        for number, pages in enumerate(FREE):
            stem = f"day.{number}" if number else "day"
            with filled(subject.folder, pages):
                ended = subject.ended(subject.start(), signal.SIGKILL)
            full += 1
            subject.check(ended.code == 2, f"ended with {ended.code}: {ended.err}")
            subject.check(MESSAGE in ended.err, f"{pages} pages free: {ended.err}")
            subject.check(not subject.leftovers(), f"left {subject.leftovers()}")
            subject.look_at(stem, 0, ended)
            (subject.folder / f"{stem}.jsonl").touch()  # the next one has another name
        process = subject.start()
        time.sleep(10)
        process.send_signal(signal.SIGTERM)
        ended = subject.ended(process, signal.SIGTERM)
        subject.check(ended.code == 0, f"ended with {ended.code}: {ended.err}")
        subject.look_at(f"day.{len(FREE)}", 0, ended)
    finally:
        publisher.ends.set()
        thread.join()
        server.close()
    return full


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    problems = 0
    for name in parser.parse_args().subjects or SUBJECTS:
        with disk() as folder:
            subject = SUBJECTS[name](folder, random.Random(0))
            full = run_out(subject)
        print(f"{subject.name}: ran out of space {full} times of {len(FREE)}, "
              f"{len(subject.problems)} problems", flush=True)  # fmt: skip
        problems += len(subject.problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
