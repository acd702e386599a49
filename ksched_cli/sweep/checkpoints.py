"""A replay of a sweep in a file beside the rows: a sweep that was ended resumes it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from ksched_cli.engine.replay.checkpoint import read_checkpoint, resume, take_checkpoint
from ksched_cli.engine.replay.records import PodRecord
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.errors import InputError, UsageError
from ksched_cli.live.snapshot_file import written_aside

INTERVAL = 60.0  # seconds from one checkpoint to the next


@dataclass(slots=True)
class RunCheckpoint:
    """The checkpoint of one run.

    path:     of the file; "" for none
    identity: of the run; a checkpoint of another one is passed over
    departed: where the replay puts the records of the pods that have left
    """

    path: str
    identity: str
    departed: list[PodRecord]
    _written: float = field(default_factory=monotonic)

    def resume(self, replay: Replay) -> None:
        """Makes a replay that has not begun the one of the file, where there is one that can be
        read. Raises InputError where its parts contradict each other."""
        try:
            data = Path(self.path).read_bytes() if self.path else b""
            checkpoint = read_checkpoint(data, self.path, self.identity)
        except (OSError, InputError):
            return
        resume(replay, checkpoint, self.path)
        self.departed += checkpoint.records

    def after_instant(self, replay: Replay) -> None:
        """Writes the replay every minute, where all of it can be written; a file that cannot be
        written, as on another machine, is none. Raises PluginDefectError."""
        is_due = monotonic() - self._written >= INTERVAL
        if not is_due or not replay.is_resumable or replay.cluster.unsaved():
            return
        self._written = monotonic()
        with suppress(UsageError), written_aside(self.path, private=True) as file:
            file.write(take_checkpoint(replay, self.identity, self.departed))

    def remove(self) -> None:
        """The run has ended."""
        if self.path:
            with suppress(OSError):
                os.unlink(self.path)
