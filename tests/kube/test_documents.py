"""Text to data and back to places."""

from pathlib import Path

import pytest
import yaml

from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import decode_text, load_documents, locate

SCALARS = yaml.safe_load(Path(__file__).with_name("scalars.yaml").read_text())
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)
)
TWO = "kind: Node\nmetadata:\n  name: a\n---\n# nothing\n---\nkind: Pod\nspec:\n- x: 1\n- y: 2\n"


def documents(text):
    return list(load_documents(text, "state.yaml"))


@pytest.mark.parametrize("case", SCALARS, ids=lambda case: case["written"])
def test_a_scalar_means_what_it_means_to_kubernetes(case):
    assert documents(f"a: {case['written']}") == [{"a": case["meant"]}]


def test_empty_documents_are_passed_over():
    assert [document["kind"] for document in documents(TWO)] == ["Node", "Pod"]


def test_json_is_read_as_json():
    assert documents('{"a": [1, 2.5, null]}') == [{"a": [1, 2.5, None]}]


def test_flow_yaml_that_is_no_json_is_read_as_yaml():
    assert documents("{a: [1, two]}") == [{"a": [1, "two"]}]


def test_keys_become_strings():
    assert documents("1: a\ntrue: b\n") == [{"1": "a", "true": "b"}]


def test_merge_keys_and_aliases_are_followed():
    text = "base: &b {x: 1, z: 2}\nuse:\n  <<: *b\n  z: 3\n"
    assert documents(text)[0]["use"] == {"x": 1, "z": 3}


def test_an_anchor_may_be_given_twice():
    assert documents("a: &x 1\nb: *x\nc: &x {d: [&y 2, *y]}\ne: *x\n") == [
        {"a": 1, "b": 1, "c": {"d": [2, 2]}, "e": {"d": [2, 2]}}
    ]


@pytest.mark.parametrize(
    ("index", "path", "place"),
    [
        (0, ("metadata", "name"), (3, 3)),
        (1, ("kind",), (7, 1)),
        (1, ("spec", 1, "y"), (10, 3)),
        (1, ("spec", 1), (10, 3)),
        (1, ("spec", 7, "z"), (8, 1)),
    ],
)
def test_a_path_has_a_line_and_a_column(index, path, place):
    assert locate(TWO, index, path) == Position(*place)


def test_a_path_in_json_has_them_too():
    text = '{\n "a": {"b": 1},\n "c": [{"d": 2}, {"e": 3}]\n}'
    assert locate(text, 0, ("c", 1, "e")) == Position(3, 19)
    assert locate(text, 0, ("a", "missing")) == Position(2, 2)


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_broken_text_is_one_input_error(text, said):
    with pytest.raises(InputError, match=r".") as caught:
        documents(text)
    assert said in str(caught.value)
    assert str(caught.value).startswith("state.yaml")


@pytest.mark.parametrize("raw", [b"a: \x80", b"\xff\xfea\x00", b"\xc3"])
def test_bytes_that_are_not_utf8_are_refused(raw):
    with pytest.raises(InputError):
        decode_text(raw, "state.yaml")
