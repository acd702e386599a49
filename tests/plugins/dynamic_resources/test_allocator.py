"""The search for devices, on random clusters: what it leaves out changes nothing, and what it hands
out is right."""

from collections import Counter
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.engine.records import RunRecord
from ksched_cli.plugins.dynamic_resources import view as device_view
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
    run = simulate(state)
    with patch.object(device_view, "_interchangeable", lambda demand: False):
        thorough = simulate(state)
    assert handed_out(run) == handed_out(thorough)
    assert [attempt.message for attempt in run.attempts] == [
        attempt.message for attempt in thorough.attempts
    ]


@given(cases())
def test_what_is_handed_out_is_what_was_asked_for(case: dict[str, Any]) -> None:
    results_of = handed_out(simulate(state_of(case)))
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
    attempt = run_cycle(state_of(case), config)
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
    assert not run_cycle(state_of(case)).node
