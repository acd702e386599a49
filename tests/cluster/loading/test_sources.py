"""Texts become documents of JSON, whatever they are written in."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import msgspec
import pytest

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.loading.sources import (
    Source,
    documents,
    looks_like_json,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError

NODE = '{"kind": "Node", "metadata": {"name": "%s"}}'


def names(state: ClusterState) -> list[str]:
    return [node.name for node in state.nodes]


def split(text: str, name: str = "state") -> list[object]:
    """The plain data of a source's documents."""
    source = Source(name, text.encode())
    return [msgspec.json.decode(document.data) for document in documents(source)]


def failure(folder: Path, content: bytes, name: str = "state.yaml") -> InputError:
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_state([str(path)])
    assert caught.value.source == str(path)
    return caught.value


def test_values_of_json_are_split_where_they_end() -> None:
    assert split('{"a": 1} {"b": 2}\n{"c": 3}\n') == [{"a": 1}, {"b": 2}, {"c": 3}]


LOGS = (
    "==== START logs for container a of pod b/c ====\n"
    "%s==== END logs for container a of pod b/c ====\n"
)


@pytest.mark.parametrize(
    "text", ["", "[INFO] {\n", "==== END logs for container x of pod b/c ====\n", "no line end"]
)
def test_logs_between_the_lists_of_a_cluster_info_dump_are_left_out(text: str) -> None:
    logs = LOGS % text
    assert split('{"a": 1}\n' + logs + "\n" + logs + '{"b": 2}\n' + logs + "\n") == [
        {"a": 1},
        {"b": 2},
    ]


def test_logs_that_break_off_are_shown_where_they_begin() -> None:
    logs = (LOGS % "started\n").partition("==== END")[0]
    with pytest.raises(InputError, match=r"state:2:1: a container's logs have no end marker"):
        split('{"a": 1}\n' + logs)


def test_documents_are_numbered_in_their_source() -> None:
    source = Source("state.yaml", b"a: 1\n---\n---\nb: 2\n")
    assert [document.index for document in documents(source)] == [0, 1]


def test_flow_yaml_is_read_only_in_a_file_named_as_yaml() -> None:
    assert split("{a: 1}", "state.yaml") == [{"a": 1}]
    with pytest.raises(InputError, match=r"state\.json:1:2: not JSON"):
        split("{a: 1}", "state.json")


@pytest.mark.parametrize(
    ("text", "expected"), [("\ufeff {", True), ("\n[", True), ("kind: Node", False), ("", False)]
)
def test_json_begins_with_a_brace_or_a_bracket(text: str, expected: bool) -> None:
    assert looks_like_json(Source("state", text.encode())) is expected


def test_yaml_gives_extenders_json() -> None:
    state = load_state(["-"], BytesIO(b"kind: Pod\nmetadata: {name: p}\nspec: {hostname: h}\n"))
    assert json.loads(bytes(state.pods[0].raw))["spec"] == {"hostname": "h"}


@pytest.mark.parametrize("name", ["state.yaml", "state.json"])
def test_deep_nesting_is_refused(name: str, tmp_path: Path) -> None:
    depth = 100_000
    deep = b'{"kind": "Node", "spec": ' + b"[" * depth + b"]" * depth + b"}"
    error = failure(tmp_path, deep, name)
    assert "too deeply" in error.problem or "max depth" in error.problem


@pytest.mark.parametrize("name", ["state.yaml", "state.json"])
def test_what_is_not_utf8_is_shown_where_it_stands(name: str, tmp_path: Path) -> None:
    error = failure(tmp_path, b'{"kind": "Node",\n "metadata": {"name": "caf\xe9"}}', name)
    assert error.problem.startswith("byte 0xe9 is not UTF-8")
    assert error.position is not None
    assert (error.position.line, error.position.column) == (2, 27)


def test_utf16_is_called_by_its_name(tmp_path: Path) -> None:
    assert "UTF-16" in failure(tmp_path, "kind: Node\n".encode("utf-16")).problem
