"""Costs of single calls, in cel-go's units."""

from typing import Any

import pytest

from ksched_cli.cel.cost import call_cost
from ksched_cli.cel.functions import NETWORK
from ksched_cli.kube.quantity import Quantity

TEXT = "x" * 25


@pytest.mark.parametrize(
    ("function", "overloads", "arguments", "result", "cost"),
    [
        ("_+_", ("add_int64",), (1, 2), 3, 1),
        ("_+_", ("add_string",), (TEXT, TEXT), TEXT * 2, 5),
        ("_==_", ("equals",), (TEXT, TEXT + "y"), False, 3),
        ("_==_", ("equals",), (Quantity(1), Quantity(1)), True, 1),
        ("@in", ("in_list",), (1, [0] * 7), False, 7),
        ("matches", ("matches_string",), (TEXT, "x" * 9), True, 9),
        ("contains", ("contains_string",), (TEXT, "x" * 11), True, 6),
        ("quantity", ("string_to_quantity",), ("1" * 11,), Quantity(1), 2),
        ("split", ("string_split_string",), (TEXT, ","), [TEXT], 5),
        ("sum", ("list_int64_sum_int64",), ([1, 2, 3],), 6, 3),
        ("reverse", ("list_reverse",), ([1, 2, 3],), [3, 2, 1], 14),
        ("sets.contains", ("list_sets_contains_list",), ([1, 2, 3], [1, 2]), True, 7),
        ("sets.equivalent", ("list_sets_equivalent_list",), ([1, 2], [1, 2]), True, 9),
    ],
)
def test_a_call_costs_by_its_arguments_and_result(
    function: str,
    overloads: tuple[str, ...],
    arguments: tuple[Any, ...],
    result: object,
    cost: int,
) -> None:
    assert call_cost(function, overloads)(arguments, result) == cost


def test_a_call_with_several_possible_overloads_costs_one() -> None:
    assert call_cost("_+_", ("add_string", "add_list"))((TEXT, TEXT), TEXT * 2) == 1


def test_the_ip_of_a_network_costs_one_and_an_ip_from_text_by_its_length() -> None:
    cost = call_cost("ip", ("string_to_ip", "cidr_ip"))
    network = NETWORK["cidr"]("10.0.0.0/8")
    assert cost((network,), None) == 1
    assert cost(("192.168.100.1",), None) == 2
