"""Progress on standard error, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[int, int], None]


@contextmanager
def of_pods() -> Iterator[Told | None]:
    """What a run is to tell how many pods have a node, and of how many; None off a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("pods placed")

        def on_progress(done: int, total: int) -> None:
            # Redrawing is slower than placing a pod.
            if done % 100 == 0 or done == total:
                bar.update(task, completed=done, total=total)

        yield on_progress
