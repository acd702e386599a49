"""Quantities behave as k8s.io/apimachinery's, whose own answers are the data."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ksched_cli.kube.int64 import MAX_INT64
from ksched_cli.kube.quantity import Quantity, QuantityError

ROWS = [
    line.split("\t")
    for line in (Path(__file__).parent / "data" / "quantities.tsv").read_text().splitlines()
    if not line.startswith("#")
]
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9}
BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4}

whole = st.integers(0, 10**7)
decimals = st.from_regex(r"[0-9]{0,4}", fullmatch=True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_every_answer_is_upstreams(row: list[str]) -> None:
    text = row[0]
    if row[1] == "ERR":
        with pytest.raises(QuantityError) as caught:
            Quantity.parse(text)
        assert str(caught.value) == row[2]
        return
    amount = Quantity.parse(text)
    rounded = str(amount.round_up(-3))
    answers = [str(amount.value()), str(amount.milli_value()), str(amount), rounded]
    assert answers == row[1:]


def test_the_empty_text_is_no_quantity() -> None:
    with pytest.raises(QuantityError, match="must match the regular expression"):
        Quantity.parse("")


def test_an_exponent_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(QuantityError, match="exponents beyond 1000"):
        Quantity.parse("1e5000000000")


@pytest.mark.parametrize("text", ["9" * 5000, "0." + "9" * 5000, "-" + "1" * 5000 + "Ki"])
def test_more_digits_than_anybody_writes_are_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="more than 1000 digits"):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["0" * 5000 + "7", "9" * 1000, "-" + "9" * 1000 + "e1000"])
def test_large_quantities_can_be_printed_and_computed_with(text: str) -> None:
    amount = Quantity.parse(text)
    assert str(amount)
    assert amount + Quantity.parse("1") > amount
    assert isinstance(amount.value(), int)


def test_the_same_text_is_parsed_once() -> None:
    assert Quantity.parse("123Mi") is Quantity.parse("123Mi")


@given(whole, decimals, st.sampled_from([*DECIMAL, *BINARY]))
def test_the_amount_is_what_exact_arithmetic_says(head: int, tail: str, suffix: str) -> None:
    unit = Fraction(1024) ** BINARY[suffix] if suffix in BINARY else Fraction(10) ** DECIMAL[suffix]
    exact = Fraction(f"{head}.{tail or 0}") * unit
    assume(exact * 1000 <= MAX_INT64)
    # Nothing is smaller than a billionth: the rest is rounded up to one.
    exact = Fraction(ceil(exact * 10**9), 10**9)
    amount = Quantity.parse(f"{head}.{tail}{suffix}")
    assert amount.value() == ceil(exact)
    assert amount.milli_value() == ceil(exact * 1000)


@given(whole, decimals, st.sampled_from([*DECIMAL, *BINARY, "e3", "E-2"]))
def test_the_canonical_form_reads_back_as_the_same(head: int, tail: str, suffix: str) -> None:
    amount = Quantity.parse(f"{head}.{tail}{suffix}")
    again = Quantity.parse(str(amount))
    assert again == amount
    assert hash(again) == hash(amount)
    assert str(again) == str(amount)


@given(st.integers(-(10**12), 10**12), st.integers(-(10**12), 10**12))
def test_order_and_sums_are_those_of_the_numbers(a: int, b: int) -> None:
    left, right = Quantity(a, -3), Quantity.parse(str(b))
    assert (left < right) == (a < b * 1000)
    assert (left == right) == (a == b * 1000)
    assert (left + right).milli_value() == a + b * 1000


def test_amounts_written_differently_are_equal() -> None:
    assert Quantity.parse("1") == Quantity.parse("1000m") == Quantity.parse("1e0")
    assert Quantity.parse("1Ki") == Quantity.parse("1024")
    assert len({Quantity.parse(text) for text in ("0", "0Ki", "0m")}) == 1
