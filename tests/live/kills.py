"""Kills ksched at random moments while it works on a file, and looks at what is left.

    python -m tests.live.kills [--kills N] [--seed N] [SUBJECT...]

Half of the kills are SIGKILL, half SIGTERM. A kill counts where the process was alive. Then, and
after the command has been run to its end, nothing of the file may be lost, nothing may be there
twice, no process and no file may be left over, and SIGTERM may not show a traceback. Exit code 1
when some of that is not so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ksched_cli.testing import node, pod
from tests.live.fake_api_server import ApiServer, write_kubeconfig
from tests.sweep.sweeps import write_state, write_sweep
from tests.sweep.test_tune_file import OBJECTIVES, SPACE

ROOT = Path(__file__).parents[2]
SEEDS, TRIALS = 12, 8
# How many pods and nodes the states have that are written whole.
PODS, NODES = 1_500, 60
# So long after a process its children may live.
CHILD_SECONDS = 10.0
# An event is in the recording by then: HOLD_SECONDS of the recorder, and a machine that is busy.
WRITTEN_WITHIN = 3.0
# A recorder is killed up to so long after it began to record.
RECORDS_FOR = 4.0
EVENTS_PER_SECOND = 60


@dataclass(slots=True)
class Ended:
    """How a process ended, and what it printed. alive: when the signal came"""

    number: int
    code: int
    err: str
    alive: bool


class Subject(ABC):
    """A command at work on a file. problems: what was not as it should be"""

    name: str

    def __init__(self, folder: Path, draw: random.Random) -> None:
        self.folder, self.draw = folder, draw
        self.problems: list[str] = []
        self.kills: Counter[str] = Counter()
        self.runs = 0

    @abstractmethod
    def command(self) -> Sequence[object]: ...

    @abstractmethod
    def rounds(self) -> Iterator[None]:
        """Kill processes for as long as they are asked for."""

    def check(self, is_so: bool, problem: str) -> None:
        if not is_so:
            self.problems.append(f"{self.name}, after {sum(self.kills.values())} kills: {problem}")
            print(f"    {self.problems[-1]}", flush=True)

    def start(self) -> subprocess.Popen[str]:
        self.runs += 1
        return subprocess.Popen(
            [sys.executable, "-m", "ksched_cli", *map(str, self.command())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )

    def kill(self, process: subprocess.Popen[str], after: float) -> Ended:
        """after: seconds"""
        number = self.draw.choice((signal.SIGKILL, signal.SIGTERM))
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        return self.ended(process, number)

    def ended(self, process: subprocess.Popen[str], number: int) -> Ended:
        _, err = process.communicate(timeout=300)
        deadline = time.monotonic() + CHILD_SECONDS
        while (left := _members(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.check(not left, f"processes {left} are left")
        self.check("Traceback" not in err and "defect" not in err, f"printed {err}")
        alive = process.returncode == -number
        if alive:
            self.kills[signal.Signals(number).name] += 1
        return Ended(number, process.returncode, err, alive)

    def complete(self) -> float:
        """Run the command to its end, and return the seconds that it took."""
        start = time.monotonic()
        ended = self.ended(self.start(), signal.SIGKILL)
        self.check(ended.code in (0, 1), f"ended with {ended.code}: {ended.err}")
        self.check(not self.leftovers(), f"left {self.leftovers()}")
        return time.monotonic() - start

    def leftovers(self) -> list[str]:
        return [path.name for path in self.folder.iterdir() if path.name.startswith(".")]


def _members(session: int) -> list[int]:
    """The processes of a session that are not zombies."""
    members = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            members.append(int(path.parent.name))
    return members


class Resumed(Subject):
    """A file of lines to which the next run adds what is missing."""

    file = "saved.jsonl"

    def rounds(self) -> Iterator[None]:
        path = self.folder / self.file
        length = self.complete()
        whole = self.content()
        path.unlink()
        while True:
            before = b""
            for _ in range(8):
                self.kill(self.start(), self.draw.uniform(0.1, 1.1) * length)
                lines = _whole_lines(path)
                self.check(lines.startswith(before), "a line that was written has changed")
                before = lines
                yield
            self.complete()
            self.check(_whole_lines(path) == path.read_bytes(), "the last line is cut off")
            self.check(path.read_bytes().startswith(before), "the last run changed lines")
            self.check(self.content() == whole, f"{self.content()} instead of {whole}")
            path.unlink()

    @abstractmethod
    def content(self) -> Any:
        """What has to be the same however often the command was killed."""


def _whole_lines(path: Path) -> bytes:
    whole, newline, _ = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
    return whole + newline


class Rows(Resumed):
    """Rows of a sweep."""

    name = "sweep --rows"

    def command(self) -> Sequence[object]:
        file = self.folder / "sweep.yaml"
        if not file.exists():
            write_sweep(self.folder, "Sweep", seeds=SEEDS)
        return ("sweep", file, "--rows", self.file, "--workers", 2)

    def content(self) -> Any:
        lines = (self.folder / self.file).read_text().splitlines()
        rows = sorted(map(json.loads, lines), key=lambda row: str(row["id"]))
        return [(row["id"], row["placements"]) for row in rows]


class Study(Resumed):
    """Trials of a search: every one that came to its end counts once."""

    name = "tune --study"

    def command(self) -> Sequence[object]:
        file = self.folder / "tune.yaml"
        if not file.exists():
            fields = {"space": SPACE, "objectives": OBJECTIVES, "seeds": 2, "trials": TRIALS}
            write_sweep(self.folder, "Tune", **fields)
        return ("tune", file, "--study", self.file)

    def content(self) -> Any:
        """The numbers of complete trials, which need not be the same, are counted."""
        complete: Counter[int] = Counter()
        for line in (self.folder / self.file).read_text().splitlines():
            log = json.loads(line)
            if log["op_code"] == 6 and log["state"] == 1:  # a trial's state, which is COMPLETE
                complete[log["trial_id"]] += 1
        twice = [number for number, times in complete.items() if times > 1]
        return {"complete": len(complete), "twice": twice}


class Whole(Subject):
    """A file that is there as it was, or as it will be."""

    file: str

    def rounds(self) -> Iterator[None]:
        path = self.folder / self.file
        length = self.complete()
        whole, old = path.read_bytes(), b"{}\n"
        while True:
            path.write_bytes(old)
            start = time.monotonic()
            ended = self.kill(self.start(), self.draw.uniform(0.2, 1.0) * length)
            if ended.code == 0:  # this machine has become faster
                length = min(length, time.monotonic() - start)
            self.check(path.read_bytes() in (old, whole), "the file is neither old nor new")
            yield
            if self.draw.random() < 0.1:
                self.complete()
                self.check(path.read_bytes() == whole, "the file is not the new one")


class Snapshot(Whole):
    """A snapshot of a state, as redaction needs it."""

    name, file = "snapshot", "copy.json"

    def command(self) -> Sequence[object]:
        return ("snapshot", self.file, "--state", _large_state(self.folder))


class SavedState(Whole):
    """The state at the end of a replay."""

    name, file = "replay --save-state", "saved.json"

    def command(self) -> Sequence[object]:
        timeline = self.folder / "timeline.json"
        if not timeline.exists():
            events = [
                {"at": n, "pod": pod(f"new-{n:04}", cpu="10m", metadata=_CREATED)}
                for n in range(200)
            ]
            header = {"apiVersion": "ksched/v1", "kind": "Timeline"}
            header["start"] = "2026-11-23T08:00:00Z"
            timeline.write_text(json.dumps({**header, "events": events}))
        return ("replay", timeline, "--state", _large_state(self.folder), "--save-state", self.file)


_CREATED = {"creationTimestamp": "2026-01-01T00:00:00Z"}


def _large_state(folder: Path) -> Path:
    path = folder / "cluster.json"
    if not path.exists():
        nodes = [node(f"n-{n:03}", cpu=64, memory="256Gi") for n in range(NODES)]
        pods = [
            pod(f"p-{n:05}", cpu="100m", node=f"n-{n % NODES:03}", metadata=_CREATED)
            for n in range(PODS)
        ]
        write_state(path, *nodes, *pods)
    return path


@dataclass(slots=True)
class Publisher:
    """Adds pods to a cluster and takes them away again, in the order of their numbers.

    counts: when, and how many pods had come by then
    """

    server: ApiServer
    ends: threading.Event = field(default_factory=threading.Event)
    counts: list[tuple[float, int]] = field(default_factory=list)

    def run(self) -> None:
        number = 0
        while not self.ends.wait(1 / EVENTS_PER_SECOND):
            manifest = pod(f"p-{number:06}")
            manifest["metadata"]["uid"] = manifest["metadata"]["name"]
            self.server.publish("ADDED", manifest)
            number += 1
            self.counts.append((time.monotonic(), number))
            if number > 40:
                gone = pod(f"p-{number - 40:06}")
                gone["metadata"]["uid"] = gone["metadata"]["name"]
                self.server.publish("DELETED", gone)

    def count_at(self, moment: float) -> int:
        return max((count for at, count in self.counts if at <= moment), default=0)


class Record(Subject):
    """A recording of a cluster in which pods come and go: every recorder that is started writes the
    next part."""

    name = "record"

    def command(self) -> Sequence[object]:
        return ("record", "day.jsonl", "--kubeconfig", "kubeconfig")

    def rounds(self) -> Iterator[None]:
        while True:
            server = ApiServer([node("n")])
            write_kubeconfig(self.folder / "kubeconfig", server.url)
            publisher = Publisher(server)
            thread = threading.Thread(target=publisher.run, daemon=True)
            thread.start()
            try:
                yield from self._recorders(publisher)
            finally:
                publisher.ends.set()
                thread.join()
                server.close()
                for path in self.folder.glob("day*"):
                    path.unlink()

    def _recorders(self, publisher: Publisher) -> Iterator[None]:
        """Thirty of them, one after the other."""
        length = 1.0
        for number in range(30):
            before = {path.name: path.read_bytes() for path in self.folder.glob("day*")}
            stem = f"day.{number}" if number else "day"
            start = time.monotonic()
            process = self.start()
            moment = self.draw.uniform(0, length + RECORDS_FOR)
            while (now := time.monotonic()) < start + moment:
                if length == 1.0 and (self.folder / f"{stem}.jsonl").exists():
                    length = now - start
                time.sleep(0.01)
            ended = self._kill_recorder(process)
            for name, content in before.items():
                is_same = (self.folder / name).read_bytes() == content
                self.check(is_same or name.startswith("."), f"{name} has changed")
            self.look_at(stem, publisher.count_at(now - WRITTEN_WITHIN), ended)
            yield
            if not (self.folder / f"{stem}.jsonl").exists():  # the next one has the name
                for path in self.folder.glob(f"{stem}.*"):
                    path.unlink()
                (self.folder / f"{stem}.jsonl").touch()

    def _kill_recorder(self, process: subprocess.Popen[str]) -> Ended:
        number = self.draw.choice((signal.SIGKILL, signal.SIGTERM))
        process.send_signal(number)
        ended = self.ended(process, number)
        if number == signal.SIGTERM and ended.code == 0:  # it ends of its own accord
            self.kills["SIGTERM"] += 1
        return ended

    def look_at(self, stem: str, published: int, ended: Ended) -> None:
        """published: how many pods had come so long ago that they have to be there"""
        timeline, state = self.folder / f"{stem}.jsonl", self.folder / f"{stem}.state.json"
        lines = _whole_lines(timeline).splitlines()
        if ended.code == 0:
            self.check(_whole_lines(timeline) == timeline.read_bytes(), "the last line is cut off")
        if not lines:
            return
        items = json.loads(state.read_text())["items"]
        here = {item["metadata"]["name"] for item in items if item["kind"] == "Pod"}
        newest = max((_number(name) for name in here), default=-1)
        oldest = min((_number(name) for name in here), default=0)
        at = 0.0
        for line in lines[1:]:
            event = json.loads(line)
            self.check(event["at"] >= at, "times fall")
            at = event["at"]
            if "pod" in event:
                name = event["pod"]["metadata"]["name"]
                self.check(_number(name) == newest + 1, f"{name} came after {newest}")
                newest = _number(name)
                here.add(name)
            elif "delete" in event:
                name = event["delete"]["name"]
                self.check(name in here, f"{name} went twice")
                self.check(_number(name) >= oldest, f"{name} went after {oldest}")
                oldest = _number(name)
                here.discard(name)
            else:
                self.check(False, f"an event that never was: {line!r}")
        self.check(newest + 1 >= published, f"{published - newest - 1} pods are missing at the end")


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


SUBJECTS: dict[str, type[Subject]] = {
    "record": Record,
    "sweep": Rows,
    "tune": Study,
    "snapshot": Snapshot,
    "replay": SavedState,
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=1000, help="of all subjects together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    options = parser.parse_args()
    names = options.subjects or [*SUBJECTS]
    each = -(-options.kills // len(names))
    total, problems = 0, 0
    for name in names:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="ksched-kills-") as aside:
            subject = SUBJECTS[name](Path(aside), random.Random(f"{options.seed}-{name}"))
            rounds = subject.rounds()
            while sum(subject.kills.values()) < each:
                next(rounds)
            rounds.close()  # type: ignore[attr-defined]  # a generator
        kills = ", ".join(f"{count} by {number}" for number, count in subject.kills.items())
        print(
            f"{subject.name}: {sum(subject.kills.values())} kills ({kills}) of {subject.runs}"
            f" processes, {len(subject.problems)} problems, {time.monotonic() - start:.0f} s",
            flush=True,
        )
        total += sum(subject.kills.values())
        problems += len(subject.problems)
    print(f"{total:,} kills, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
