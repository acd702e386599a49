"""The search for devices, on random clusters: what it leaves out changes nothing, and what it hands
out is right."""

import inspect
import sys
from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of
from ksched_cli.plugins.dynamic_resources import selectors as device_selectors
from ksched_cli.testing import run_cycle, simulate
from tests.devices import GPU, state_of

NODES = ["a", "b"]
MODELS = ["big", "small"]
NUMA = f"{GPU}/numa"

exact_requests = st.fixed_dictionaries(
    {"class": st.sampled_from(["gpu", *MODELS])},
    optional={"count": st.integers(1, 3), "mode": st.just("All")},
)
requests = st.one_of(
    exact_requests,
    st.fixed_dictionaries({"firstAvailable": st.lists(exact_requests, min_size=1, max_size=3)}),
)
claims = st.builds(
    lambda requested, together: {
        **{f"r{i}": request for i, request in enumerate(requested)},
        "constraints": [{"matchAttribute": NUMA}] if together else [],
    },
    st.lists(requests, min_size=1, max_size=3),
    st.booleans(),
)
devices = st.fixed_dictionaries(
    {"model": st.sampled_from(MODELS)}, optional={"numa": st.integers(0, 1)}
)


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Two nodes, pools of up to six devices, three pods of one or two claims each."""
    slices = [
        {"node": name, "devices": {f"g{i}": attributes for i, attributes in enumerate(pool)}}
        for name in NODES
        if (pool := draw(st.lists(devices, max_size=6)))
    ]
    drawn = draw(st.lists(claims, min_size=3, max_size=5))
    names = [f"c{i}" for i in range(len(drawn))]
    own = [names[:1], names[1:2], names[2:]]
    return {
        "nodes": NODES,
        "classes": {
            "gpu": [],
            **{name: [f'device.attributes["{GPU}"].model == "{name}"'] for name in MODELS},
        },
        "slices": slices,
        "claims": dict(zip(names, drawn, strict=True)),
        "pods": {f"p{i}": each for i, each in enumerate(own)},
    }


def handed_out(run: RunRecord) -> dict[str, Any]:
    return {name: devices for attempt in run.attempts for name, devices in attempt.claims.items()}


@given(cases())
def test_what_the_search_does_not_try_again_would_fail_again(case: dict[str, Any]) -> None:
    state = state_of(case)
    run = simulate(state, kubernetes_version="1.34")
    with patch.object(device_selectors, "_interchangeable", lambda demand: False):
        thorough = simulate(state, kubernetes_version="1.34")
    assert handed_out(run) == handed_out(thorough)
    assert [attempt.message for attempt in run.attempts] == [
        attempt.message for attempt in thorough.attempts
    ]


@given(cases())
def test_what_is_handed_out_is_what_was_asked_for(case: dict[str, Any]) -> None:
    results_of = handed_out(simulate(state_of(case), kubernetes_version="1.34"))
    places = [result.partition("=")[2] for each in results_of.values() for result in each]
    assert len(set(places)) == len(places)
    attributes = {
        f"{GPU}/{pool['node']}/{name}": values
        for pool in case["slices"]
        for name, values in pool["devices"].items()
    }
    for claim, results in results_of.items():
        assert len({result.split("/")[-2] for result in results}) == 1
        _check_claim(
            case["claims"][claim], [result.partition("=")[::2] for result in results], attributes
        )


def _check_claim(
    requested: dict[str, Any], results: list[tuple[str, str]], attributes: dict[str, Any]
) -> None:
    counts = Counter(request for request, _ in results)
    for name, request in requested.items():
        if name != "constraints" and "firstAvailable" not in request:
            if "mode" not in request:
                assert counts[name] == request.get("count", 1)
            if request["class"] != "gpu":
                models = {attributes[place]["model"] for each, place in results if each == name}
                assert models == {request["class"]}
    if requested["constraints"]:
        values = {attributes[place].get("numa") for _, place in results}
        assert len(values) == 1
        assert values != {None}


def test_a_search_may_take_so_long_and_no_longer() -> None:
    case = {
        "slices": [{"node": "a", "devices": {"g0": {}}}],
        "claims": {"one": "gpu"},
        "pods": {"p": ["one"]},
    }
    args = {"name": "DynamicResources", "args": {"filterTimeout": "1ns"}}
    config = {"profiles": [{"pluginConfig": [args]}]}
    attempt = run_cycle(state_of(case), config, kubernetes_version="1.34")
    assert attempt.message == (
        "0/1 nodes are available: 1 timed out trying to allocate devices. still not schedulable, "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )


def test_a_hopeless_search_is_over_at_once() -> None:
    """All ways to choose 31 of 30 devices would take years."""
    case = {
        "slices": [{"node": "a", "devices": {f"g{i}": {} for i in range(30)}}],
        "claims": {
            "one": {"r": {"class": "gpu", "count": 8}},
            "two": {"r": {"class": "gpu", "count": 12}, "s": {"class": "gpu", "count": 11}},
        },
        "pods": {"p": ["one", "two"]},
    }
    assert not run_cycle(state_of(case), kubernetes_version="1.34").node


MAX = 2**63 - 1


def attempt_under(minor: str, case: dict[str, Any]) -> Attempt:
    registry = registry_of(release_of(minor))
    configuration = load_configuration(None, "", registry)
    (attempt,) = Simulation(state_of(case), configuration, registry, Options()).run().attempts
    return attempt


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        ([2**40], "number of requested devices 1099511627776 exceeds the claim limit of 32"),
        ([MAX], f"number of requested devices {MAX} exceeds the claim limit of 32"),
        ([1, MAX], f"number of requested devices {-MAX - 1} is negative"),
        ([-(2**40)], "number of requested devices -1099511627776 is negative"),
        ([2**62] * 4, "allocation max size exceeded"),
        ([-(2**40), 2**40], "allocation max size exceeded"),
        ([-1, 1], ["r1=g0"]),
        ([[2**40, 1]], ["r0/x1=g0"]),
        ([1, [MAX, 1]], ["r0=g0", "r1/x1=g1"]),
        ([1, [MAX, 2]], ["r0=g0", "r1/x1=g1", "r1/x1=g2"]),
        ([1, [MAX, 4]], "cannot allocate all claims"),
        ([[MAX, -1], 2], ["r1=g0", "r1=g1"]),
    ],
)
@pytest.mark.parametrize("minor", ["1.34", "1.35", "1.36"])
def test_counts_are_gos_integers(
    requested: list[int | list[int]], expected: str | list[str], minor: str
) -> None:
    """As the allocators of v1.34.1 and v1.36.0 answered."""
    counts = [[each] if isinstance(each, int) else each for each in requested]
    requests = [[{"class": "gpu", "count": count} for count in each] for each in counts]
    claimed = {
        f"r{i}": each[0] if isinstance(requested[i], int) else {"firstAvailable": each}
        for i, each in enumerate(requests)
    }
    case = {
        "slices": [{"node": "a", "devices": {f"g{i}": {} for i in range(3)}}],
        "claims": {"c": claimed},
        "pods": {"p": ["c"]},
    }
    attempt = attempt_under(minor, case)
    if isinstance(expected, str):
        assert expected in attempt.why_not
    else:
        prefix = f"={GPU}/a/"
        assert attempt.claims["c"] == tuple(each.replace("=", prefix) for each in expected)


@pytest.mark.parametrize(
    ("counts", "problem"),
    [
        ([MAX], f"r0: adding {MAX} devices exceeds the claim limit of 32, with 0 already"),
        ([1, MAX], f"r1: adding {MAX} devices exceeds the claim limit of 32, with 1 already"),
        ([-(2**40), 2**40], "allocation max size exceeded"),
    ],
)
def test_from_1_37_on_no_sum_of_counts_wraps(counts: list[int], problem: str) -> None:
    claimed = {f"r{i}": {"class": "gpu", "count": count} for i, count in enumerate(counts)}
    slices = [{"node": "a", "devices": {"g0": {}}}]
    attempt = attempt_under(
        "1.37", {"slices": slices, "claims": {"c": claimed}, "pods": {"p": ["c"]}}
    )
    assert problem in attempt.error


@pytest.mark.parametrize("minor", MINORS)
def test_a_search_is_as_deep_as_there_are_devices(minor: str) -> None:
    """Python's own limit of calls stays as it is."""
    count = 300
    names = [f"c{i:03}" for i in range(count)]
    case = {
        "slices": [{"node": "a", "devices": {name: {} for name in names}}],
        "claims": dict.fromkeys(names, "gpu"),
        "pods": {"p": names},
    }
    before = sys.getrecursionlimit()
    depth = sum(1 for _ in inspect.stack(0))
    sys.setrecursionlimit(depth + 200)
    try:
        attempt = attempt_under(minor, case)
    finally:
        sys.setrecursionlimit(before)
    assert attempt.node == "a"
    assert len(attempt.claims) == count
