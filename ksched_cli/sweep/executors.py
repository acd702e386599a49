"""Where runs are made: in a process beside this one, on workers of this machine, on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ksched_cli.errors import MissingExtraError
from ksched_cli.sweep.execution import Executor, ExecutorOptions, serially
from ksched_cli.sweep.materials import Materials


@contextmanager
def open_executor(materials: Materials, options: ExecutorOptions) -> Iterator[tuple[Executor, int]]:
    """What makes runs, and how many workers it has. Raises KschedError where there is no Dask, or
    the cluster cannot be used."""
    if not options.workers and not options.address:
        yield serially(materials, options.timeout), 1
        return
    try:
        from ksched_cli.sweep.cluster import on_cluster
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("distributed", "dask"):
            raise
        option = "--scheduler" if options.address else "--workers"
        raise MissingExtraError(option, "sweep") from None
    with on_cluster(materials, options) as executor:
        yield executor
