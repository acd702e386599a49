"""Where the objects of a snapshot come from, and how its file is written, summed up and renamed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from ksched_cli.cluster.loading.kinds import miscased, proper_kind, type_of_kind
from ksched_cli.cluster.loading.load import plain_objects
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.cluster.loading.state_warnings import empty_state_error, skipped_warnings
from ksched_cli.cluster.redaction.codebook import key_text, read_key
from ksched_cli.cluster.redaction.redact import (
    Plain,
    in_new_order,
    is_read,
    learn,
    object_names,
    redacted,
    renamed,
)
from ksched_cli.cluster.redaction.renamer import Renamer
from ksched_cli.cluster.trimming import SECRET, is_written, trimmed
from ksched_cli.commands import progress
from ksched_cli.commands.options import CommonOptions
from ksched_cli.commands.output import note, print_text, set_release, show, warn
from ksched_cli.commands.runs import run_of
from ksched_cli.engine.records import RunRecord
from ksched_cli.errors import ExitCode, UsageError, first_names
from ksched_cli.live.client import connect
from ksched_cli.live.snapshot import (
    ClusterReader,
    ClusterSnapshot,
    ReadList,
    SnapshotResult,
    namespace_warning,
    whole_object,
)
from ksched_cli.live.snapshot_file import snapshot_text, written_aside
from ksched_cli.report.forms import Form, safe_in_job
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.open import Opener

# -- where objects come from, and their file -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Objects:
    """items: JSON, to be read once. about: what was read, complete after the last of them.
    source: where they are from, for the summary. skipped: kind that is not written → how many"""

    items: Iterator[bytes]
    about: Callable[[], ClusterSnapshot]
    source: str
    skipped: Mapping[str, int] = field(default_factory=dict)

    def warn(self) -> None:
        """Warn of what was not read, or is not written."""
        warn(*skipped_warnings(self.skipped), *self.about().remarks)


@dataclass(frozen=True, slots=True)
class Origin:
    """Files (state), else a cluster. namespace: to list where those of all are forbidden. full:
    objects as they are there. events: the schedulers' too. allow_empty: no nodes are no error"""

    state: Sequence[str]
    context: str
    kubeconfig: str
    namespace: str
    full: bool
    events: bool = False
    allow_empty: bool = False

    def check(self) -> None:
        """Refuse options that do nothing with --state. Raises UsageError."""
        options = {
            "--context": self.context,
            "--kubeconfig": self.kubeconfig,
            "-n": self.namespace,
            "--events": self.events,
        }
        for option, value in options.items():
            if value and self.state:
                raise UsageError(f"{option} has no effect with --state")

    @contextmanager
    def objects(self, reads: Iterable[str]) -> Iterator[Objects]:
        """Yield the objects, which are read meanwhile. reads: kinds besides those that ksched
        knows; Secrets are in no snapshot. Raises KschedError, also while they are read."""
        reads = frozenset(reads)
        if SECRET in reads:
            warn("a plugin reads Secrets, which no snapshot has")
            reads -= {SECRET}
        if self.state:
            yield self._of_files(reads)
            return
        server = connect(self.kubeconfig, self.context)
        with progress.of_objects() as on_progress:
            reader = ClusterReader(
                server,
                reads=reads,
                namespace=self.namespace,
                convert=whole_object if self.full else None,
                events=self.events,
                on_progress=on_progress,
            )
            items = (item for objects in reader.lists() for item in objects.items)
            source = server.identity.source
            yield Objects(items, lambda: self._checked(reader.snapshot, source), source)

    def _of_files(self, reads: Container[str]) -> Objects:
        counts: Counter[tuple[str, str]] = Counter()
        skipped: Counter[str] = Counter()
        headers: list[Plain] = []
        source = ", ".join(self.state)

        def items() -> Iterator[bytes]:
            for obj in plain_objects(self.state, headers=headers):
                kind, version = obj["kind"], obj["apiVersion"]
                if proper := proper_kind(version, kind):
                    raise UsageError(f"{source}: {miscased(kind, proper)}")
                if not is_written(version, kind, reads):
                    skipped[kind] += 1
                    continue
                counts[kind, version] += 1
                yield msgspec.json.encode(obj if self.full else trimmed(obj))

        def about() -> ClusterSnapshot:
            # A kind is whole where the snapshot that is read says so; its list has a version then.
            versions = {
                entry.get("kind"): entry.get("resourceVersion") or ""
                for header in headers
                for entry in header.get("lists") or ()
                if not entry.get("namespace")
            }
            lists = (
                ReadList(*kind, "", count, versions.get(kind[0], ""))
                for kind, count in counts.items()
            )
            named = [header.get("serverVersion") for header in headers]
            server = next(filter(None, reversed(named)), "")
            about = ClusterSnapshot("", server, "", tuple(lists))
            return self._checked(about, source, *skipped_warnings(skipped))

        return Objects(items(), about, source, skipped)

    def _checked(self, about: ClusterSnapshot, source: str, *details: str) -> ClusterSnapshot:
        """Return what was read. Raises UsageError if there are no nodes."""
        if self.allow_empty or any(entry.kind == "Node" and entry.objects for entry in about.lists):
            return about
        raise empty_state_error(source, *details)


