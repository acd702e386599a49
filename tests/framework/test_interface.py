"""The plugin contract: what a class implements says which points it extends."""

from typing import Any

import pytest

from ksched_cli.framework import interface
from ksched_cli.framework.interface import CONTRACTS, FilterPlugin, Plugin, ScorePlugin, points_of
from ksched_cli.kube.extension_points import POINT_KEYS, interface_of


def test_contracts_and_points_are_the_same_in_the_same_order() -> None:
    assert list(CONTRACTS) == list(POINT_KEYS)
    interfaces = [contract.__name__ for contract in CONTRACTS.values()]
    assert interfaces == list(map(interface_of, CONTRACTS))


@pytest.mark.parametrize(("key", "contract"), CONTRACTS.items())
def test_a_class_extends_the_point_whose_contract_it_has(key: str, contract: type[Any]) -> None:
    assert points_of(type("One", (contract,), {})) == {key}


def test_a_class_may_extend_several_points_and_mix_in_more() -> None:
    class Several(FilterPlugin, ScorePlugin, interface.NormalizeScore, interface.Explains):
        pass

    assert points_of(Several) == {"filter", "score"}
    assert points_of(type("None_", (Plugin,), {})) == frozenset()


def test_an_incomplete_plugin_cannot_be_made() -> None:
    class Incomplete(interface.PreFilterPlugin):
        name = "Incomplete"

    incomplete: Any = Incomplete
    with pytest.raises(TypeError, match="pre_filter"):
        incomplete()
