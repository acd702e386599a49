"""`ksched snapshot --redact`: the objects renamed, the key kept, and the decisions compared."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ksched_cli.analysis.redaction_check import redaction_differences
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.cluster.redaction.codebook import key_text, read_key
from ksched_cli.cluster.redaction.redact import (
    Plain,
    Renamer,
    is_read,
    learn,
    object_names,
    redacted,
    renamed,
)
from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import CommonOptions
from ksched_cli.commands.output import note, set_release, warn
from ksched_cli.commands.snapshot_origin import (
    Origin,
    show_written,
    warn_of_absences,
    write_snapshot,
)
from ksched_cli.framework.registry import Registry
from ksched_cli.live.snapshot import ClusterSnapshot
from ksched_cli.live.snapshot_file import snapshot_text, written_aside
from ksched_cli.plugins import kinds_read
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.open import Opener
from ksched_cli.run.run import Run

_MAX_LISTED = 3


def write_redacted(
    options: CommonOptions, origin: Origin, registry: Registry, path: str, key_path: str
) -> ExitCode:
    """path: "" for standard output; key_path: "" where no key is kept. Raises KschedError."""
    codebook = read_key(key_path)
    with origin.objects(kinds_read(registry, options.feature_gates)) as read:
        objects = list(read.items)
    warn_of_absences(read.about())
    version = read.about().server_version
    original = _opener(options, objects, version)
    original.base_state(original.runs[0])  # what is not valid is an error before it is renamed
    renamed, renamer = redacted(objects, codebook)
    differing = _differing_pods(original, _opener(options, renamed, version), renamer)
    if key_path:
        with written_aside(key_path, private=True) as file:
            file.write(key_text(codebook, object_names(objects, renamer)))
    about = _redacted_about(read.about(), renamer)
    size = write_snapshot(renamed, lambda: about, path)
    if path:
        show_written(options, path, size, read.source, read.about())
    if differing:
        names = ", ".join(differing[:_MAX_LISTED]) + (", …" if differing[_MAX_LISTED:] else "")
        pods = "1 pod ends" if len(differing) == 1 else f"{len(differing)} pods end"
        warn(f"{pods} up elsewhere in the redacted state than in the original: {names}")
        return ExitCode.NO
    note("checked: every pod of the redacted state ends up where the original has it")
    return ExitCode.YES


def _redacted_about(about: ClusterSnapshot, renamer: Renamer) -> ClusterSnapshot:
    """Without the server, namespaces, and the vendor's suffix of the version."""
    warnings = list(about.warnings)
    for namespace in {entry.namespace for entry in about.lists if entry.namespace}:
        code = renamer.namespace(namespace)
        warnings = [
            line.replace(f"of namespace {namespace} ", f"of namespace {code} ") for line in warnings
        ]
    lists = (
        replace(entry, namespace=entry.namespace and renamer.namespace(entry.namespace))
        for entry in about.lists
    )
    return replace(
        about,
        server="",
        server_version=renamer.kubelet_version(about.server_version),
        lists=tuple(lists),
        warnings=tuple(warnings),
    )


def _differing_pods(original: Opener, redacted: Opener, renamer: Renamer) -> list[str]:
    """Both states run with the default configuration, by the rules of the first."""
    release = original.release(original.runs[0])
    set_release(release)
    record, redacted_record = (
        opener.simulation(replace(opener.runs[0], kubernetes_version=release.number)).run()
        for opener in (original, redacted)
    )

    def pod_key(key: str) -> str:
        namespace, _, name = key.partition("/")
        return f"{renamer.namespace(namespace)}/{renamer.name(name)}"

    return redaction_differences(record, redacted_record, pod_key, renamer.name)


def _opener(options: CommonOptions, objects: Sequence[bytes], version: str) -> Opener:
    """Opens the objects as a state, without the pods that workloads lack, and no other plugins.

    version: of the API server"""
    run = Run(states=("the snapshot",), workloads=False, feature_gates=options.feature_gates,
              kubernetes_version=options.kubernetes_version)  # fmt: skip
    inputs = Inputs()
    about = ClusterSnapshot("", version, "", ())
    text = b"".join(snapshot_text(objects, lambda: about))
    inputs.give(run.states, Source("the snapshot", text))
    return Opener([run], inputs)


class RecordingRedactor:
    """Renames what a recorder writes, as it comes. key_path: "" to save no key"""

    def __init__(self, key_path: str) -> None:
        self._key_path, self._codebook = key_path, read_key(key_path)
        self._renamer = Renamer(self._codebook)

    def objects(self, plain: Sequence[Plain]) -> list[Plain]:
        """The objects of kinds that ksched reads."""
        objects = [obj for obj in plain if is_read(obj)]
        learn(self._renamer, objects)
        return [renamed(self._renamer, obj) for obj in objects]

    def decision(self, decision: Plain) -> Plain:
        """A scheduler's decision about a pod, whose texts are names, but for the namespace."""
        renamer = self._renamer
        renamer.learn_more()
        for text in decision.values():
            renamer.name(text)
        renamer.learned()
        texts = {field: renamer.name(text) for field, text in decision.items()}
        return {**texts, "namespace": renamer.namespace(decision["namespace"])}

    def about(self, about: ClusterSnapshot) -> ClusterSnapshot:
        return _redacted_about(about, self._renamer)

    def save(self) -> None:
        """Writes the key."""
        if self._key_path:
            with written_aside(self._key_path, private=True) as file:
                file.write(key_text(self._codebook, ()))
