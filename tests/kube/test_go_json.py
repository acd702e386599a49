"""JSON is decoded by the rules of Go's encoding/json."""

from collections.abc import Mapping

import pytest

from ksched_cli.kube.go_json import GoJsonError, GoValue, decode_first


def fields(text: bytes, *names: str) -> Mapping[str, GoValue]:
    return decode_first(text).fields("v1.Pod", names)


def test_fields_are_matched_in_any_case_and_null_or_unknown_ones_left_out() -> None:
    values = fields(b'{"NAME": "a", "uid": null, "other": [1, {}]}', "Name", "UID")
    assert {name: value.text() for name, value in values.items()} == {"Name": "a"}
    assert fields(b"null", "Name") == {}


def test_null_is_the_zero_value_of_every_type() -> None:
    value = decode_first(b"null")
    assert value.is_null
    assert (value.text(), value.integer(), value.items("[]T"), value.members("M")) == (
        "",
        0,
        [],
        {},
    )


def test_elements_and_members_are_values_themselves() -> None:
    assert [item.integer() for item in decode_first(b"[1, null, -2]").items("[]int64")] == [
        1,
        0,
        -2,
    ]
    members = decode_first(b'{"b": "x", "a": "y"}').members("map[string]string")
    assert {key: value.text() for key, value in members.items()} == {"b": "x", "a": "y"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "EOF"),
        (b"{", "unexpected EOF"),
        (b"{x", "invalid character 'x' looking for beginning of object key string"),
        (b"true", "json: cannot unmarshal bool into Go value of type v1.Pod"),
        (b"1", "json: cannot unmarshal number into Go value of type v1.Pod"),
    ],
)
def test_what_cannot_be_decoded_is_refused_in_gos_words(text: bytes, message: str) -> None:
    with pytest.raises(GoJsonError) as caught:
        fields(text, "Name")
    assert str(caught.value) == message


@pytest.mark.parametrize("number", ["9223372036854775808", "-9223372036854775809", "1.5"])
def test_a_number_that_is_no_int64_is_named(number: str) -> None:
    value = fields(b'{"Count": %s}' % number.encode(), "Count")["Count"]
    with pytest.raises(GoJsonError) as caught:
        value.integer()
    assert str(caught.value) == (
        f"json: cannot unmarshal number {number} into Go struct field Pod.Count of type int64"
    )


def test_only_the_first_value_counts() -> None:
    assert decode_first(b'"a" "b"').text() == "a"


def test_half_a_surrogate_pair_and_broken_utf8_are_replaced() -> None:
    assert decode_first(b'"\\ud800"').text() == "\ufffd"
    assert decode_first(b'"\xff"').text() == "\ufffd"
