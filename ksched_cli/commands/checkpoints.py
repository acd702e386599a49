"""`ksched replay --checkpoint FILE`: writes the replay to a file now and then, and when it is
interrupted, and goes on with one that is there."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

from ksched_cli.commands.output import note
from ksched_cli.commands.signals import SIGNALS, EndedBySignal
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.commands.options import StateOptions
    from ksched_cli.engine.replay.records import PodRecord
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.engine.replay.world import World

INTERVAL = 60.0  # seconds from one checkpoint to the next


@dataclass(slots=True)
class Checkpoints:
    """Of one replay. records: of the pods that have left, where they are listed in the end"""

    path: str
    fingerprint: str
    records: list[PodRecord]
    _signal: int = 0
    _written: float = field(default_factory=monotonic)

    def resume(self, run: Replay) -> None:
        """Goes on with the file's replay, if there is one. Raises InputError, and UsageError where
        the file could not be written."""
        from ksched_cli.engine.replay.checkpoint import read_checkpoint, resume
        from ksched_cli.kube.documents import read_file
        from ksched_cli.live.snapshot_file import check_writable

        check_writable(self.path)
        if not os.path.exists(self.path):
            return
        data, name = read_file(self.path)
        checkpoint = read_checkpoint(data, name, self.fingerprint)
        self.records += checkpoint.records
        resume(run, checkpoint)
        note(f"going on with {name}, at {run.clock.text}")

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Inside, a signal that ends ksched does so after the instant; a second one at once."""
        before = {number: signal.getsignal(number) for number in SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._remember)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self._signal = number
        for other in SIGNALS:
            signal.signal(other, signal.SIG_DFL)

    def after_instant(self, run: Replay) -> None:
        """Raises EndedBySignal."""
        is_between = not (run.attempts.waiting or run.world.has_ranking)
        if not is_between or not (self._signal or monotonic() - self._written > INTERVAL):
            return
        self._write(run)
        if self._signal:
            note(f"interrupted at {run.clock.text}; the same command goes on with {self.path}")
            raise EndedBySignal(self._signal)
        self._written = monotonic()

    def _write(self, run: Replay) -> None:
        from ksched_cli.engine.replay.checkpoint import take_checkpoint
        from ksched_cli.live.snapshot_file import written_aside

        check_state(run.world)
        with written_aside(self.path, private=True) as file:
            file.write(take_checkpoint(run, self.fingerprint, self.records))

    def finish(self) -> None:
        """The replay is over: its checkpoint goes."""
        Path(self.path).unlink(missing_ok=True)


def check_state(world: World) -> None:
    """Raises UsageError where a checkpoint would lose something: what a plugin assumes."""
    names = world.unsaved()
    if names:
        plugins = ", ".join(names)
        raise UsageError(
            f"--checkpoint cannot hold what {plugins} assumes of pods that run: it has carry_over, "
            "and lacks the methods assumed and assume"
        )


def fingerprint_of(
    world: World, paths: tuple[str, ...], options: StateOptions, **others: object
) -> str:
    """Of all that a replay depends on. paths: of the files besides the configuration, or \"\""""
    from ksched_cli import __version__
    from ksched_cli.kube.documents import read_file
    from ksched_cli.scenario.state_file import manifests

    digest = hashlib.sha256()
    for path in filter(None, (*paths, options.config)):
        if path == "-":
            raise UsageError("--checkpoint needs files: standard input can be read only once")
        digest.update(hashlib.sha256(read_file(path)[0]).digest())
    for manifest in manifests(world.state):
        digest.update(manifest)
    release = world.configuration.release
    settings = (__version__, release, options.plugin, options.namespace, sorted(others.items()))
    digest.update(repr(settings).encode())
    return digest.hexdigest()
