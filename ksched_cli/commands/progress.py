"""Progress on standard error: on a terminal as it goes, elsewhere a line every ten seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from ksched_cli.commands.output import SETTINGS, note
from ksched_cli.kube.time import SECOND

if TYPE_CHECKING:
    from ksched_cli.engine.replay.replay import Replay

OnProgress = Callable[[int, int], None]
OnStep = Callable[[int, int, str], None]

# Redrawing takes longer than placing a pod.
REDRAW_SECONDS = 0.25
# Seconds between lines, where there is no terminal.
LINE_EVERY = 10.0


@contextmanager
def of(noun: str) -> Iterator[OnProgress | None]:
    """Yield what is called with how many of the noun are done, and how many there are; None for
    --quiet. On a terminal a bar, else a line every ten seconds."""
    if SETTINGS.quiet:
        yield None
        return
    drawn = monotonic()
    if not sys.stderr.isatty():

        def write_line(done: int, total: int) -> None:
            nonlocal drawn
            if monotonic() - drawn >= LINE_EVERY:
                drawn = monotonic()
                note(f"{done:,} of {total:,} {noun}")

        yield write_line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (noun, BarColumn(), MofNCompleteColumn(), "done, left:", TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(noun, total=None)

        def on_progress(done: int, total: int) -> None:
            nonlocal drawn
            now = monotonic()
            if now - drawn > REDRAW_SECONDS or done == total:
                drawn = now
                bar.update(task, completed=done, total=total)

        yield on_progress


@contextmanager
def of_search(noun: str) -> Iterator[OnStep | None]:
    """Yield what is called with how many of the noun are done, of how many, and the best answer so
    far. On a terminal a line that changes, else one every ten seconds; None for --quiet."""
    if SETTINGS.quiet:
        yield None
        return
    shown = monotonic()

    def stepping(show: Callable[[str], None], interval: float) -> OnStep:
        def on_step(done: int, total: int, best: str) -> None:
            nonlocal shown
            if monotonic() - shown >= interval:
                shown = monotonic()
                count = f"{done:,} of {total:,}" if total else f"{done:,}"
                show(f"{count} {noun}{f'; best so far: {best}' if best else ''}")

        return on_step

    if not sys.stderr.isatty():
        yield stepping(note, LINE_EVERY)
        return
    from rich.console import Console

    with Console(stderr=True).status("searching") as status:
        yield stepping(status.update, REDRAW_SECONDS)


@contextmanager
def of_objects() -> Iterator[Callable[[str, int], None] | None]:
    """Yield what is called with a kind and how many of its objects have been read; else as `of`."""
    if SETTINGS.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading the cluster") as status:
        yield lambda kind, count: status.update(f"reading the cluster: {kind} {count:,}")


@dataclass(slots=True)
class Pace:
    """How fast a replay is since a moment.

    began: by the machine's clock; done, share: how much was done then
    """

    replay: Replay
    began: float = field(default_factory=lambda: monotonic())
    done: int = field(init=False)
    share: float = field(init=False)

    def __post_init__(self) -> None:
        self.done, self.share = self._done, self.replay.share_done

    @property
    def _done(self) -> int:
        counts = self.replay.log.counts
        return counts.events + counts.attempts + counts.ended

    @property
    def took(self) -> float:
        return monotonic() - self.began

    @property
    def rate(self) -> float:
        """Events, attempts and ends in a second."""
        return (self._done - self.done) / max(self.took, 1e-9)

    @property
    def left(self) -> float | None:
        """How many seconds the rest will take at this pace; None while nothing tells."""
        share = self.replay.share_done
        if not self.share < share <= 1:
            return None
        return self.took * (1 - share) / (share - self.share)

    @property
    def text(self) -> str:
        from ksched_cli.report.times import MomentTexts, duration

        replay, left = self.replay, self.left
        moments = MomentTexts(replay.options.start, replay.clock.now)
        parts = [
            f"replaying: {moments.text(replay.clock.now)}",
            f"{replay.log.counts.events:,} events",
            f"{self.rate:,.0f} a second",
        ]
        if left is not None:
            rest = "the timeline is read" if replay.share_done == 1 else ""
            parts.append(rest or f"about {duration(round(left) * SECOND)} left")
        return ", ".join(parts)


@dataclass(slots=True)
class ReplayProgress:
    """Shows how far a replay is. show: takes a line, None for --quiet; interval: in seconds"""

    show: Callable[[str], None] | None
    interval: float
    _pace: Pace | None = None
    _shown: float = 0.0

    def begin(self, replay: Replay) -> Pace:
        self._pace, self._shown = Pace(replay), monotonic()
        return self._pace

    def after_instant(self) -> None:
        if self.show is None or self._pace is None or monotonic() - self._shown < self.interval:
            return
        self._shown = monotonic()
        self.show(self._pace.text)


@contextmanager
def of_replay() -> Iterator[ReplayProgress]:
    """Report the progress of a replay: on a terminal a line that changes, else one now and then."""
    if SETTINGS.quiet or not sys.stderr.isatty():
        yield ReplayProgress(None if SETTINGS.quiet else note, LINE_EVERY)
        return
    from rich.console import Console

    with Console(stderr=True).status("replaying") as status:
        yield ReplayProgress(status.update, REDRAW_SECONDS)
