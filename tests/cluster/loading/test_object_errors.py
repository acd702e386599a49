"""Whatever is wrong with a state ends in one clear message, never in a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.loading.object_errors import path_text
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


def test_the_second_value_of_json_has_no_position(tmp_path: Path) -> None:
    good, bad = b'{"kind": "Node", "metadata": {"name": "a"}}', b'{"kind": "Node", "spec": 1}'
    assert failure(tmp_path, good + b"\n" + bad, "state.json").position is None
    assert failure(tmp_path, bad, "state.json").position is not None