def write_snapshot(items: Iterable[bytes], about: Callable[[], ClusterSnapshot], path: str) -> int:
    """Write a file, or standard output if there is no path, whole or not at all; return the file's
    size. Raises UsageError, OutputError."""
    parts = snapshot_text(items, about)
    if not path:
        print_text(safe_in_job(b"".join(parts).decode().rstrip("\n"), Form.JSON))
        return 0
    with written_aside(path) as file:
        size = sum(map(file.write, parts))
    return os.path.getsize(path) if os.path.isfile(path) else size


def write_plain(
    options: CommonOptions, origin: Origin, reads: Iterable[str], path: str
) -> ExitCode:
    """Write a snapshot as it is, and show its summary. reads: kinds besides those that ksched
    knows. Raises KschedError."""
    with origin.objects(reads) as objects:
        size = write_snapshot(objects.items, objects.about, path)
    objects.warn()
    if path:
        show_written(options, path, size, objects.source, objects.about())
    return ExitCode.YES


def show_written(
    options: CommonOptions, path: str, size: int, source: str, about: ClusterSnapshot
) -> None:
    """Print the summary of a file."""
    show(SnapshotResult.of(path, size, source, about), options)


# -- --redact: the objects renamed, the key kept, and the decisions compared -----------------------

Rename = Callable[[str], str]


def write_redacted(
    options: CommonOptions, origin: Origin, reads: Iterable[str], path: str, key_path: str
) -> ExitCode:
    """Write a redacted snapshot. path: "" for standard output; key_path: "" if no key is kept;
    reads: as in write_plain. Raises KschedError."""
    codes = read_key(key_path)
    with origin.objects(reads) as read:
        objects = list(read.items)
    read.warn()
    version = read.about().server_version
    original = _opener(options, objects, version)
    original.base_state(original.runs[0])  # what is not valid is an error before it is renamed
    renamed, renamer = redacted(objects, codes)
    # Both states run with the default configuration, by the rules of the first.
    release = original.release(original.runs[0])
    set_release(release)
    record, redacted_record = (
        opener.simulation(replace(opener.runs[0], kubernetes_version=release.number)).run()
        for opener in (original, _opener(options, renamed, version))
    )

    def pod_key(key: str) -> str:
        namespace, _, name = key.partition("/")
        return f"{renamer.namespace(namespace)}/{renamer.name(name)}"

    differing = redaction_differences(record, redacted_record, pod_key, renamer.sorted_name)
    if key_path:
        with written_aside(key_path, private=True) as file:
            file.write(key_text(codes, object_names(objects, renamer)))
    about = _redacted_about(read.about(), renamer)
    size = write_snapshot(renamed, lambda: about, path)
    if path:
        show_written(options, path, size, read.source, read.about())
    if differing:
        pods = "1 pod ends" if len(differing) == 1 else f"{len(differing)} pods end"
        names = first_names(differing)
        warn(f"{pods} up elsewhere in the redacted state than in the original: {names}")
        return ExitCode.NO
    note("checked: every pod of the redacted state ends up where the original has it")
    return ExitCode.YES


