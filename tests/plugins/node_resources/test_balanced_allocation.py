"""NodeResourcesBalancedAllocation against a plain loop in Go's order of operations."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.plugins.node_resources.scoring import ResourceUsage, standard_deviation
from ksched_cli.testing import cluster, explanation, node, pod
from tests.plugin_cases import cases, check


def plain(amounts: list[tuple[int, int]]) -> float:
    """amounts: requested and allocatable, per resource."""
    fractions = [
        min(requested / allocatable, 1.0) for requested, allocatable in amounts if allocatable
    ]
    if len(fractions) == 2:
        return abs((fractions[0] - fractions[1]) / 2)
    if len(fractions) < 2:
        return 0.0
    total = 0.0
    for fraction in fractions:
        total += fraction
    mean = total / len(fractions)
    squares = 0.0
    for fraction in fractions:
        squares = squares + (fraction - mean) * (fraction - mean)
    return math.sqrt(squares / len(fractions))


@given(st.data(), st.integers(1, 4), st.integers(1, 5))
def test_the_deviation_is_that_of_a_plain_loop_to_the_last_bit(
    data: st.DataObject, resources: int, nodes: int
) -> None:
    amount = st.tuples(st.integers(0, 10**12), st.one_of(st.just(0), st.integers(1, 10**12)))
    rows = data.draw(
        st.lists(
            st.lists(amount, min_size=nodes, max_size=nodes),
            min_size=resources,
            max_size=resources,
        )
    )
    usages = []
    for row in rows:
        requested, allocatable = (
            np.array(column, dtype=np.int64) for column in zip(*row, strict=True)
        )
        usages.append(ResourceUsage(requested, allocatable))
    expected = [plain([row[i] for row in rows]) for i in range(nodes)]
    assert standard_deviation(usages).tolist() == expected


def test_an_explanation_says_how_much_would_be_used() -> None:
    state = cluster(node("a", cpu="4", memory="8Gi"), pod("p", cpu="1", memory="4Gi"))
    score = explanation(state).nodes[0].scores["NodeResourcesBalancedAllocation"]
    assert score.details == ("cpu 25% used", "memory 50% used")


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)
