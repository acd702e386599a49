"""Whole runs of small clusters with devices, from dynamic_resources.yaml; and what takes more."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cluster.objects.devices import ResourceClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import PreFilterPlugin, PreFilterResult, ReservePlugin
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import explanation, simulate, simulation
from tests.devices import GPU, state_of
from tests.narrowing import present

CASES = yaml.load(Path(__file__).with_name("dynamic_resources.yaml").read_text(), yaml.CSafeLoader)[
    "cases"
]


def short(statuses: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {name: {s.code.text: s.message} for name, s in statuses.items()}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["shows"]) for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    run = simulate(state_of(case), kubernetes_version="1.34")
    placed = {key.removeprefix("default/"): where for key, where in run.placements.items()}
    assert placed == case.get("placed", {})
    given = {name: devices for attempt in run.attempts for name, devices in attempt.claims.items()}
    for name, expected in case.get("devices", {}).items():
        assert [
            device.replace(GPU + "/", "").replace("nic.example.com/", "") for device in given[name]
        ] == expected
    last = f"default/{list(case['pods'])[-1]}"
    if "gated" in case:
        assert case["gated"] in run.gated[last].message
        return
    attempt = run.last[last]
    assert case.get("error", "") in attempt.error
    assert bool(attempt.error) == ("error" in case)
    assert case.get("message", "") in attempt.message
    if "filter" in case:
        assert short(attempt.detail.filter) == case["filter"]
    if "pre_filter" in case:
        assert short({"": attempt.pre_filter}) == {"": case["pre_filter"]}


SINGLE_DEVICE = {"slices": [{"node": "a", "devices": {"g0": {}}}], "claims": {"one": "gpu"}}
SHARED = {**SINGLE_DEVICE, "pods": {"p": ["one"], "q": ["one"]}}
# Allocated where there is no node, and used by nobody.
STRANDED = {
    **SINGLE_DEVICE,
    "claims": {"one": {"r": "gpu", "allocated": ["b/g0"], "where": "b"}},
    "pods": {"p": ["one"]},
}


def without(point: str) -> dict[str, list[dict[str, dict[str, Any]]]]:
    """The default profile, with DynamicResources disabled at one point."""
    return {"profiles": [{"plugins": {point: {"disabled": [{"name": "DynamicResources"}]}}}]}


def claim_of(run: Simulation, name: str = "one") -> ResourceClaim | None:
    return run.frameworks["default-scheduler"].handle.service(ClaimStore).get("default", name)


def test_a_claim_is_written_with_its_allocation_and_its_users() -> None:
    run = simulation(state_of(SHARED), kubernetes_version="1.34")
    run.run()
    status = present(claim_of(run)).status
    assert [item.device for item in present(status.allocation).devices.results] == ["g0"]
    assert [item.name for item in status.reserved_for] == ["p", "q"]


def test_an_allocation_that_is_not_written_stays_under_way() -> None:
    run = simulate(state_of(SHARED), without("preBind"), kubernetes_version="1.34")
    assert run.placements == {"default/p": "a"}
    assert present(run.last["default/q"].pre_filter).message == (
        "resource claim default/one is in the process of being allocated"
    )


class Refuses(ReservePlugin):
    """Comes after DynamicResources, and refuses the first pod that comes."""

    name = "Refuses"

    def __init__(self, args: Any, handle: Handle) -> None:
        self.calls = 0

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        self.calls += 1
        return Status.unschedulable("not now") if self.calls == 1 else SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        pass


def test_what_a_refused_pod_had_taken_is_free_again() -> None:
    case = {**SINGLE_DEVICE, "claims": {"one": "gpu", "two": "gpu"}}
    run = simulate(
        state_of({**case, "pods": {"p": ["one"], "q": ["two"]}}),
        plugins=[Refuses],
        kubernetes_version="1.34",
    )
    assert run.last["default/q"].claims == {"two": (f"r={GPU}/a/g0",)}


def test_a_claim_that_nobody_uses_is_taken_back_where_no_node_reaches_it() -> None:
    run = simulation(state_of(STRANDED), kubernetes_version="1.34")
    (attempt,) = run.try_pod(run.pending()[0])
    assert attempt.message == (
        "0/1 nodes are available: 1 resourceclaim not available on the node. deallocation of "
        "ResourceClaim completed, preemption: 0/1 nodes are available: 1 Preemption is not helpful "
        "for scheduling."
    )
    assert present(claim_of(run)).status.allocation is None
    assert run.try_pod(run.pending()[0])[0].claims == {"one": (f"r={GPU}/a/g0",)}


def test_a_question_takes_no_claim_back() -> None:
    run = simulation(state_of(STRANDED), kubernetes_version="1.34")
    run.cycle.attempt(run.frameworks["default-scheduler"], run.pending()[0])
    assert present(claim_of(run)).status.allocation is not None


@pytest.mark.parametrize("claims", [[], ["one"]], ids=["without claims", "with a claim"])
def test_where_pre_filter_never_came_so_far_post_filter_has_nothing_to_go_by(
    claims: list[str],
) -> None:
    class Ends(PreFilterPlugin):
        name = "Ends"

        def __init__(self, args: Any, handle: Handle) -> None:
            pass

        def pre_filter(
            self, state: CycleState, pod: PodInfo, nodes: Nodes
        ) -> tuple[PreFilterResult | None, Status]:
            return None, Status.unresolvable("ended")

    both = [{"name": name} for name in ("Ends", "DynamicResources")]
    plugins = {
        "multiPoint": {"disabled": both[1:]},
        "preFilter": {"enabled": both},
        "postFilter": {"enabled": both[1:]},
    }
    state = state_of({**SINGLE_DEVICE, "pods": {"p": claims}})
    run = simulate(state, {"profiles": [{"plugins": plugins}]}, [Ends], kubernetes_version="1.34")
    assert present(run.last["default/p"].post_filter).status.message == "not found"


def test_explain_says_that_a_claim_is_not_made_yet() -> None:
    state = state_of({**SINGLE_DEVICE, "pods": {"p": [{"template": "one"}]}})
    assert (
        present(explanation(state, kubernetes_version="1.34").gated).message
        == 'pod "default/p": ResourceClaim not created yet'
    )
