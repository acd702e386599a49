"""Values as Go prints them."""

import pytest

from ksched_cli.kube.formatting import (
    DurationError,
    duration_text,
    float_text,
    json_text,
    parse_duration,
    quote,
)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (15 * 10**9, "15s"),
        (90 * 10**9, "1m30s"),
        (3600 * 10**9, "1h0m0s"),
        (1_500_000_000, "1.5s"),
        (300_000_000, "300ms"),
        (1_500, "1.5µs"),
        (-5 * 10**9, "-5s"),
    ],
)
def test_a_duration_prints_and_parses(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("abc", 'time: invalid duration "abc"'),
        ("é", 'time: invalid duration "\\xc3\\xa9"'),
        ("\udcff", 'time: invalid duration "\\xed\\xb3\\xbf"'),
    ],
)
def test_a_bad_duration_is_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (1.5, "1.5"), (1e21, "1e+21"), (1e-7, "1e-7"), (100000.0, "100000")],
)
def test_a_float_prints_as_in_json(value: float, text: str) -> None:
    assert float_text(value) == text


def test_json_escapes_html_and_keeps_the_order_of_keys() -> None:
    assert (
        json_text({"b": "<&>", "a": [None, True]}) == r'{"b":"\u003c\u0026\u003e","a":[null,true]}'
    )


def test_quote_escapes_what_does_not_print() -> None:
    assert quote('a"b\n\x01é') == '"a\\"b\\n\\x01é"'


@pytest.mark.parametrize("text", ["9" * 5_000 + "s", "1." + "9" * 5_000 + "s", "0" * 5_000 + "s"])
def test_a_duration_of_any_length_is_read_or_refused(text: str) -> None:
    if text.startswith("9"):
        with pytest.raises(DurationError, match="invalid duration"):
            parse_duration(text)
    else:
        assert parse_duration(text) in (0, 1_999_999_999)
