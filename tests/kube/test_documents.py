"""Text to plain data, and paths in the data back to lines and columns."""

import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import (
    Locator,
    decode_text,
    is_json,
    load_documents,
    locate,
    read_documents,
    read_file,
)

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
)
TWO = "kind: Node\nmetadata:\n  name: a\n---\n# nothing\n---\nkind: Pod\nspec:\n- x: 1\n- y: 2\n"


def documents(text: str) -> list[dict[str, Any]]:
    return list(load_documents(text, "state.yaml"))


def test_empty_documents_are_passed_over() -> None:
    assert [document["kind"] for document in documents(TWO)] == ["Node", "Pod"]


def test_json_is_read_as_json() -> None:
    assert documents('{"a": [1, 2.5, null]}') == [{"a": [1, 2.5, None]}]


@pytest.mark.parametrize(
    "number", ["1", "-0", "2.0", "1e3", "-1.5e-7", "9" * 19, "-9223372036854775809", "9" * 30,
               "1e400", "-1e400", "9" * 400, "9" * 5000],
)  # fmt: skip
def test_a_number_is_the_same_in_json_and_in_yaml(number: str) -> None:
    text = f'{{"a": {{"b": [{number}]}}}}'
    from_json, from_yaml = documents(text), documents(f"---\n{text}")
    assert repr(from_json) == repr(from_yaml)
    assert type(from_json[0]["a"]) is dict
    assert type(from_json[0]["a"]["b"][0]) in (int, float, str)


def test_flow_yaml_that_is_no_json_is_read_as_yaml() -> None:
    assert documents("{a: [1, two]}") == [{"a": [1, "two"]}]


@pytest.mark.parametrize(
    ("text", "expected"), [(' {"a": 1}', True), ("[1]", True), ("a: 1", False)]
)
def test_a_brace_or_a_bracket_begins_json(text: str, expected: bool) -> None:
    assert is_json(text) is expected


def test_each_document_comes_with_the_keys_repeated_in_it() -> None:
    first, second = read_documents("a: 1\na: 2\n---\nb: 1\n")
    assert first.data == {"a": 2}
    assert [duplicate.text() for duplicate in first.duplicates] == [
        'line 2: key "a" already set in map'
    ]
    assert (second.data, second.duplicates) == ({"b": 1}, ())


@pytest.mark.parametrize(
    ("index", "path", "position"),
    [
        (0, ("metadata", "name"), (3, 3)),
        (1, ("kind",), (7, 1)),
        (1, ("spec", 1, "y"), (10, 3)),
        (1, ("spec", 1), (10, 3)),
        (1, ("spec", 7, "z"), (8, 1)),
    ],
)
def test_a_path_has_a_line_and_a_column(
    index: int, path: tuple[int | str, ...], position: tuple[int, int]
) -> None:
    assert locate(TWO, index, path) == Position(*position)


def test_a_path_in_json_has_them_too() -> None:
    text = '{\n "a": {"b": 1},\n "c": [{"d": 2}, {"e": 3}]\n}'
    assert locate(text, 0, ("c", 1, "e")) == Position(3, 19)
    assert locate(text, 0, ("a", "missing")) == Position(2, 2)


def test_a_path_in_flow_yaml_has_them_too() -> None:
    assert locate("{a: 1,\n b: 2}", 0, ("b",)) == Position(2, 2)


@pytest.mark.parametrize(("text", "index"), [(TWO, 2), ("a: [1,\n", 0)])
def test_a_document_that_is_not_there_has_no_position(text: str, index: int) -> None:
    assert Locator(text, index).locate(("a",)) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n \n", "the file is empty"),
        ("a: b: c", "mapping values are not allowed"),
        ('{"a": 1,, 2}', "not JSON"),
        ("a: *nowhere", "unknown anchor 'nowhere' referenced"),
        (BOMB, "excessive aliasing"),
        ("[" * 100_000, "exceeded max depth"),
        ("{" + '"a":{' * 100_000, "exceeded max depth"),
        ("a: &a {b: *a}", "contains itself"),
        ("a: .inf", "unsupported value: +Inf"),
        ("a: \x00", "control characters are not allowed"),
    ],
    ids=lambda value: value[:20],
)
def test_broken_text_is_one_input_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=r".") as caught:
        documents(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("state.yaml")


@pytest.mark.parametrize("raw", [b"a: \x80", b"\xff\xfea\x00", b"\xc3"])
def test_bytes_that_are_not_utf8_are_refused(raw: bytes) -> None:
    with pytest.raises(InputError):
        decode_text(raw, "state.yaml")


def test_a_file_is_read_under_its_own_name_and_standard_input_under_its(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"a: 1")
    assert read_file(str(path)) == (b"a: 1", str(path))
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"b: 2")))
    assert read_file("-") == (b"b: 2", "standard input")


def test_a_file_that_cannot_be_read_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_file(str(tmp_path / "none"))
    with pytest.raises(InputError, match="this is a folder; a file is expected"):
        read_file(str(tmp_path))
    with pytest.raises(InputError, match="cannot be read"):
        read_file("\0")


def test_a_missing_file_names_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").touch()
    (tmp_path / "other.md").touch()
    with pytest.raises(InputError) as error:
        read_file(str(tmp_path / "clutser.json"))
    assert str(error.value).endswith(f"; did you mean {tmp_path / 'cluster.json'}?")
