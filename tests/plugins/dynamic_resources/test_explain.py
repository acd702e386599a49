"""What explain says about a node whose devices a pod's claims cannot have."""

from typing import Any

import pytest

from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.plugins.dynamic_resources.search import DeviceSearch
from ksched_cli.testing import explanation
from tests.devices import GPU, state_of
from tests.plugins.dynamic_resources.test_shared_and_tainted_devices import simulation_of

MODEL = f'device.attributes["{GPU}"].model == "big"'


def details_of(case: dict[str, Any], node: str = "a") -> list[str]:
    """The details about one node, for the last pod."""
    name = list(case["pods"])[-1]
    answer = explanation(
        state_of({"nodes": ["a", "b"], **case}), pod=name, kubernetes_version="1.34"
    )
    (rejection,) = next(
        explained for explained in answer.nodes if explained.node == node
    ).rejections
    assert rejection.plugin == "DynamicResources"
    return list(rejection.details)


def test_a_request_says_what_it_found_and_what_turned_the_rest_away() -> None:
    devices = {"g0": {"model": "big"}, "g1": {"model": "small"}, "g2": {}}
    case = {
        "classes": {"known": [f'has(device.attributes["{GPU}"].model)']},
        "slices": [{"node": "a", "devices": devices}],
        "claims": {"one": {"r": {"class": "known", "count": 2, "selectors": [MODEL]}}},
        "pods": {"p": ["one"]},
    }
    assert details_of(case) == [
        "claim default/one, request r: wants 2 of class known; of 3 devices 1 free, "
        f"1 turned away by selector #0 of the request, {MODEL}, "
        f'1 turned away by selector #0 of class known, has(device.attributes["{GPU}"].model)'
    ]


def test_devices_in_use_are_told_with_the_claims_that_have_them() -> None:
    case = {
        "slices": [{"node": "a", "devices": {f"g{i}": {} for i in range(4)}}],
        "claims": {
            "mine": {"r": {"class": "gpu", "count": 2}},
            "first": {"r": "gpu", "allocated": ["a/g1", "a/g0"], "where": "a"},
            "second": {"r": "gpu", "allocated": ["a/g3"], "where": "a"},
        },
        "pods": {"p": ["mine"]},
    }
    assert details_of(case) == [
        "claim default/mine, request r: wants 2 of class gpu; of 4 devices 1 free, 3 in use "
        "(g0 by default/first, g1 by default/first, g3 by default/second)"
    ]


def test_a_selector_that_fails_is_told_with_its_error() -> None:
    selector = f'device.attributes["{GPU}"].model.startsWith("b")'
    case = {
        "slices": [{"node": "a", "devices": {"g0": {}}}],
        "claims": {"one": {"r": {"class": "gpu", "selectors": [selector]}}},
        "pods": {"p": ["one"]},
    }
    assert details_of(case) == [
        "claim default/one, request r: wants 1 of class gpu; of 1 device 0 free, 1 turned away by "
        f"selector #0 of the request, {selector}, which fails: no such key: model"
    ]


def test_each_choice_of_a_list_is_told() -> None:
    big, small = {"class": "gpu", "selectors": [MODEL]}, {"class": "gpu", "count": 3}
    case = {
        "slices": [{"node": "a", "devices": {"g0": {"model": "old"}, "g1": {"model": "old"}}}],
        "claims": {"one": {"r": {"firstAvailable": [big, small]}}},
        "pods": {"p": ["one"]},
    }
    assert details_of(case) == [
        "claim default/one, request r/x0: wants 1 of class gpu; of 2 devices 0 free, "
        f"2 turned away by selector #0 of the request, {MODEL}",
        "claim default/one, request r/x1: wants 3 of class gpu; of 2 devices 2 free",
    ]


