"""Whatever is wrong with a state ends in one clear message, never in a traceback."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.loading.object_errors import path_text
from ksched_cli.errors import InputError, Position

CASES = yaml.load(
    (Path(__file__).parent / "data" / "bad_states.yaml").read_text(), yaml.CSafeLoader
)


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


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("spec", "containers", 0, "name"), "spec.containers[0].name"),
        (("items", 3), "items[3]"),
        (("labels", "example.com/a"), "labels[example.com/a]"),
    ],
)
def test_a_path_has_indices_and_keys_that_are_no_words_in_brackets(
    path: tuple[str | int, ...], text: str
) -> None:
    assert path_text(path) == text


@pytest.mark.parametrize("name", ["state.json", "state.json.gz"])
def test_every_value_of_json_has_positions(name: str, tmp_path: Path) -> None:
    good = '{"kind": "Node", "metadata": {"name": "ä"}}'
    bad = '{"kind": "Node",\n "metadata": {"name": "b"}, "spec": 1}'
    content = f"\ufeff{good} {bad}".encode()
    error = failure(tmp_path, gzip.compress(content) if name.endswith(".gz") else content, name)
    assert error.position == Position(2, 29)
    error = failure(tmp_path, f'{good} {good[:-1]}, "spec": 1}}'.encode(), "state.json")
    assert error.position == Position(1, len(good) + 1 + len(good) + 2)


def test_an_item_of_an_array_has_its_position(tmp_path: Path) -> None:
    node = '{"kind": "Node", "metadata": {"name": "a"}}'
    error = failure(tmp_path, f"[\n{node},\n[]]".encode(), "state.json")
    assert (error.position, error.problem) == (Position(3, 1), "expected an object, got a list")
