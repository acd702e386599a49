"""Which events may let a pod be where its spread constraints want it."""

from functools import partial
from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import pod_topology_spread as plugin
from ksched_cli.plugins.pod_topology_spread import (
    Constraint,
    after_node_change,
    filter_constraints,
)
from tests.plugins.event_objects import decoded_node, pod_info
from tests.plugins.pod_topology_spread.manifests import constraint, spread

POD = pod_info(labels={"app": "web"}, spec=spread(constraint("zone")))


def constraints_of(pod: PodInfo) -> tuple[Constraint, ...]:
    return filter_constraints(
        pod.spec.topology_spread_constraints, pod.labels, "DoNotSchedule", matches_keys=True
    )


after_pod_change = partial(plugin.after_pod_change, constraints_of, False)
after_pod_change_1_36 = partial(plugin.after_pod_change, constraints_of, True)


def other(app: str, **fields: Any) -> PodInfo:
    return pod_info("other", labels={"app": app}, **{"node": "n", **fields})


def test_only_changes_that_may_matter_are_listened_to() -> None:
    pods, nodes = (
        event for event, _ in plugin.registrations(constraints_of, release_of("1.36").rules)
    )
    assert {action.name for action in pods.action} == {
        "ADD",
        "DELETE",
        "UPDATE_POD_LABEL",
        "UPDATE_POD_TOLERATION",
    }
    assert {action.name for action in nodes.action} == {
        "ADD",
        "DELETE",
        "UPDATE_NODE_LABEL",
        "UPDATE_NODE_TAINT",
    }


def test_pods_that_are_counted_matter_when_they_come_and_go() -> None:
    assert after_pod_change(POD, None, other("web"))
    assert after_pod_change(POD, other("web"), None)
    assert not after_pod_change(POD, None, other("y"))
    assert not after_pod_change(POD, None, other("web", node=""))
    assert not after_pod_change(POD, other("web", namespace="blue"), None)


def test_nominated_pods_are_counted_in_later_minors() -> None:
    nominated = other("web", node="", status={"nominatedNodeName": "n"})
    assert not after_pod_change(POD, nominated, None)
    assert after_pod_change_1_36(POD, nominated, None)


def test_labels_matter_where_a_pod_begins_or_ceases_to_count() -> None:
    assert after_pod_change(POD, other("web"), other("y"))
    assert not after_pod_change(POD, other("z"), other("y"))


def test_a_toleration_matters_where_taints_are_honored() -> None:
    for policy, is_tried in (("Honor", True), ("Ignore", False)):
        fields = spread(constraint("zone", nodeTaintsPolicy=policy))
        before, after = pod_info(spec=fields), pod_info(spec=fields, tolerations=["k"])
        assert after_pod_change(after, before, after) is is_tried
        for name in ("a", "z"):
            tolerating = pod_info(name, node="n", tolerations=["k"])
            assert not after_pod_change(after, pod_info(name, node="n"), tolerating)


def test_nodes_matter_where_they_have_the_key() -> None:
    bare = decoded_node()
    in_a, in_b = decoded_node(labels={"zone": "a"}), decoded_node(labels={"zone": "b"})
    tainted = decoded_node(labels={"zone": "a"}, taints=["k:NoSchedule"])
    assert after_node_change(constraints_of, POD, None, in_a)
    assert after_node_change(constraints_of, POD, in_a, None)
    assert not after_node_change(constraints_of, POD, None, bare)
    assert after_node_change(constraints_of, POD, in_a, bare)
    assert after_node_change(constraints_of, POD, in_a, in_b)
    assert after_node_change(constraints_of, POD, in_a, tainted)
    assert not after_node_change(constraints_of, POD, in_a, in_a)
