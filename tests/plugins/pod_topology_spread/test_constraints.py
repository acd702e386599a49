"""Parsed constraints, the nodes that count for them, and their counters."""

from typing import Any

import pytest

from ksched_cli.cluster.topology.pod_index import PodIndex
from ksched_cli.kube.selectors import SelectorError
from ksched_cli.plugins.pod_topology_spread import (
    HOSTNAME,
    Constraint,
    ConstraintCounters,
    CountedConstraint,
    domains_with_empty,
    filter_constraints,
)
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.plugins.pod_topology_spread.manifests import NODES, constraint, spread

HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"


def parsed(
    *constraints: dict[str, Any], action: str = HARD, labels: dict[str, str] | None = None
) -> tuple[Constraint, ...]:
    info = find(simulation(cluster(node("a"), pod("p", spec=spread(*constraints)))))
    return filter_constraints(
        info.spec.topology_spread_constraints, labels or {}, action, matches_keys=True
    )


def counted(*objects: dict[str, Any], keys: tuple[str, ...] = ("zone",)) -> CountedConstraint:
    """The first hard constraint of pod p with its counter."""
    run = simulation(cluster(*objects))
    info = find(run, "p")
    (first, *_) = filter_constraints(
        info.spec.topology_spread_constraints, info.labels, HARD, matches_keys=True
    )
    return ConstraintCounters(run.snapshot.index(PodIndex), info, keys).by_domain(first)


def counts(of: CountedConstraint) -> dict[str, int]:
    domains = of.counter.domains
    return {domains.values[code]: int(of.counter.counts[code]) for code in domains.present}


def test_only_constraints_of_the_action_are_kept() -> None:
    both = (constraint("zone"), constraint("rack", when=SOFT))
    assert [c.topology_key for c in parsed(*both)] == ["zone"]
    assert [c.topology_key for c in parsed(*both, action=SOFT)] == ["rack"]


def test_defaults_are_one_domain_and_to_honor_affinity_but_not_taints() -> None:
    (only,) = parsed(constraint())
    assert (only.min_domains, only.honors_affinity, only.honors_taints) == (1, True, False)


def test_match_label_keys_narrow_the_selector_by_the_pods_own_labels() -> None:
    labels = {"app": "web", "version": "2"}
    (only,) = parsed(constraint(matchLabelKeys=["version", "absent"]), labels=labels)
    assert only.selector.matches({"app": "web", "version": "2"})
    assert not only.selector.matches({"app": "web", "version": "1"})
    without = constraint(matchLabelKeys=["version"])
    del without["labelSelector"]
    (nothing,) = parsed(without, labels=labels)
    assert not nothing.selector.matches(labels)


def test_a_selector_that_does_not_parse_is_an_error() -> None:
    broken = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
    with pytest.raises(SelectorError, match="Near"):
        parsed(constraint(selector=broken))


def test_matching_pods_are_counted_per_domain() -> None:
    pods = [pod(f"w{i}", node=name, labels={"app": "web"}) for i, name in enumerate(("n0", "n1"))]
    other = pod("other", node="n2", labels={"app": "db"})
    p = pod("p", labels={"app": "web"}, spec=spread(constraint()))
    of = counted(*NODES, *pods, other, p)
    assert counts(of) == {"a": 2, "b": 0, "c": 0}
    assert of.matches_self


def test_a_selector_without_requirements_counts_no_pods() -> None:
    web = pod("w", node="n0", labels={"app": "web"})
    of = counted(*NODES, web, pod("p", spec=spread(constraint(selector={}))))
    assert set(counts(of).values()) == {0}


def test_nodes_that_the_pods_affinity_excludes_do_not_count_unless_it_is_ignored() -> None:
    selector = {"disk": "ssd"}
    honored = pod("p", node_selector=selector, spec=spread(constraint()))
    assert set(counts(counted(*NODES, honored))) == {"a", "b"}
    ignored = constraint(nodeAffinityPolicy="Ignore")
    p = pod("p", node_selector=selector, spec=spread(ignored))
    assert set(counts(counted(*NODES, p))) == {"a", "b", "c"}


@pytest.mark.parametrize(("policy", "zones"), [("Honor", {"b"}), ("Ignore", {"a", "b"})])
def test_tainted_nodes_count_unless_taints_are_honored(policy: str, zones: set[str]) -> None:
    nodes = (
        node("n0", labels={"zone": "a"}, taints=["k=v:NoSchedule"]),
        node("n1", labels={"zone": "b"}),
    )
    p = pod("p", spec=spread(constraint(nodeTaintsPolicy=policy)))
    assert set(counts(counted(*nodes, p))) == zones


def test_nodes_without_one_of_the_other_keys_do_not_count() -> None:
    p = pod("p", spec=spread(constraint(), constraint("rack")))
    assert set(counts(counted(*NODES, p, keys=("zone", "rack")))) == {"a", "b"}


def test_by_node_each_node_is_a_domain_of_its_own() -> None:
    web = pod("w", node="n1", labels={"app": "web"})
    run = simulation(cluster(*NODES, web, pod("p", spec=spread(constraint(HOSTNAME)))))
    info = find(run, "p")
    (only,) = filter_constraints(
        info.spec.topology_spread_constraints, info.labels, HARD, matches_keys=True
    )
    of = ConstraintCounters(run.snapshot.index(PodIndex), info, ()).by_node(only)
    assert [int(of.counter.counts[code]) for code in of.codes] == [0, 1, 0, 0]


def test_a_missing_label_is_the_empty_domain_where_there_is_one() -> None:
    run = simulation(cluster(node("a", labels={"zone": ""}), node("b"), node("c")))
    domains = domains_with_empty(run.snapshot.index(PodIndex), "zone")
    assert [domains.values[code] for code in domains.codes] == ["", "", ""]
