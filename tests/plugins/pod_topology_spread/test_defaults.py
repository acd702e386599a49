"""The default constraints, and the selector for them: of the pod's services and its owner."""

from typing import Any

import pytest

from ksched_cli.kube.selectors import Selector
from ksched_cli.plugins.args import (
    PodTopologySpreadArgs,
    TopologySpreadConstraint,
)
from ksched_cli.plugins.pod_topology_spread import default_constraints, default_selector
from ksched_cli.testing import cluster, find, node, pod, simulation

WEB = {"app": "web"}


def service(selector: dict[str, str], namespace: str = "default") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s" + "-".join(selector.values()), "namespace": namespace},
        "spec": {"selector": selector},
    }


def owner(kind: str, version: str, selector: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "owner", "namespace": "default"},
        "spec": {"selector": selector},
    }


def selector_of(
    *objects: dict[str, Any],
    owned_by: str | None = None,
    version: str = "apps/v1",
    labels: dict[str, str] | None = None,
) -> Selector:
    metadata = {}
    if owned_by:
        reference = {"apiVersion": version, "kind": owned_by, "name": "owner", "controller": True}
        metadata["ownerReferences"] = [{**reference, "uid": "u"}]
    labels = labels or {"app": "web", "tier": "front"}
    run = simulation(cluster(node("a"), *objects, pod("p", labels=labels, metadata=metadata)))
    return default_selector(find(run), run.state)


def test_a_pod_without_services_and_owner_has_a_selector_without_requirements() -> None:
    assert not selector_of().requirements


def test_the_selectors_of_all_its_services_are_merged() -> None:
    selector = selector_of(service(WEB), service({"tier": "front"}), service({"tier": "back"}))
    assert selector.matches({"app": "web", "tier": "front"})
    assert not selector.matches(WEB)


def test_services_of_other_namespaces_do_not_count() -> None:
    assert not selector_of(service(WEB, "blue")).requirements


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_the_owners_selector_is_added_to_the_services(kind: str) -> None:
    owned = owner(kind, "apps/v1", {"matchLabels": {"tier": "front"}})
    selector = selector_of(service(WEB), owned, owned_by=kind)
    assert selector.matches({"app": "web", "tier": "front"})
    assert not selector.matches(WEB)


def test_the_selector_of_a_replication_controller_is_a_map() -> None:
    owned = owner("ReplicationController", "v1", {"tier": "front"})
    selector = selector_of(service(WEB), owned, owned_by="ReplicationController", version="v1")
    assert selector.matches({"app": "web", "tier": "front"})
    assert not selector.matches(WEB)


def test_an_owner_that_is_not_in_the_state_adds_nothing() -> None:
    selector = selector_of(service(WEB), owned_by="ReplicaSet")
    assert selector.matches(WEB)


def test_an_owner_with_a_selector_that_does_not_parse_adds_nothing() -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    selector = selector_of(
        service(WEB), owner("ReplicaSet", "apps/v1", broken), owned_by="ReplicaSet"
    )
    assert selector.matches(WEB)


def test_the_systems_default_constraints_stand_unless_a_list_is_given() -> None:
    system = PodTopologySpreadArgs(defaulting_type="System")
    assert [each.max_skew for each in default_constraints(system)] == [3, 5]
    own = TopologySpreadConstraint(max_skew=2, topology_key="rack")
    given = PodTopologySpreadArgs(defaulting_type="List", default_constraints=(own,))
    (constraint,) = default_constraints(given)
    assert (constraint.max_skew, constraint.topology_key) == (2, "rack")
    assert default_constraints(PodTopologySpreadArgs(defaulting_type="List")) == ()
