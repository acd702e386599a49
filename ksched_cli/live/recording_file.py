"""The files of a recording: a state to begin with and a timeline, both for each of its parts.

The first part is day.jsonl.gz with day.state.json.gz, the next day.1.jsonl.gz with
day.1.state.json.gz. Each can be replayed by itself.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import count
from typing import IO, Any

import msgspec

from ksched_cli.errors import UsageError
from ksched_cli.live.snapshot import ClusterSnapshot
from ksched_cli.live.snapshot_file import snapshot_text, unwritable, written_aside

_GZIP = ".gz"
_LINES = (".jsonl", ".ndjson")


def state_path(path: str) -> str:
    """The path of the state that a part begins with. Raises UsageError for a wrong name."""
    stem, _, packed = _split(path)
    return f"{stem}.state.json{packed}"


def parts(path: str) -> Iterator[RecordingFile]:
    """Those that are not there yet."""
    stem, suffix, packed = _split(path)
    for number in count():
        name = f"{stem}.{number}{suffix}{packed}" if number else path
        if not os.path.exists(name):
            yield RecordingFile(name)


def _split(path: str) -> tuple[str, str, str]:
    packed = _GZIP if path.endswith(_GZIP) else ""
    stem, suffix = os.path.splitext(path.removesuffix(packed))
    if suffix not in _LINES:
        raise UsageError(f"{path}: a recording is JSON lines; name it *.jsonl or *.jsonl.gz")
    return stem, suffix, packed


class RecordingFile:
    """One part. events: how many it has; gaps: how often the recorder was without a connection"""

    def __init__(self, path: str) -> None:
        self.path, self.state_path = path, state_path(path)
        self.events = self.gaps = self.size = 0
        self.last = 0.0
        self._start = 0
        self._raw: IO[bytes] | None = None
        self._file: IO[bytes] | gzip.GzipFile | None = None

    def begin(
        self, objects: Iterable[bytes], about: Callable[[], ClusterSnapshot], at: float
    ) -> None:
        """Writes the state, and the timeline's first line. at: seconds since 1970. Raises
        UsageError."""
        # The name is this recorder's from here on, and that of the state with it.
        try:
            self._raw = open(self.path, "xb")  # noqa: SIM115  # closed in `close`
        except OSError as error:
            raise unwritable(self.path, error) from None
        try:
            with written_aside(self.state_path) as file:
                file.writelines(snapshot_text(objects, about))
        except BaseException:
            self._raw.close()
            os.unlink(self.path)
            raise
        self._start = int(at)
        start = datetime.fromtimestamp(self._start, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        is_packed = self.path.endswith(_GZIP)
        self._file = gzip.GzipFile("", "wb", 6, self._raw, mtime=0) if is_packed else self._raw
        self._write({"apiVersion": "ksched/v1", "kind": "Timeline", "start": start})
        self.flush()

    def time_after(self, at: float) -> float:
        """The time of the next event: times never fall. Both in seconds since 1970."""
        return max(at, self._start + self.last)

    def add(self, event: dict[str, Any], at: float) -> None:
        """at: seconds since 1970. Raises UsageError."""
        self.last = self.time_after(at) - self._start
        self.events += 1
        self.gaps += "gap" in event
        self._write({"at": round(self.last, 6), **event})

    def _write(self, line: dict[str, Any]) -> None:
        assert self._file is not None
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            raise unwritable(self.path, error) from None

    def flush(self) -> None:
        """What has been written can be read from then on, whatever becomes of the recorder."""
        if self._file is None or self._raw is None:
            return
        try:
            self._file.flush()
            self._raw.flush()
            self.size = self._raw.tell()
        except OSError as error:
            raise unwritable(self.path, error) from None

    def close(self) -> None:
        file, raw, self._file = self._file, self._raw, None
        if file is None or raw is None:
            return
        try:
            file.close()
            self.size = raw.tell() if not raw.closed else os.path.getsize(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from None
        finally:
            raw.close()
