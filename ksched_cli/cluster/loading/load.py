"""Loads a cluster state from files, folders or standard input."""

from __future__ import annotations

import sys
from collections.abc import Container, Sequence
from typing import BinaryIO

from ksched_cli.cluster.loading.collector import Collector
from ksched_cli.cluster.loading.gc_control import gc_paused
from ksched_cli.cluster.loading.sources import default_state_path, documents, read_sources
from ksched_cli.cluster.state import ClusterState


def load_state(
    paths: Sequence[str] = (), stdin: BinaryIO | None = None, reads: Container[str] = ()
) -> ClusterState:
    """The state of all objects in all the paths.

    paths: files, folders, or "-" for stdin; none at all for the default one
    stdin: sys.stdin's bytes unless given
    reads: kinds to keep for plugins, besides those that ksched knows

    Raises InputError for what cannot be read or is no state, UsageError where there is no default.
    """
    with gc_paused():
        collector = Collector(reads)
        for source in read_sources(paths or [default_state_path()], stdin or sys.stdin.buffer):
            for document in documents(source):
                collector.add(document)
        return collector.finish()
