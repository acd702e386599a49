"""JSON keeps what Go's decoder reports: repeated keys, numbers as written, where it is broken."""

import pytest

from ksched_cli.kube.json_tree import JsonError, JsonFloat, JsonObject, Offsets, parse


def test_an_object_keeps_the_order_and_repetition_of_its_keys() -> None:
    value = parse('{"b": 1, "a": 2, "b": 3}')
    assert value == {"b": 3, "a": 2}
    assert isinstance(value, JsonObject)
    assert value.pairs == [("b", 1), ("a", 2), ("b", 3)]


def test_a_number_with_a_point_or_an_exponent_keeps_its_text() -> None:
    number, whole = parse("[1.50e1, 15]")
    assert isinstance(number, JsonFloat)
    assert (number, number.literal) == (15.0, "1.50e1")
    assert type(whole) is int


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("{", "unexpected end of JSON input", 1),
        ('{"a": "b', "unexpected end of JSON input", 6),
        ("{1: 2}", "invalid character '1' looking for beginning of object key string", 1),
        ('{"a" 1}', "invalid character '1' after object key", 5),
        ('{"a": 1 2}', "invalid character '2' after object key:value pair", 8),
        ("[1 2]", "invalid character '2' after array element", 3),
        ('[{"a": 1} "]"]', "invalid character '\"' after array element", 10),
        ("[1] 2", "invalid character '2' after top-level value", 4),
        ("['a']", r"invalid character '\'' looking for beginning of value", 1),
        ("[NaN]", "invalid character 'N' looking for beginning of value", 1),
        ("[" * 100_000, "exceeded max depth", 0),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else str(value),
)
def test_broken_json_is_an_error_in_gos_words_with_an_offset(
    text: str, message: str, offset: int
) -> None:
    with pytest.raises(JsonError) as caught:
        parse(text)
    assert (caught.value.message, caught.value.offset) == (message, offset)


TEXT = '{"a": {"b": 1}, "c": [0, {"d": 2}], "a": 3}'


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ((), TEXT),
        (("c",), '"c"'),
        (("c", 0), "0,"),
        (("c", 1), '{"d"'),
        (("c", 1, "d"), '"d"'),
        (("a",), '"a": 3'),
    ],
)
def test_a_path_leads_to_the_key_or_the_item(path: tuple[int | str, ...], part: str) -> None:
    offset = Offsets(TEXT).of(path)
    assert offset is not None
    assert TEXT[offset:].startswith(part)


@pytest.mark.parametrize("path", [("x",), ("c", 2), ("c", "d"), (0,)])
def test_what_is_not_there_has_no_offset(path: tuple[int | str, ...]) -> None:
    assert Offsets(TEXT).of(path) is None


def test_offsets_scan_an_object_once() -> None:
    text = '{"a": [' + ", ".join('{"b": 1}' for _ in range(3_000)) + "]}"
    offsets = Offsets(text)
    assert [offsets.of(("a", index, "b")) for index in range(3_000)] == [
        7 + 10 * index + 1 for index in range(3_000)
    ]


def test_an_integer_of_any_length_is_read() -> None:
    digits = "9" * 5_000
    number = parse(f'{{"a": {digits}}}')["a"]
    assert isinstance(number, JsonFloat)
    assert number.literal == digits
    assert Offsets(f'{{"a": {digits}, "b": 1}}').of(("b",)) == 5_008


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"a\uDC00b"', "a\ufffdb"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\ud800\ud83d\ude00"', "\ufffd\U0001f600"),
        (r'"\\ud800"', r"\ud800"),
        (r'"\\\ud800"', "\\\ufffd"),
    ],
)
def test_half_of_a_surrogate_pair_is_the_replacement_character(text: str, value: str) -> None:
    assert parse(text) == value


def test_a_key_with_half_a_surrogate_pair_has_an_offset() -> None:
    assert Offsets(r'{"\ud800": 1, "b": 2}').of(("\ufffd",)) == 1
