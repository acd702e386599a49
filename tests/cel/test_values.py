"""Comparison and arithmetic of CEL values, and semantic versions."""

import pytest

from ksched_cli.cel.values import (
    CelError,
    QuantitySum,
    Semver,
    Uint,
    add,
    checked_int,
    compare,
    contains,
    equal,
    normalized_semver,
    order,
    type_name,
)
from ksched_cli.kube.int64 import MAX_INT64, MAX_UINT64
from ksched_cli.kube.quantity import Quantity


def test_numbers_of_different_types_compare_by_value() -> None:
    assert equal(1, Uint(1))
    assert equal(1, 1.0)
    assert compare("_<_", 1, 1.5) == -1


def test_other_values_of_different_types_are_not_equal() -> None:
    assert not equal(1, "1")
    assert not equal(True, 1)
    assert not equal([1], [1, 2])


def test_a_quantity_compared_with_another_type_is_an_error_except_inside_a_list() -> None:
    with pytest.raises(CelError, match="no such overload"):
        equal(Quantity(1), "1")
    assert equal([Quantity(1)], ["1"])
    assert not contains([Quantity(1)], "1")


def test_nothing_equals_a_sum_of_quantities() -> None:
    with pytest.raises(CelError):
        equal(Quantity(1), QuantitySum.of(Quantity(1)))


def test_integers_overflow() -> None:
    assert add(MAX_INT64 - 1, 1) == MAX_INT64
    with pytest.raises(CelError, match="integer overflow"):
        add(MAX_INT64, 1)
    with pytest.raises(CelError, match="unsigned integer overflow"):
        checked_int(MAX_UINT64 + 1, Uint)
    with pytest.raises(CelError, match="no such overload"):
        add(1, Uint(1))


def test_nan_has_no_order() -> None:
    with pytest.raises(CelError, match="NaN values cannot be ordered"):
        compare("_<_", float("nan"), 1.0)


def test_versions_are_ordered_as_semver_says() -> None:
    texts = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-2.x", "1.0.0", "1.0.1"]
    versions = sorted((Semver.parse(text) for text in texts), key=Semver.order)
    assert versions == [Semver.parse(texts[i]) for i in (3, 0, 1, 2, 4, 5)]
    assert order(Semver.parse("1.0.0+a"), Semver.parse("1.0.0+b"), "compareTo") == 0


@pytest.mark.parametrize(
    "text",
    ["1.2", "01.2.3", "1.2.3-", "1.2.3+", "1.2.x", "v1.2.3", f"{2**64}.0.0", f"1.2.{'9' * 5000}"],
)
def test_a_version_that_is_none_is_an_error(text: str) -> None:
    with pytest.raises(CelError):
        Semver.parse(text)


@pytest.mark.parametrize(
    ("text", "normalized"), [("v1", "1.0.0"), ("1.02", "1.2.0"), ("00.1.2", "0.1.2")]
)
def test_a_version_is_normalized(text: str, normalized: str) -> None:
    assert normalized_semver(text) == normalized


def test_types_have_the_names_of_cel_go() -> None:
    values = [True, 1, Uint(1), 1.0, "", b"", [], {}, None, Quantity(1)]
    assert [type_name(value) for value in values] == [
        *("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type"),
        "kubernetes.Quantity",
    ]
