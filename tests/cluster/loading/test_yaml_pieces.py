"""A line of a YAML text is found by reading the piece that it is in, and no more."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.loading import yaml_pieces
from ksched_cli.cluster.loading.yaml_documents import json_documents
from ksched_cli.errors import Position
from ksched_cli.kube.documents import Path, locate
from tests.cluster.loading.test_yaml_documents import INDENTED, LIST, MANY
from tests.narrowing import present


def paths(value: Any) -> Iterator[Path]:
    """All values, and one that each mapping lacks."""
    yield ()
    children: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        children = enumerate(value)
    for step, child in children:
        for path in paths(child):
            yield (step, *path)
    if isinstance(value, dict):
        yield ("missing",)


@pytest.mark.parametrize("text", [LIST, INDENTED, MANY])
def test_every_position_is_that_of_the_whole_text(text: str) -> None:
    for index, document in enumerate(json_documents(text)):
        pieces = present(document.pieces)
        for path in paths(msgspec.json.decode(document.data)):
            assert pieces.locate(text, path) == locate(text, index, path), path


def test_of_a_list_only_the_item_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "apiVersion: v1\nitems:\n" + "- kind: Pod\n  spec: {}\n" * 9 + "- kind: Node\n  spec: 1\n"
    )
    (document,) = json_documents(text)
    read: list[str] = []

    def locate_and_note(piece: str, index: int, path: Path) -> Position | None:
        read.append(piece)
        return locate(piece, index, path)

    monkeypatch.setattr(yaml_pieces, "locate", locate_and_note)
    assert present(document.pieces).locate(text, ("items", 9, "spec")) == Position(22, 3)
    assert read == ["- kind: Node\n  spec: 1\n"]
