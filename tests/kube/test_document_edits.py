"""Edits of a document's text change what they are asked to, and nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.kube.document_edits import EditableDocument
from ksched_cli.kube.documents import Path

TEXT = """\
# head
version: old  # which
listen: ":1"  # where
# the profiles

profiles:
# the first
- name: a
  plugins:
    score:
      enabled:
      # about A
      - name: A
        weight: 2   # two
      # about B
      - name: B
      - {name: C, weight: 3} # c
      # end
    filter:
      disabled: [{name: X}, {name: W}] # x
      # after x
  # about args
  args:
  - args: {a: [1, 2]}
    name: D
last: 1
# tail
"""


def edited(text: str, path: Path, *value: Any) -> str:
    """The text with a value at a path, or without what is there; its data agrees with it."""
    document = EditableDocument(text)
    if value:
        document.put(path, value[0])
    else:
        document.delete(path)
    assert EditableDocument(document.text).data == document.data
    return document.text


def lines_changed(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that only the one, and only the other text has."""
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


A = ("profiles", 0, "plugins", "score", "enabled")
DISABLED = ("profiles", 0, "plugins", "filter", "disabled")


@pytest.mark.parametrize(
    ("path", "value", "removed", "added"),
    [
        (("version",), "new", ["version: old  # which"], ["version: new  # which"]),
        ((*A, 1, "name"), "Z", ["      - name: B"], ["      - name: Z"]),
        ((*A, 1, "weight"), 5, [], ["        weight: 5"]),
        ((*A, 3), {"name": "E"}, [], ["      - name: E"]),
        (
            (*A, 2, "weight"),
            4,
            ["      - {name: C, weight: 3} # c"],
            ["      - {name: C, weight: 4} # c"],
        ),
        (
            (*DISABLED, 2),
            {"name": "*"},
            ["      disabled: [{name: X}, {name: W}] # x"],
            ["      disabled: [{name: X}, {name: W}, {name: '*'}] # x"],
        ),
        (
            ("profiles", 0, "plugins", "bind", "enabled", 0, "name"),
            "F",
            [],
            ["    bind:", "      - name: F"],
        ),
        (("more",), {"a": [1]}, [], ["more:", "  a:", "  - 1"]),
        (("profiles", 1), {"name": "b"}, [], ["- name: b"]),
    ],
)
def test_a_value_is_put_in_its_place(
    path: Path, value: Any, removed: list[str], added: list[str]
) -> None:
    old, new = lines_changed(TEXT, edited(TEXT, path, value))
    assert old == removed
    assert [line for line in new if line.strip() != "enabled:"] == added


@pytest.mark.parametrize(
    ("path", "removed"),
    [
        (("listen",), ['listen: ":1"  # where']),
        ((*A, 0), ["      - name: A", "        weight: 2   # two"]),
        ((*A, 2), ["      - {name: C, weight: 3} # c"]),
        (("last",), ["last: 1"]),
        (("profiles", 0, "args"), ["  args:", "  - args: {a: [1, 2]}", "    name: D"]),
    ],
)
def test_what_is_deleted_takes_no_comment_of_others_with_it(path: Path, removed: list[str]) -> None:
    old, new = lines_changed(TEXT, edited(TEXT, path))
    assert [line for line in old if not line.lstrip().startswith("# about")] == removed
    assert new == []


def test_the_first_key_of_an_item_leaves_its_place_to_the_next() -> None:
    assert "- args: {a: [1, 2]}\n" in TEXT
    assert "  - name: D\n" in edited(TEXT, ("profiles", 0, "args", 0, "args"))


def test_what_is_empty_without_its_last_member_goes_too() -> None:
    text = edited("a: 1\nb:\n  c:\n  - d: 2\n# tail\n", ("b", "c", 0, "d"))
    assert text == "a: 1\n# tail\n"


def test_a_member_of_a_flow_collection_goes() -> None:
    assert "disabled: [{name: W}] # x" in edited(TEXT, (*DISABLED, 0))


