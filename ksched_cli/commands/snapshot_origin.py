"""Where the objects of a snapshot come from, and how its file is written and summed up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from ksched_cli.cluster.loading.load import plain_objects
from ksched_cli.cluster.trimming import trimmed
from ksched_cli.commands import progress
from ksched_cli.commands.options import CommonOptions
from ksched_cli.commands.output import print_text, report_of, show, warn
from ksched_cli.errors import UsageError
from ksched_cli.live.client import ClusterOptions, connect
from ksched_cli.live.snapshot import (
    ClusterReader,
    ClusterSnapshot,
    ReadList,
    SnapshotResult,
    whole_object,
)
from ksched_cli.live.snapshot_file import snapshot_text, written_aside
from ksched_cli.report import snapshot as renderer
from ksched_cli.report.forms import Form, safe_in_job


@dataclass(frozen=True, slots=True)
class Objects:
    """items: JSON, to be read once. about: what was read, complete after the last of them.
    source: where they are from, for the summary."""

    items: Iterator[bytes]
    about: Callable[[], ClusterSnapshot]
    source: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Files (state), else a cluster. namespace: to list where those of all are forbidden. full:
    objects as they are there. events: the schedulers' too"""

    state: Sequence[str]
    context: str
    kubeconfig: str
    namespace: str
    full: bool
    events: bool = False

    def check(self) -> None:
        """Raises UsageError for options that do nothing with --state."""
        options = {
            "--context": self.context,
            "--kubeconfig": self.kubeconfig,
            "-n": self.namespace,
            "--events": self.events,
        }
        for option, value in options.items():
            if value and self.state:
                raise UsageError(f"{option} has no effect with --state")

    @contextmanager
    def objects(self, reads: Iterable[str]) -> Iterator[Objects]:
        """reads: kinds besides those that ksched knows. Raises KschedError, also while they are
        read."""
        if self.state:
            yield self._of_files()
            return
        server = connect(ClusterOptions(self.kubeconfig, self.context))
        with progress.of_objects() as on_progress:
            reader = ClusterReader(
                server,
                reads=reads,
                namespace=self.namespace,
                convert=whole_object if self.full else None,
                events=self.events,
                on_progress=on_progress,
            )
            items = (item for objects in reader.lists() for item in objects.items)
            yield Objects(items, lambda: reader.snapshot, server.identity.source)

    def _of_files(self) -> Objects:
        counts: Counter[tuple[str, str]] = Counter()
        versions = [""]

        def items() -> Iterator[bytes]:
            for obj in plain_objects(self.state, server_versions=versions):
                counts[obj["kind"], obj["apiVersion"]] += 1
                yield msgspec.json.encode(obj if self.full else trimmed(obj))

        def about() -> ClusterSnapshot:
            lists = (ReadList(*kind, "", count, "") for kind, count in counts.items())
            return ClusterSnapshot("", versions[-1], "", tuple(lists))

        return Objects(items(), about, ", ".join(self.state))


def write_snapshot(items: Iterable[bytes], about: Callable[[], ClusterSnapshot], path: str) -> int:
    """To standard output, whole or not at all, if there is no path. Returns the file's size.
    Raises UsageError, OutputError."""
    parts = snapshot_text(items, about)
    if not path:
        print_text(safe_in_job(b"".join(parts).decode().rstrip("\n"), Form.JSON))
        return 0
    with written_aside(path) as file:
        size = sum(map(file.write, parts))
    return os.path.getsize(path) if os.path.isfile(path) else size


def warn_of_absences(about: ClusterSnapshot) -> None:
    """Warns of what could not be read."""
    for line in (*about.absences, *about.warnings):
        warn(line)


def show_written(
    options: CommonOptions, path: str, size: int, source: str, about: ClusterSnapshot
) -> None:
    """Prints the summary of a file."""
    show(report_of(SnapshotResult.of(path, size, source, about), renderer.table), options)
