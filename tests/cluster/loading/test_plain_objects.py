"""Objects of files as plain data."""

import json
from io import BytesIO
from pathlib import Path

import pytest

from ksched_cli.cluster.loading.load import plain_objects
from ksched_cli.errors import InputError
from ksched_cli.testing import node, pod


def test_objects_of_lists_have_their_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "p"}}]})
        + json.dumps([node("n")])
        + json.dumps({"kind": "List", "items": [pod("q")]})
    )
    objects = list(plain_objects([str(path)]))
    assert [(obj["kind"], obj["metadata"]["name"]) for obj in objects] == [
        ("Pod", "p"), ("Node", "n"), ("Pod", "q"),
    ]  # fmt: skip
    assert objects[0]["apiVersion"] == "v1"


def test_standard_input_is_read(tmp_path: Path) -> None:
    (obj,) = plain_objects(["-"], BytesIO(json.dumps(node("n")).encode()))
    assert obj["metadata"]["name"] == "n"


def test_what_is_no_object_is_left_out_of_folders_only(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(node("n")))
    (tmp_path / "b.json").write_text("{")
    assert len(list(plain_objects([str(tmp_path)]))) == 1
    with pytest.raises(InputError):
        list(plain_objects([str(tmp_path / "b.json")]))


@pytest.mark.parametrize(
    "value",
    [{"kind": {"a": 1}}, {"kind": "Pod", "apiVersion": ["v1"]}, {"kind": "PodList", "items": 5}],
)
def test_what_has_no_kind_in_words_is_left_out(value: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([value, node("n")]))
    assert [obj["kind"] for obj in plain_objects([str(path)])] == ["Node"]
