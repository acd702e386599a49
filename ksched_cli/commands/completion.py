"""Completion of names from the state that the line names, of changes, and of forms.

Only files that are read in a moment; a state that is missing or broken completes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from ksched_cli.commands.forms import forms_of

MAX_BYTES = 20_000_000
MAX_YAML_BYTES = 1_000_000
POD_PREFIX = "pod/"
# Those of scenario/arguments.py, which takes a fifth of a second to import.
WORKLOADS = (
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "CronJob",
    "ReplicationController",
)
HASH_LABEL = "pod-template-hash"
CANDIDATES = ("cluster.yaml", "cluster.yml", "cluster.json")


def complete_pod(context: typer.Context, incomplete: str) -> list[str]:
    """Return names of pods, with their namespace, or pod/, if that is what was begun, and of
    workloads; with -n, only those of that namespace."""
    prefix = POD_PREFIX if incomplete.startswith(POD_PREFIX) else ""
    names = []
    for metadata in _chosen(context, "Pod"):
        name, namespace = metadata["name"], _namespace(metadata)
        names.append(f"{namespace}/{name}" if "/" in incomplete and not prefix else prefix + name)
    return _beginning(incomplete, [*names, *_workloads(context)])


def complete_workload(context: typer.Context, incomplete: str) -> list[str]:
    return _beginning(incomplete, _workloads(context))


def complete_node(context: typer.Context, incomplete: str) -> list[str]:
    return _beginning(incomplete, _nodes(context))


def complete_namespace(context: typer.Context, incomplete: str) -> list[str]:
    """Return namespaces of the state, and those of its pods."""
    names = [metadata["name"] for metadata in _metadata(context, "Namespace")]
    return _beginning(incomplete, [*names, *map(_namespace, _metadata(context, "Pod"))])


def complete_form(context: typer.Context, incomplete: str) -> list[str]:
    """Return the forms that the command has."""
    return [form.value for form in forms_of(context.info_name) if form.value.startswith(incomplete)]


def complete_change(context: typer.Context, incomplete: str) -> list[str]:
    """Return the verb of a change; then names of nodes, pods and workloads if the verb takes them,
    and its flags. Each candidate is the whole text."""
    from ksched_cli.scenario.file import VERBS

    verb = next((verb for verb in VERBS if incomplete.startswith(f"{verb} ")), "")
    if not verb:
        return _beginning(incomplete, VERBS)
    before, _, last = incomplete.rpartition(" ")
    flags = [*VERBS[verb].flags, "--namespace"]
    candidates = flags if last.startswith("-") else _named_by(context, verb, before.split())
    return [f"{before} {candidate}" for candidate in _beginning(last, candidates)]


def _named_by(context: typer.Context, verb: str, tokens: Sequence[str]) -> Iterable[str]:
    """Return what may follow these words of a change."""
    if tokens[-1] in ("-n", "--namespace"):
        return complete_namespace(context, "")
    if tokens[-1] == "--like" or verb in ("drain", "cordon", "uncordon"):
        return _nodes(context)
    if verb in ("taint", "label"):
        if len(tokens) == 1:
            return ("nodes",) if verb == "taint" else ("nodes", "pods")
        return _nodes(context) if tokens[1].startswith("no") else _names_of_pods(context)
    if verb in ("apply", "add-nodes", "reschedule"):
        return ()
    pods = map(f"{POD_PREFIX}{{}}".format, _names_of_pods(context))
    return [*_workloads(context), *(pods if verb in ("delete", "patch", "set resources") else ())]


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(incomplete)})


def _nodes(context: typer.Context) -> list[str]:
    return [metadata["name"] for metadata in _metadata(context, "Node")]


def _names_of_pods(context: typer.Context) -> list[str]:
    return [metadata["name"] for metadata in _chosen(context, "Pod")]


def _chosen(context: typer.Context, *kinds: str) -> list[dict[str, Any]]:
    """Read objects of the namespace that -n names, or of all namespaces without it."""
    chosen = context.params.get("namespace")
    objects = _metadata(context, *kinds)
    return [each for each in objects if not chosen or _namespace(each) == chosen]


def _workloads(context: typer.Context) -> list[str]:
    """Return as KIND/NAME the workloads of the state, and those that its pods name."""
    named = []
    for kind in WORKLOADS:
        named += [f"{kind.lower()}/{each['name']}" for each in _chosen(context, kind)]
    for metadata in _chosen(context, "Pod"):
        for owner in metadata.get("ownerReferences", ()):
            kind, name = owner["kind"], owner["name"]
            end = f"-{metadata.get('labels', {}).get(HASH_LABEL, '')}"
            if kind == "ReplicaSet" and name.endswith(end) and len(end) > 1:
                kind, name = "Deployment", name.removesuffix(end)
            if kind in WORKLOADS:
                named.append(f"{kind.lower()}/{name}")
    return named


def _namespace(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get("namespace", "default"))


def _metadata(context: typer.Context, *kinds: str) -> list[dict[str, Any]]:
    named = context.params.get("state") or os.environ.get("KSCHED_STATE", "").split()
    try:
        paths = [Path(name) for name in named] or [
            Path(name) for name in CANDIDATES if Path(name).is_file()
        ]
        return [
            item["metadata"]
            for path in paths
            for item in _objects(path)
            if item.get("kind") in kinds and "name" in item.get("metadata", {})
        ]
    except Exception:  # whatever is wrong is said when the command runs
        return []


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    size = path.stat().st_size
    if path.suffix == ".json" and size <= MAX_BYTES:
        import json

        documents = [json.loads(path.read_bytes())]
    elif path.suffix in (".yaml", ".yml") and size <= MAX_YAML_BYTES:
        import yaml

        documents = list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))
    else:
        return
    for document in documents:
        yield from document.get("items", [document])