def _redacted_about(about: ClusterSnapshot, renamer: Renamer) -> ClusterSnapshot:
    """Return what the lists of kinds that ksched reads have, without the server, namespaces, the
    vendor's suffix of the version, and warnings, which may name other kinds."""
    lists = [entry for entry in about.lists if type_of_kind(entry.api_version, entry.kind)]
    namespaces = {entry.namespace for entry in lists if entry.namespace}
    renamer.learn_more()
    for namespace in namespaces:
        renamer.namespace(namespace)
    renamer.learned()
    warnings = [
        namespace_warning(
            [entry.kind for entry in lists if entry.namespace == namespace],
            renamer.namespace(namespace),
        )
        for namespace in sorted(namespaces)
    ]
    return replace(
        about,
        server="",
        server_version=renamer.kubelet_version(about.server_version),
        lists=tuple(
            replace(
                entry,
                api_version=renamer.owner_version(entry.api_version),
                namespace=entry.namespace and renamer.namespace(entry.namespace),
                resource_version=renamer.number(entry.resource_version),
            )
            for entry in lists
        ),
        absences=(),
        warnings=tuple(warnings),
    )


def redaction_differences(
    run: RunRecord, redacted_run: RunRecord, pod: Rename, node: Rename
) -> list[str]:
    """Return the pods, by their own names, whose outcome differs: another node, pending, gated,
    evicted or not. pod, node: from a pod's key or a node's name to the redacted one"""
    fates, redacted_fates = _fates(run, node), _fates(redacted_run, str)
    renamed = {pod(key): key for key in fates}
    differing = [key for code, key in renamed.items() if redacted_fates.get(code) != fates[key]]
    return [*differing, *(code for code in redacted_fates if code not in renamed)]


def _fates(run: RunRecord, node: Rename) -> dict[str, tuple[str, bool]]:
    """Return, by pod, its outcome or where it was placed, and whether it was evicted."""
    evicted = dict.fromkeys((eviction.pod for eviction in run.evicted), "evicted")
    fates = {
        **evicted,
        **dict.fromkeys(run.pending, "pending"),
        **dict.fromkeys(run.gated, "gated"),
        **{key: f"on {node(name)}" for key, name in run.placements.items()},
    }
    return {key: (fate, key in evicted) for key, fate in fates.items()}


def _opener(options: CommonOptions, objects: Sequence[bytes], version: str) -> Opener:
    """Open the objects as a state, without the pods that workloads lack, and no other plugins.

    version: of the API server"""
    run = run_of(options, states=("the snapshot",), allow_empty_state=True, workloads=False)
    inputs = Inputs()
    about = ClusterSnapshot("", version, "", ())
    text = b"".join(snapshot_text(objects, lambda: about))
    inputs.give(run.states, Source("the snapshot", text))
    return Opener([run], inputs)


class RecordingRedactor:
    """Renames what a recorder writes, as it comes. key_path: "" to save no key"""

    def __init__(self, key_path: str) -> None:
        self._key_path, self._codes = key_path, read_key(key_path)
        self._renamer = Renamer(self._codes)

    def objects(self, plain: Sequence[Plain]) -> list[Plain]:
        """Return the objects of kinds that ksched reads."""
        objects = [obj for obj in plain if is_read(obj)]
        learn(self._renamer, objects)
        return in_new_order(renamed(self._renamer, obj) for obj in objects)

    def decision(self, decision: Plain) -> Plain:
        """Return a scheduler's decision about a pod, whose texts are names, but for the
        namespace."""
        renamer = self._renamer
        sorts = {"namespace": renamer.namespace, "node": renamer.sorted_name}
        renamer.learn_more()
        for name, text in decision.items():
            sorts.get(name, renamer.name)(text)
        renamer.learned()
        return {name: sorts.get(name, renamer.name)(text) for name, text in decision.items()}

    def about(self, about: ClusterSnapshot) -> ClusterSnapshot:
        return _redacted_about(about, self._renamer)

    def save(self) -> None:
        """Write the key."""
        if self._key_path:
            with written_aside(self._key_path, private=True) as file:
                file.write(key_text(self._codes, ()))
