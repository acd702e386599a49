"""`ksched replay --checkpoint FILE`: writes the replay to a file now and then, and when it is
interrupted, and resumes the one that is there."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ksched_cli.commands.output import note
from ksched_cli.commands.signals import EndedBySignal, Interruption
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.engine.replay.mutable_cluster import MutableCluster
    from ksched_cli.engine.replay.records import PodRecord
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import Run

INTERVAL = 60.0  # seconds from one checkpoint to the next


@dataclass(slots=True)
class Checkpoints:
    """One replay's checkpoints. records: of the pods that have left, where the end lists them"""

    path: str
    fingerprint: str
    records: list[PodRecord]
    interruption: Interruption = field(default_factory=Interruption)
    _written: float = field(default_factory=monotonic)

    def resume(self, run: Replay) -> None:
        """Resumes the file's replay, if there is one. Raises InputError, and UsageError where
        the file could not be written."""
        from ksched_cli.engine.replay.checkpoint import read_checkpoint, resume
        from ksched_cli.kube.documents import read_file
        from ksched_cli.live.snapshot_file import check_writable

        check_writable(self.path)
        if not os.path.exists(self.path):
            return
        if not os.path.isfile(self.path):
            raise UsageError(
                f"--checkpoint {self.path}: expected a plain file, from which a replay can resume"
            )
        data, name = read_file(self.path)
        checkpoint = read_checkpoint(data, name, self.fingerprint)
        resume(run, checkpoint, name)
        self.records += checkpoint.records
        note(f"resuming {name} at {run.clock.text}")

    def after_instant(self, run: Replay) -> None:
        """Raises EndedBySignal."""
        is_due = self.interruption.number or monotonic() - self._written > INTERVAL
        if not is_due or not run.is_resumable:
            return
        self._write(run)
        if self.interruption.number:
            note(f"interrupted at {run.clock.text}; the same command resumes {self.path}")
            raise EndedBySignal(self.interruption.number)
        self._written = monotonic()

    def _write(self, run: Replay) -> None:
        from ksched_cli.engine.replay.checkpoint import take_checkpoint
        from ksched_cli.live.snapshot_file import written_aside

        check_state(run.cluster)
        with written_aside(self.path, private=True) as file:
            file.write(take_checkpoint(run, self.fingerprint, self.records))

    def finish(self) -> None:
        """The replay is over: its checkpoint goes. A link to it stays."""
        Path(os.path.realpath(self.path)).unlink(missing_ok=True)


def check_state(cluster: MutableCluster) -> None:
    """Raises UsageError where a checkpoint would lose something: what a plugin assumes."""
    names = cluster.unsaved()
    if names:
        plugins = ", ".join(names)
        raise UsageError(
            f"--checkpoint cannot save the state of {plugins}: a plugin with carry_over "
            "must also have the methods assumed and assume"
        )


def fingerprint_of(run: Run, opener: Opener, **others: object) -> str:
    """A digest of all that a replay depends on: the Run with its files, the state as it was loaded,
    and what is recorded (others). Raises KschedError."""
    from ksched_cli.run.differences import digest_of
    from ksched_cli.run.inputs import digest
    from ksched_cli.scenario.objects import manifests

    if run.record_extenders or run.replay_extenders:
        recording = "--record-extenders" if run.record_extenders else "--replay-extenders"
        raise UsageError(f"--checkpoint cannot be combined with {recording}, which cannot resume")

    # The state may be of standard input, which has been read, or of a live cluster.
    settings = digest_of(replace(run, states=(), live=None), opener.inputs)
    release = opener.release(run).version
    return digest(settings, release, sorted(others.items()), *manifests(opener.state(run)))
