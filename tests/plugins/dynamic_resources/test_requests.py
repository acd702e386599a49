"""Demands: the requests of claims as the allocator uses them."""

from typing import Any

from ksched_cli.plugins.dynamic_resources.requests import (
    ALL,
    MATCH_ATTRIBUTE,
    Demand,
    RequestConstraint,
    demand_of,
)
from tests.devices import GPU, state_of


def demand(*claims: dict[str, Any] | str) -> Demand:
    state = state_of({"claims": {f"c{i}": each for i, each in enumerate(claims)}, "pods": {}})
    return demand_of(list(state.resource_claims.values()))


def test_claims_of_equal_requests_have_equal_demands() -> None:
    assert demand("gpu") == demand({"r": {"class": "gpu", "count": 1}})
    assert demand("gpu") != demand({"r": {"class": "gpu", "count": 2}})


def test_a_prioritized_list_has_its_subrequests_as_alternatives() -> None:
    listed = {"firstAvailable": [{"class": "gpu", "mode": "All"}, {"class": "nic"}]}
    (alternatives,) = demand({"r": listed}).claims[0].alternatives
    assert alternatives.prioritized
    assert [each.result_name for each in alternatives.requests] == ["r/x0", "r/x1"]
    assert [each.base_name for each in alternatives.requests] == ["r", "r"]
    assert alternatives.requests[0].mode == ALL


def test_an_exact_request_is_its_only_alternative() -> None:
    (alternatives,) = demand("gpu").claims[0].alternatives
    assert not alternatives.prioritized
    assert [each.result_name for each in alternatives.requests] == ["r"]


def test_equal_requests_of_several_claims_count_once() -> None:
    assert len(demand("gpu", "gpu", {"s": "gpu"}).requests) == 2


def test_a_constraint_has_its_kind() -> None:
    given = {"r": "gpu", "constraints": [{"matchAttribute": f"{GPU}/numa"}, {}]}
    assert demand(given).claims[0].constraints == (
        RequestConstraint(MATCH_ATTRIBUTE, f"{GPU}/numa", frozenset()),
        RequestConstraint("", "", frozenset()),
    )
