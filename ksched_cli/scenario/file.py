"""Reads a scenario: a file with a list of changes. Expectations have such a list too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from msgspec import Meta

from ksched_cli.errors import InputError
from ksched_cli.kube.documents import locate
from ksched_cli.kube.file_parts import FilePart, Text
from ksched_cli.kube.near_names import near_hint
from ksched_cli.scenario.apply import Apply, ManifestPatch
from ksched_cli.scenario.arguments import Arguments, read_arguments, split_line
from ksched_cli.scenario.change import Change, ChangeError
from ksched_cli.scenario.drain import Delete, Drain, Reschedule
from ksched_cli.scenario.nodes import AddNodes, Cordon, FailNodes, Label, RecoverNodes, TaintNodes
from ksched_cli.scenario.own_document import read_own_document
from ksched_cli.scenario.scale import RolloutRestart, Scale, SetResources


@dataclass(frozen=True, slots=True)
class Verb:
    """parse: makes the change. flags: long name → whether it takes a value."""

    parse: Callable[[Arguments], Change]
    flags: Mapping[str, bool] = field(default_factory=dict)


_DRAIN_FLAGS = {
    "--force": False,
    "--ignore-daemonsets": False,
    "--delete-emptydir-data": False,
    "--disable-eviction": False,
    "--pod-selector": True,
}
_SELECTING = {"--selector": True}
_AT_ONCE = {"--at-once": False}
_CHOOSING = {"--selector": True, "--all": False, "--all-namespaces": False}

_ADD_NODES_FLAGS = dict.fromkeys(
    ("--like", "--count", "--label", "--cpu", "--memory", "--resource", "--taint"), True
)

VERBS: Mapping[str, Verb] = {
    "drain": Verb(Drain.parse, {**_DRAIN_FLAGS, **_SELECTING}),
    "cordon": Verb(Cordon.parse, _SELECTING),
    "uncordon": Verb(partial(Cordon.parse, undo=True), _SELECTING),
    "taint": Verb(TaintNodes.parse, {"--all": False, "--overwrite": False, **_SELECTING}),
    "label": Verb(Label.parse, {"--overwrite": False, **_CHOOSING}),
    "scale": Verb(Scale.parse, {"--replicas": True, "--factor": True, **_CHOOSING}),
    "set resources": Verb(
        SetResources.parse,
        {"--requests": True, "--limits": True, "--containers": True, **_CHOOSING, **_AT_ONCE},
    ),
    "apply": Verb(Apply.parse, {"--filename": True, **_SELECTING, **_AT_ONCE}),
    "delete": Verb(Delete.parse, {"--cascade": False, **_CHOOSING}),
    "patch": Verb(
        ManifestPatch.parse, {"--patch": True, "--patch-file": True, "--type": True, **_AT_ONCE}
    ),
    "rollout restart": Verb(RolloutRestart.parse, {**_CHOOSING, **_AT_ONCE}),
    "add-nodes": Verb(AddNodes.parse, _ADD_NODES_FLAGS),
    "fail": Verb(FailNodes.parse, {"--all": False, **_SELECTING}),
    "recover": Verb(RecoverNodes.parse, {"--all": False, **_SELECTING}),
    "reschedule": Verb(Reschedule.parse, _CHOOSING),
}


def parse_change(text: str, namespace: str = "", folder: Path | None = None) -> Change:
    """Parse the change of a line in kubectl's words. Raises ChangeError.

    namespace: of names without -n; "" to look everywhere
    folder:    what paths are relative to; the current one by default
    """
    verb, arguments = _read(text, namespace, folder or Path())
    at_once = arguments.has("--at-once")
    return replace(verb.parse(arguments), ignored=arguments.ignored, at_once=at_once)


def file_named(text: str) -> str:
    """Return the file that the change of a line reads, or "". Raises ChangeError."""
    flags = _read(text, "", Path())[1].flags
    manifest, patch = flags.get("--filename", ""), flags.get("--patch", "")
    manifest = "" if manifest.startswith("{") else manifest
    return manifest or flags.get("--patch-file", "") or (patch if patch.startswith("@") else "")


def count_added(text: str) -> int:
    """Return how many nodes or pods the change of a line may add, as far as its flags say. Raises
    ChangeError."""
    _, arguments = _read(text, "", Path())
    counts = [flag for flag in ("--count", "--replicas") if flag in arguments.flags]
    return sum(map(arguments.count, counts))


def _read(text: str, namespace: str, folder: Path) -> tuple[Verb, Arguments]:
    tokens = split_line(text)
    if not tokens:
        raise ChangeError(text, f"expected one of {', '.join(VERBS)}")
    length = 2 if " ".join(tokens[:2]) in VERBS else 1
    name = " ".join(tokens[:length])
    verb = VERBS.get(name)
    if verb is None:
        hint = near_hint(name, VERBS, most=1) or f"; expected one of {', '.join(VERBS)}"
        raise ChangeError(text, f'unknown change "{name}"{hint}')
    return verb, read_arguments(text, tokens[length:], verb.flags, namespace, folder)


# -- files ----------------------------------------------------------------------------------------


class AppliedObjects(FilePart, frozen=True, kw_only=True):
    """Objects to create or to configure.

    apply: an object, or a list of objects, as `apply -f` takes them
    """

    apply: dict[str, Any] | list[dict[str, Any]]

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Self:
        """Return the objects of plain data, such as a line of a timeline. Raises ChangeError for
        other keys."""
        if set(entry) != {"apply"}:
            raise ChangeError((", ".join(entry) or "no key")[:100], _APPLY_EXPECTED)
        return cls(apply=entry["apply"])


ChangeEntry: TypeAlias = Annotated[
    Text | AppliedObjects, Meta(description="in kubectl's words, as `drain node-3`")
]


class ScenarioDocument(FilePart, frozen=True, kw_only=True):
    """Changes to a cluster state, in order."""

    api_version: Literal["ksched/v1"]
    kind: Literal["Scenario"]
    changes: tuple[ChangeEntry, ...]


_APPLY_EXPECTED = "expected {apply: OBJECT}, or a line as `drain node-3`"
_HINT = "Expected apiVersion: ksched/v1, kind: Scenario, and a list `changes`."


def read_scenario(path: str, namespace: str = "") -> tuple[Change, ...]:
    """Read the changes of a scenario file, in order; paths in them are relative to the file. Raises
    InputError with line and column."""
    document, file = read_own_document(path, ScenarioDocument, _HINT, adapted=_of_expectations)
    changes = []
    for index, entry in enumerate(file.changes):
        try:
            changes.append(read_change(entry, namespace, document.folder, document.name))
        except ChangeError as error:
            position = locate(document.text, 0, ("changes", index))
            subject = f'change "{error.text}"'
            raise InputError(
                document.name, error.problem, subject=subject, position=position
            ) from None
    return tuple(changes)


def _of_expectations(document: Any) -> Any:
    """Return a document of expectations as a scenario of its changes, and any other unchanged."""
    if not isinstance(document, dict) or document.get("kind") != "Expectations":
        return document
    own = {key: document[key] for key in ("apiVersion", "changes") if key in document}
    return {**own, "kind": "Scenario"}


def read_change(entry: str | AppliedObjects, namespace: str, folder: Path, source: str) -> Change:
    """Read a line, or objects to apply. Raises ChangeError.

    source: name of the file
    """
    if isinstance(entry, str):
        return parse_change(entry, namespace, folder)
    documents = entry.apply if isinstance(entry.apply, list) else [entry.apply]
    # Objects of a line of a timeline, or of a Python call, are not checked yet.
    if not all(isinstance(document, dict) for document in documents):
        raise ChangeError("apply", _APPLY_EXPECTED)
    apply = Apply.of("apply", source, namespace, documents)
    subject = "a list of objects"
    if len(apply.manifests) == 1:
        (only,) = apply.manifests
        subject = f"{only['kind']}/{(only.get('metadata') or {}).get('name')}"
    return replace(apply, text=f"apply {subject}")
