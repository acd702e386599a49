"""Allocations of a pod's claims on every node."""

from typing import Any, cast

import pytest
from msgspec.structs import replace

from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.framework.status import Code
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.dynamic_resources.search import NOT_ALLOCATABLE, DeviceSearch
from ksched_cli.testing import simulation
from tests.devices import GPU, state_of
from tests.narrowing import present

UNREAD = cast(ClaimStore, None)  # where no device is in reach, no claim is looked up


def search_of(case: dict[str, Any]) -> tuple[DeviceSearch, Nodes]:
    state = state_of({"nodes": ["a", "b", "c"], "pods": {}, **case})
    run = simulation(state, kubernetes_version="1.34")
    handle = run.frameworks["default-scheduler"].handle
    return DeviceSearch(handle, list(state.resource_claims.values()), 0.0), Nodes(run.snapshot)


def test_each_node_has_an_allocation_of_its_own_devices_or_a_rejection() -> None:
    slices = [{"node": name, "devices": {"g0": {}}} for name in "ab"]
    search, nodes = search_of({"slices": slices, "claims": {"one": "gpu"}})
    verdicts = search.verdicts(nodes)
    statuses = [verdicts.statuses[index] for index in verdicts.ids]
    assert [status.is_success for status in statuses] == [True, True, False]
    assert statuses[2] == NOT_ALLOCATABLE
    assert search.allocations(2) is None
    for row, name in enumerate("ab"):
        (allocation,) = present(search.allocations(row))
        (result,) = allocation.devices.results
        assert (result.driver, result.pool, result.device) == (GPU, name, "g0")
        assert present(allocation.node_selector).node_selector_terms[0].match_fields[0].values == (
            name,
        )


def test_only_a_node_without_an_allocation_has_an_explanation() -> None:
    slices = [{"node": "a", "devices": {"g0": {}}}]
    search, nodes = search_of({"slices": slices, "claims": {"one": "gpu"}})
    search.verdicts(nodes)
    assert search.lines(0, UNREAD) == []
    assert search.lines(1, UNREAD) == ["this node reaches no device of any ResourceSlice"]


def test_an_error_of_a_claim_is_every_nodes() -> None:
    search, nodes = search_of({"claims": {"one": "unknown"}})
    verdicts = search.verdicts(nodes)
    (status,) = {verdicts.statuses[index].message for index in verdicts.ids}
    assert "device class unknown" in status


@pytest.mark.parametrize(
    ("minor", "message", "code"),
    [
        ("1.35", "timed out trying to allocate devices", Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        ("1.36", "node a: timed out trying to allocate devices", Code.ERROR),
    ],
)
def test_a_search_that_takes_too_long(minor: str, message: str, code: Code) -> None:
    case = {"nodes": ["a"], "slices": [{"node": "a", "devices": {"g0": {}}}], "pods": {}}
    state = state_of({**case, "claims": {"one": "gpu"}})
    run = simulation(state, kubernetes_version="1.34")
    handle = replace(run.frameworks["default-scheduler"].handle, release=release_of(minor))
    handle.services.clear()
    search = DeviceSearch(handle, list(state.resource_claims.values()), 1e-9)
    status = search.verdicts(Nodes(run.snapshot)).statuses[-1]
    assert (status.message, status.code) == (message, code)
