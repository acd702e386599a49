"""Progress on standard error, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

from ksched_cli.commands.output import SETTINGS

OnProgress = Callable[[int, int], None]

# Redrawing takes longer than placing a pod.
REDRAW_EVERY = 100


@contextmanager
def of_pods(text: str = "pods placed") -> Iterator[OnProgress | None]:
    """What is called with the number of pods that are done, and of all; None without a terminal,
    and for --quiet."""
    if SETTINGS.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text)

        def on_progress(placed: int, total: int) -> None:
            if placed % REDRAW_EVERY == 0 or placed == total:
                bar.update(task, completed=placed, total=total)

        yield on_progress


@contextmanager
def of_runs(text: str = "runs") -> Iterator[OnProgress | None]:
    """What is called with the number of them that are done, and of all; else as of_pods."""
    if SETTINGS.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (text, BarColumn(), MofNCompleteColumn(), "done, left:", TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def of_objects() -> Iterator[Callable[[str, int], None] | None]:
    """What is called with a kind and how many of its objects have been read; else as of_pods."""
    if SETTINGS.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading the cluster") as status:
        yield lambda kind, count: status.update(f"reading the cluster: {kind} {count:,}")


@contextmanager
def of_time() -> Iterator[Callable[[float, int], None] | None]:
    """What is called with the simulated seconds and the events that happened; else as of_pods."""
    if SETTINGS.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("replaying") as status:
        calls = count()

        def on_instant(seconds: float, events: int) -> None:
            if not next(calls) % REDRAW_EVERY:
                status.update(f"replaying: {seconds / 3600:,.1f} h, {events:,} events")

        yield on_instant
