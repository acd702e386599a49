"""From the configuration's extenders to extenders that can be asked.

Upstream: pkg/scheduler/scheduler.go (buildExtenders).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ksched_cli.config.types import Extender
from ksched_cli.errors import UsageError
from ksched_cli.extenders.client import HTTPTransport, Transport
from ksched_cli.extenders.faults import redacted
from ksched_cli.extenders.http_extender import HTTPExtender
from ksched_cli.extenders.objects import NodeTexts
from ksched_cli.extenders.recording import Recording, Replay
from ksched_cli.framework.nominator import Nominator


@dataclass(slots=True)
class Extenders:
    """All of a run, in the order they are asked: the ignorable ones last. They share a recording.

    warn: takes a line of warning
    """

    warn: Callable[[str], None]
    all: tuple[HTTPExtender, ...] = ()
    _recording: Recording | None = None
    _answers: Replay | None = None
    _warned: set[tuple[str, bool]] = field(default_factory=set)

    @classmethod
    def build(
        cls,
        configured: Sequence[Extender],
        nominator: Nominator,
        warn: Callable[[str], None],
        record: str = "",
        replay: str = "",
    ) -> Extenders:
        """record, replay: files, or "". Raises KschedError where a file or TLS is of no use."""
        found = cls(warn)
        answers = found._answers = Replay(replay) if replay else None
        found._recording = Recording(record) if record else None
        texts = NodeTexts()
        found.all = tuple(
            HTTPExtender(one, found._transport(one, answers), texts, nominator, found._troubled)
            for one in sorted(configured, key=lambda one: one.ignorable)
        )
        return found

    def _transport(self, extender: Extender, answers: Replay | None) -> Transport:
        transport = HTTPTransport(extender) if answers is None else answers
        return transport if self._recording is None else self._recording.over(transport)

    def _troubled(self, extender: HTTPExtender, cause: str, unreachable: bool) -> None:
        """Says it once per extender, and not for each pod."""
        if (extender.name, unreachable) in self._warned:
            return
        self._warned.add((extender.name, unreachable))
        what = "cannot be reached" if unreachable else "gives no answer that can be used"
        self.warn(f"extender {redacted(extender.name)} {what}: {cause}")

    @property
    def missing(self) -> UsageError | None:
        """What the recording has no answer to, if anything."""
        return None if self._answers is None else self._answers.missing

    def close(self) -> None:
        for extender in self.all:
            extender.close()
        if self._recording is not None:
            self._recording.close()
