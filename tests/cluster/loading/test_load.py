"""States are read from files, folders and standard input, as kubectl prints them or by hand."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.state import ClusterState


def read(text: str) -> ClusterState:
    return load_state(["-"], BytesIO(text.encode()))


def names(state: ClusterState) -> list[str]:
    return [node.name for node in state.nodes]


NODE = '{"kind": "Node", "metadata": {"name": "%s"}}'
A, B = NODE % "a", NODE % "b"
YAML_A, YAML_B = "{kind: Node, metadata: {name: a}}", "{kind: Node, metadata: {name: b}}"


@pytest.mark.parametrize(
    "text",
    [
        "kind: Node\nmetadata: {name: a}\n---\n---\nkind: Node\nmetadata: {name: b}\n",
        f"kind: List\nitems:\n- {YAML_A}\n- {YAML_B}\n",
        "apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n",
        f'{{"kind": "List", "items": [{A}, {B}]}}',
        f"{A}\n{B}\n",
        f"\ufeff{A}{B}",
        f" [{A}, {B}]",
        f"[{A}] {B}",
        f"- {YAML_A}\n- {YAML_B}\n",
        f'{{"kind": "List", "items": [{{"kind": "NodeList", "items": [{A}]}}, {B}]}}',
    ],
    ids=[
        "documents",
        "list",
        "typed list",
        "JSON list",
        "JSON lines",
        "byte order mark",
        "array",
        "array and object",
        "YAML array",
        "nested",
    ],
)
def test_the_same_objects_come_out_of_every_form(text: str) -> None:
    assert names(read(text)) == ["a", "b"]


def test_several_paths_make_one_state(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(NODE % "a")
    paths = [str(tmp_path / "a.json"), "-"]
    assert names(load_state(paths, BytesIO((NODE % "b").encode()))) == ["a", "b"]