def test_a_collection_takes_another_ones_place() -> None:
    text = edited(TEXT, ("profiles", 0, "plugins"), {"score": {"enabled": [{"name": "G"}]}})
    assert EditableDocument(text).get((*A, 0)) == {"name": "G"}
    assert "  # about args\n" in text


def test_a_value_that_was_null_becomes_a_collection() -> None:
    assert edited("a:\nb: 1\n", ("a", "c"), [1]) == "a:\n  c:\n  - 1\nb: 1\n"
    assert edited("- a: ~  # none\n", (0, "a", 0), "x") == "- a:\n  - x  # none\n"


def test_json_stays_json() -> None:
    assert (
        edited('{"a": {"b": 1}}', ("a", "c"), [2])
        == json.dumps({"a": {"b": 1, "c": [2]}}, indent=2) + "\n"
    )


def test_a_document_with_anchors_is_written_anew() -> None:
    document = EditableDocument("a: &x {b: 1}  # b\nc: *x\n")
    document.put(("c", "b"), 2)
    assert document.changed_style
    assert document.text == "a:\n  b: 1\nc:\n  b: 2\n"


def test_line_ends_stay_those_of_the_text() -> None:
    assert edited("a: 1\r\nb: 2\r\n", ("c",), 3) == "a: 1\r\nb: 2\r\nc: 3\r\n"


def test_a_later_document_may_be_no_yaml() -> None:
    document = EditableDocument("a: '*'\n---\na: b: c\n---\n- *a\n")
    document.put(("a",), 1)
    assert document.text == "a: 1\n---\na: b: c\n---\n- *a\n"


def test_what_follows_the_first_document_stays() -> None:
    assert edited("a: 1\n---\nb: 2\n", ("c",), 3) == "a: 1\nc: 3\n---\nb: 2\n"


KEYS = st.sampled_from(["a", "b", "c d", "x"])
SCALARS = st.one_of(
    st.sampled_from(["a", "*", "yes", "y", "1", "1e3", "0o7", "v1", "1s", ""]),
    st.integers(-3, 3),
    st.booleans(),
    st.none(),
    st.just("# no\ncomment"),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def paths_of(data: Any, path: Path = ()) -> list[Path]:
    items = enumerate(data) if isinstance(data, list) else data.items()
    inner = [
        other
        for key, value in items
        if isinstance(value, dict | list)
        for other in paths_of(value, (*path, key))
    ]
    steps = range(len(data) + 1) if isinstance(data, list) else [*data, "new"]
    return [*((*path, step) for step in steps), *inner]


def test_the_second_item_takes_the_place_of_the_first_of_a_sequence_in_a_sequence() -> None:
    document = EditableDocument("first:\n- - a\n  - k: v\n    z: w\nlast: []\n")
    document.delete(("first", 0, 0))
    assert document.text == "first:\n- - k: v\n    z: w\nlast: []\n"


@given(data=st.data(), flow=st.booleans())
def test_text_and_data_agree_after_any_edits(data: st.DataObject, flow: bool) -> None:
    content = data.draw(st.dictionaries(KEYS, VALUES, max_size=4))
    lines = [f"{json.dumps(key)}: {json.dumps(value)}\n" for key, value in content.items()]
    document = EditableDocument(f"first: 0\n{''.join(lines if flow else [])}# tail\n")
    for key, value in content.items():
        document.put((key,), value)
    assert document.data == {"first": 0, **content}
    for _ in range(3):
        path = data.draw(st.sampled_from(paths_of(document.data)))
        if data.draw(st.booleans()) or path[-1:] == ("new",) or document.get(path) is None:
            document.put(path, data.draw(VALUES))
        elif len(document.data) > 1:
            document.delete(path)
        assert EditableDocument(document.text).data == document.data, document.text
        assert document.text.endswith("# tail\n") or not document.data
