"""Builds a configuration's extenders with their transports.

Upstream: pkg/scheduler/scheduler.go (buildExtenders).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ksched_cli.config.types import Extender
from ksched_cli.errors import UsageError
from ksched_cli.extenders.client import HTTPTransport, Transport
from ksched_cli.extenders.errors import redacted
from ksched_cli.extenders.http_extender import HTTPExtender
from ksched_cli.extenders.objects import NodeJsonCache
from ksched_cli.extenders.recording import Recording, Replay
from ksched_cli.framework.nominator import Nominator


@dataclass(slots=True)
class Extenders:
    """The extenders of a run, which share a recording.

    all: in the order in which they are called: the ignorable ones last
    warn: takes a line of warning
    """

    warn: Callable[[str], None]
    all: tuple[HTTPExtender, ...] = ()
    _recording: Recording | None = None
    _replay: Replay | None = None
    _warned: set[tuple[str, bool]] = field(default_factory=set)

    @classmethod
    def build(
        cls,
        configured: Sequence[Extender],
        nominator: Nominator,
        warn: Callable[[str], None],
        record: str = "",
        replay: str = "",
        before: Extenders | None = None,
    ) -> Extenders:
        """record, replay: files, or ""; before: of the same run, which these continue: its files
        are theirs from now on. Raises KschedError where a file or TLS is unusable."""
        extenders = cls(warn)
        if before is None:
            extenders._replay = Replay(replay, warn) if replay else None
            extenders._recording = Recording(record) if record else None
        else:
            extenders._take_files(before)
        node_json = NodeJsonCache()
        extenders.all = tuple(
            HTTPExtender(
                config, extenders._transport(config), node_json, nominator, extenders._warn_once
            )
            for config in sorted(configured, key=lambda config: config.ignorable)
        )
        return extenders

    def _take_files(self, other: Extenders) -> None:
        self._replay, self._recording = other._replay, other._recording
        other._replay = other._recording = None

    def _transport(self, config: Extender) -> Transport:
        transport = HTTPTransport(config) if self._replay is None else self._replay
        return transport if self._recording is None else self._recording.wrap(transport)

    def _warn_once(self, extender: HTTPExtender, cause: str, unreachable: bool) -> None:
        """Warns once per extender and kind of failure, not for each pod."""
        if (extender.name, unreachable) in self._warned:
            return
        self._warned.add((extender.name, unreachable))
        problem = "cannot be reached" if unreachable else "sent an unusable answer"
        self.warn(f"extender {redacted(extender.name)} {problem}: {cause}")

    @property
    def failure(self) -> UsageError | None:
        """Why the run cannot go on, or None: a request that the replayed recording does not have, a
        recording that cannot be written."""
        file = self._replay or self._recording
        return None if file is None else file.failure

    def close(self) -> None:
        """Closes connections and the recording."""
        for extender in self.all:
            extender.close()
        if self._recording is not None:
            self._recording.close()
