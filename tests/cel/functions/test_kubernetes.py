"""Quantities and versions."""

import pytest

from ksched_cli.cel.functions import KUBERNETES as FUNCTIONS
from ksched_cli.cel.values import CelError
from ksched_cli.kube.quantity import Quantity


def test_quantities_are_parsed_compared_and_added() -> None:
    less, more = FUNCTIONS["quantity"]("1Gi"), FUNCTIONS["quantity"]("2Gi")
    assert FUNCTIONS["isLessThan"](less, more)
    assert FUNCTIONS["compareTo"](more, less) == 1
    assert FUNCTIONS["compareTo"](FUNCTIONS["add"](less, less), more) == 0
    assert FUNCTIONS["sign"](FUNCTIONS["sub"](less, more)) == -1


@pytest.mark.parametrize(("text", "integer"), [("5", 5), ("1k", 1000), ("1500m", None)])
def test_a_quantity_is_an_integer_or_not(text: str, integer: int | None) -> None:
    quantity = Quantity.parse(text)
    assert FUNCTIONS["isInteger"](quantity) is (integer is not None)
    if integer is None:
        with pytest.raises(CelError, match="cannot convert value to integer"):
            FUNCTIONS["asInteger"](quantity)
    else:
        assert FUNCTIONS["asInteger"](quantity) == integer


def test_what_does_not_parse_is_an_error_and_not_a_quantity_or_version() -> None:
    assert not FUNCTIONS["isQuantity"]("much")
    assert not FUNCTIONS["isSemver"]("v1")
    assert FUNCTIONS["isSemver"]("v1", True)
    with pytest.raises(CelError):
        FUNCTIONS["quantity"]("much")


def test_a_version_has_parts() -> None:
    version = FUNCTIONS["semver"]("1.2.3")
    assert [FUNCTIONS[part](version) for part in ("major", "minor", "patch")] == [1, 2, 3]
