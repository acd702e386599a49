"""The objects of a state's files as plain data, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from ksched_cli.cluster.loading.files import StateFiles
from ksched_cli.cluster.loading.sources import documents
from ksched_cli.errors import InputError
from ksched_cli.kube.plain_json import plain_json

Plain = dict[str, Any]

_LIST = "List"


def plain_objects(
    paths: Sequence[str], stdin: BinaryIO | None = None, server_versions: list[str] | None = None
) -> Iterator[Plain]:
    """Each with its apiVersion and kind, those of lists too; what is not an object is left out, as
    `load_state` warns of it. Raises InputError.

    server_versions: gets the versions of the API servers that the files name
    """
    for source in StateFiles(paths, stdin).sources():
        try:
            for document in documents(source):
                value = plain_json(document.data, source.name)
                if server_versions is not None:
                    server_versions += _server_version(value)
                yield from _objects(value, "", "")
        except InputError:
            if not source.in_folder:
                raise


def _server_version(value: Any) -> list[str]:
    snapshot = value.get("snapshot") if isinstance(value, dict) else None
    version = snapshot.get("serverVersion") if isinstance(snapshot, dict) else None
    return [version] if isinstance(version, str) else []


def _objects(value: Any, version: str, kind: str) -> Iterator[Plain]:
    """version, kind: of items whose list has them, and that do not repeat them"""
    if isinstance(value, list):
        for item in value:
            yield from _objects(item, version, kind)
    if not isinstance(value, dict):
        return
    version, kind = value.get("apiVersion") or version, value.get("kind") or kind
    if not isinstance(version, str) or not isinstance(kind, str):
        return
    if "items" in value and kind.endswith(_LIST):
        items = value["items"]
        for item in items if isinstance(items, list) else ():
            yield from _objects(item, version, kind.removesuffix(_LIST))
    elif kind:
        yield {**value, "apiVersion": version, "kind": kind}
