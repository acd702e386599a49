"""Whatever is wrong with a state ends in one clear message, never in a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.errors import InputError

CASES = yaml.safe_load((Path(__file__).parent / "data" / "bad_states.yaml").read_text())


def failure(folder: Path, content: bytes, name: str = "state.yaml") -> InputError:
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_state([str(path)])
    assert caught.value.source == str(path)
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["shows"])
def test_the_message_names_place_object_and_problem(case: dict[str, Any], tmp_path: Path) -> None:
    error = failure(tmp_path, case["text"].encode(), case.get("file", "state.yaml"))
    at = f"{error.position.line}:{error.position.column}" if error.position else None
    assert error.problem.startswith(case["problem"])
    assert (at, error.subject) == (case.get("at"), case.get("subject", ""))
    if "hint" in case:
        assert error.hint == case["hint"]


def test_two_pods_of_one_name_in_different_namespaces_are_two_pods(tmp_path: Path) -> None:
    path = tmp_path / "state.yaml"
    path.write_text(
        "kind: PodList\nitems: [{metadata: {name: a}}, {metadata: {name: a, namespace: b}}]"
    )
    assert len(load_state([str(path)]).pods) == 2


@pytest.mark.parametrize("name", ["state.yaml", "state.json"])
def test_deep_nesting_is_refused(name: str, tmp_path: Path) -> None:
    depth = 100_000
    deep = b'{"kind": "Node", "spec": ' + b"[" * depth + b"]" * depth + b"}"
    error = failure(tmp_path, deep, name)
    assert "too deeply" in error.problem or "max depth" in error.problem


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    lines = ["kind: Node", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    error = failure(tmp_path, "\n".join(lines).encode())
    assert "excessive aliasing" in error.problem


@pytest.mark.parametrize("name", ["state.yaml", "state.json"])
def test_what_is_not_utf8_is_shown_where_it_stands(name: str, tmp_path: Path) -> None:
    error = failure(tmp_path, b'{"kind": "Node",\n "metadata": {"name": "caf\xe9"}}', name)
    assert error.problem.startswith("byte 0xe9 is not UTF-8")
    assert error.position is not None
    assert (error.position.line, error.position.column) == (2, 27)


def test_utf16_is_called_by_its_name(tmp_path: Path) -> None:
    assert "UTF-16" in failure(tmp_path, "kind: Node\n".encode("utf-16")).problem
