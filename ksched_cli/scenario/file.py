"""Reads a scenario: a file with a list of changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from ksched_cli.errors import InputError
from ksched_cli.kube.documents import decode_text, load_documents, locate, read_file
from ksched_cli.scenario.apply import Apply
from ksched_cli.scenario.change import Change, ChangeError
from ksched_cli.scenario.manifests import Manifest
from ksched_cli.scenario.parsing import parse_change


def read_scenario(path: str, namespace: str = "") -> tuple[Change, ...]:
    """The changes of a scenario file, in order; paths in them are relative to the file.

    Raises InputError with line and column.
    """
    raw, name = read_file(path)
    text = decode_text(raw, name)
    documents = list(load_documents(text, name))
    if len(documents) > 1:
        raise InputError(name, "expected one document, kind Scenario")
    _check(documents[0] if documents else None, text, name)
    folder = Path() if path == "-" else Path(path).parent
    changes = []
    for index, entry in enumerate(documents[0].get("changes") or ()):
        try:
            changes.append(_change(entry, namespace, folder, name))
        except ChangeError as error:
            position = locate(text, 0, ("changes", index))
            raise InputError(
                name, error.problem, subject=f'change "{error.text}"', position=position
            ) from None
    return tuple(changes)


def _change(entry: Any, namespace: str, folder: Path, source: str) -> Change:
    """Of a line, or of {apply: OBJECT}."""
    if isinstance(entry, str):
        return parse_change(entry, namespace, folder)
    manifest = entry["apply"]
    documents = manifest if isinstance(manifest, list) else [manifest]
    apply = Apply.of("apply", source, namespace, documents)
    return replace(apply, text=f"apply {_subject(apply.manifests)}")


def _subject(manifests: Sequence[Manifest]) -> str:
    if len(manifests) != 1:
        return "a list of objects"
    metadata = manifests[0].get("metadata") or {}
    return f"{manifests[0]['kind']}/{metadata.get('name')}"


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario file."""
    text = resources.files("ksched_cli.schemas").joinpath("scenario.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _check(document: Any, text: str, name: str) -> None:
    """Raises InputError for what the schema does not allow."""
    # Loading jsonschema takes longer than most runs need for everything else.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(scenario_schema()).iter_errors(document))
    if error is None:
        return
    path = tuple(error.absolute_path)
    raise InputError(
        name,
        f"no scenario: {error.message}",
        subject=".".join(str(step) for step in path),
        position=locate(text, 0, path),
        hint="Expected apiVersion: ksched/v1, kind: Scenario, and a list `changes`.",
    )
