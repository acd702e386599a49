"""Loads a cluster state from files, folders or standard input."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import BinaryIO

import msgspec

from ksched_cli.cluster.loading.collector import Collector
from ksched_cli.cluster.loading.files import StateFiles, default_state_path, has_state_suffix
from ksched_cli.cluster.loading.gc_control import gc_paused
from ksched_cli.cluster.loading.json_pieces import UnusualFormError, pieces_of
from ksched_cli.cluster.loading.sources import Document, NoObjectError, Source, documents
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError


def load_state(
    paths: Sequence[str] = (), stdin: BinaryIO | None = None, reads: Container[str] = ()
) -> ClusterState:
    """Load the state of all objects in all the paths.

    paths: files, folders, or "-" for stdin; none at all for the default one
    stdin: sys.stdin's bytes unless given
    reads: kinds to keep for plugins, besides those that ksched knows

    Raises InputError for what cannot be read or is no state, UsageError if there is no default.
    """
    files = StateFiles(paths or [default_state_path()], stdin)
    return load_sources(files.sources(), reads, files.warnings, files.passed_over.append)


def load_sources(
    sources: Iterable[Source],
    reads: Container[str],
    warnings: Callable[[], Iterable[str]],
    on_passed_over: Callable[[str], None] = lambda name: None,
) -> ClusterState:
    """The state of all objects in all the sources.

    warnings: about the sources, once all have been read
    on_passed_over: called with the name of a folder's file that holds no object

    Raises InputError.
    """
    rest, taken = iter(sources), list[Source]()

    def noted() -> Iterator[Source]:
        for source in rest:
            taken.append(source)
            yield source

    with gc_paused():
        try:
            collector = _collected(noted(), reads, on_passed_over, in_pieces=True)
        except UnusualFormError:
            collector = _collected(chain(taken, rest), reads, on_passed_over, in_pieces=False)
        return collector.finish(tuple(warnings()))


def _collected(
    sources: Iterable[Source],
    reads: Container[str],
    on_passed_over: Callable[[str], None],
    *,
    in_pieces: bool,
) -> Collector:
    """Raises InputError, UnusualFormError."""
    collector = Collector(reads)
    for source in sources:
        if in_pieces and (pieces := pieces_of(source)) is not None:
            collector.add_pieces(pieces)
        elif not _add(collector, source):
            on_passed_over(source.name)
    return collector


def _add(collector: Collector, source: Source) -> bool:
    """Adds a file as a whole. Returns whether it holds an object. Raises InputError."""
    if source.in_folder:
        return _add_folder_file(collector, source)
    for document in documents(source):
        collector.add(document)
    return True


class _Typed(msgspec.Struct):
    """Any object; kind: whatever it is."""

    kind: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_typed = msgspec.json.Decoder(_Typed | list[msgspec.Raw])


def _add_folder_file(collector: Collector, source: Source) -> bool:
    """Add the documents of a folder's file, unless none of them is an object with a kind.

    Returns whether they were added. Raises InputError.
    """
    foreign: list[Document] = []
    has_objects = False
    try:
        for document in documents(source):
            has_objects = has_objects or _has_kind(document.data)
            foreign.append(document)
            if has_objects:
                for each in foreign:
                    collector.add(each)
                foreign.clear()
    except NoObjectError:
        return False
    except InputError:
        # What is not named as YAML or JSON is read only in case it is one of them.
        if has_objects or has_state_suffix(source.name):
            raise
    return has_objects


def _has_kind(data: msgspec.Raw) -> bool:
    """Whether it is an object with a kind, or a list with such an object."""
    try:
        value = _typed.decode(data)
    except (msgspec.ValidationError, RecursionError):
        return False
    if isinstance(value, list):
        return any(_has_kind(item) for item in value)
    return value.kind is not msgspec.UNSET


def load_beside(path: str, state: ClusterState, stdin: BinaryIO | None = None) -> ClusterState:
    """The objects at a path, "-" for stdin, pods with the priority that their class has in the
    state; they are not part of it.

    Raises InputError for what cannot be read.
    """
    collector = Collector(priority_classes=state.priority_classes)
    for source in StateFiles([path], stdin).sources():
        for document in documents(source):
            collector.add(document)
    loaded = collector.finish()
    classes = loaded.priority_classes
    own = {name: item for name, item in classes.items() if name not in state.priority_classes}
    return replace(loaded, priority_classes=own)