def test_a_constraint_is_told_with_the_values_found_where_there_are_enough_devices() -> None:
    case = {
        "slices": [{"node": "a", "devices": {"g0": {"numa": 0}, "g1": {"numa": 1}, "g2": {}}}],
        "claims": {
            "pair": {
                "r": {"class": "gpu", "count": 2},
                "constraints": [{"matchAttribute": f"{GPU}/numa"}],
            }
        },
        "pods": {"p": ["pair"]},
    }
    assert details_of(case) == [
        "claim default/pair, request r: wants 2 of class gpu; of 3 devices 3 free",
        f"claim default/pair, matchAttribute {GPU}/numa: request r finds 1 with 0, 1 with 1, "
        "1 with no value",
    ]


def test_requests_that_want_the_same_device_are_told() -> None:
    case = {
        "slices": [{"node": "a", "devices": {"g0": {}}}],
        "claims": {"one": {"r": "gpu", "s": "gpu"}},
        "pods": {"p": ["one"]},
    }
    assert details_of(case)[-1] == (
        "each request alone finds enough devices, but several need the same devices"
    )


@pytest.mark.parametrize("node", ["a", "b"])
def test_a_node_without_devices_is_told_so(node: str) -> None:
    case = {"claims": {"one": "gpu"}, "pods": {"p": ["one"]}}
    assert details_of(case, node) == ["this node reaches no device of any ResourceSlice"]


def test_an_incomplete_pool_is_told() -> None:
    case = {
        "slices": [{"node": "a", "count": 2, "devices": {"g0": {}}}],
        "claims": {"one": {"r": {"class": "gpu", "count": 2}}},
        "pods": {"p": ["one"]},
    }
    assert details_of(case)[0] == f"pool {GPU}/a is incomplete: 1 of 2 slices of generation 1"


def test_devices_that_would_have_to_be_waited_for_are_told() -> None:
    device = {"bindingConditions": ["ready"]}
    case = {
        "slices": [{"node": "a", "devices": {"g0": device}}],
        "claims": {"one": "gpu"},
        "pods": {"p": ["one"]},
    }
    assert details_of(case) == [
        "claim default/one, request r: wants 1 of class gpu; of 1 device 0 free, 1 turned away by "
        "their binding conditions, which kube-scheduler does not wait for by default"
    ]


def test_a_claim_that_is_allocated_elsewhere_is_told_with_the_nodes_it_is_for() -> None:
    case = {
        "slices": [{"node": "b", "devices": {"g0": {}}}],
        "claims": {"one": {"r": "gpu", "allocated": ["b/g0"], "where": "b"}},
        "pods": {"p": ["one"]},
    }
    assert details_of(case) == [
        f"claim default/one is allocated already: {GPU}/b/g0, to be used on nodes with "
        "metadata.name In b"
    ]


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (
            {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
            "1 tainted k=v:NoSchedule",
        ),
        (
            {"capacity": {"memory": {"value": "1"}}},
            "1 out of capacity",
        ),
        (
            {"consumesCounters": [{"counterSet": "card", "counters": {"m": {"value": "2"}}}]},
            "1 out of counters of their pool",
        ),
    ],
)
def test_what_turns_matching_devices_away_from_1_36_on(device: dict[str, Any], text: str) -> None:
    pool = {"name": "p", "resourceSliceCount": 2}
    counters = [{"name": "card", "counters": {"m": {"value": "1"}}}]
    request = {"capacity": {"requests": {"memory": "2"}}} if "capacity" in device else {}
    run = simulation_of(
        {
            "slices": [
                {"pool": pool, "sharedCounters": counters},
                {"pool": pool, "devices": [{"name": "a", **device}]},
            ],
            "claims": {"c": {"requests": {"r": request}}},
        }
    )
    handle = run.frameworks["default-scheduler"].handle
    search = DeviceSearch(handle, list(run.state.resource_claims.values()), 0.0)
    search.verdicts(Nodes(run.snapshot))
    (line,) = search.lines(0, handle.service(ClaimStore))
    assert line == f"claim default/c, request r: wants 1 of class any; of 1 device 0 free, {text}"
