"""Which events may let a pod be where its affinities want it."""

from typing import Any

from ksched_cli.cluster.objects import Namespace, ObjectMeta
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import QueueingHint
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import inter_pod_affinity as plugin
from tests.plugins.event_objects import decoded_node, pod_info
from tests.plugins.inter_pod_affinity.manifests import affinity

TERM: dict[str, Any] = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
AFFINE = pod_info(affinity=affinity(affine=[TERM]))
AVOIDING = pod_info(affinity=affinity(anti_affine=[TERM]))


def hint_of(minor: str, **namespaces: Namespace) -> QueueingHint:
    """What the plugin of a minor says of events of pods."""
    rules = release_of(minor).rules
    hint = next(hint for event, hint in plugin.registrations(rules, namespaces))
    assert hint is not None
    return hint


after_pod_change = hint_of("1.34")
after_pod_change_1_36 = hint_of("1.36")


def other(app: str, **fields: Any) -> PodInfo:
    return pod_info("other", labels={"app": app}, **{"node": "n", **fields})


def test_only_changes_that_may_matter_are_listened_to() -> None:
    pods, nodes = (event for event, _ in plugin.registrations(release_of("1.36").rules, {}))
    assert {action.name for action in pods.action} == {"ADD", "DELETE", "UPDATE_POD_LABEL"}
    assert {action.name for action in nodes.action} == {"ADD", "UPDATE_NODE_LABEL"}


def test_a_pod_with_affinity_is_tried_when_a_matching_pod_comes() -> None:
    assert after_pod_change(AFFINE, None, other("x"))
    assert not after_pod_change(AFFINE, None, other("y"))
    assert not after_pod_change(AFFINE, None, other("x", node=""))
    assert not after_pod_change(AFFINE, other("x"), None)


def test_a_pod_with_anti_affinity_is_tried_when_a_matching_pod_goes() -> None:
    assert after_pod_change(AVOIDING, other("x"), None)
    assert not after_pod_change(AVOIDING, other("y"), None)
    assert not after_pod_change(AVOIDING, None, other("x"))


def test_labels_that_change_count_where_they_begin_or_cease_to_match() -> None:
    assert after_pod_change(AFFINE, other("y"), other("x"))
    assert not after_pod_change(AFFINE, other("x"), other("y"))
    assert after_pod_change(AVOIDING, other("x"), other("y"))
    assert not after_pod_change(AVOIDING, other("y"), other("x"))


def test_nominated_pods_and_anti_affinity_of_others_count_in_later_minors() -> None:
    nominated = other("x", node="", status={"nominatedNodeName": "n"})
    assert not after_pod_change(AVOIDING, nominated, None)
    assert after_pod_change_1_36(AVOIDING, nominated, None)
    avoids_x = other("y", affinity=affinity(anti_affine=[TERM]))
    plain = pod_info(labels={"app": "x"})
    assert not after_pod_change(plain, avoids_x, None)
    assert after_pod_change_1_36(plain, avoids_x, None)
    assert after_pod_change_1_36(plain, pod_info(), plain)
    for name in ("a", "z"):
        moved = pod_info(name, labels={"app": "x"}, node="n")
        assert not after_pod_change_1_36(plain, other("y"), moved)


def test_from_1_37_on_one_term_of_the_anti_affinity_is_enough() -> None:
    term = TERM | {"labelSelector": {"matchLabels": {"tier": "db"}}}
    avoiding = pod_info(affinity=affinity(anti_affine=[TERM, term]))
    assert not after_pod_change_1_36(avoiding, other("x"), None)
    assert hint_of("1.37")(avoiding, other("x"), None)
    assert hint_of("1.37")(avoiding, other("x"), other("y"))
    assert not hint_of("1.37")(avoiding, other("y"), None)


def test_nodes_count_by_the_domain_they_come_into_or_leave() -> None:
    bare = decoded_node()
    in_a, in_b = decoded_node(labels={"zone": "a"}), decoded_node(labels={"zone": "b"})
    assert plugin.after_node_change(AFFINE, None, in_a)
    assert not plugin.after_node_change(AFFINE, None, bare)
    assert plugin.after_node_change(AFFINE, bare, in_a)
    assert plugin.after_node_change(AFFINE, in_a, in_b)
    assert not plugin.after_node_change(AFFINE, in_a, bare)
    assert not plugin.after_node_change(AFFINE, in_a, decoded_node(labels={"zone": "a"}))
    assert plugin.after_node_change(AVOIDING, None, bare)
    assert plugin.after_node_change(AVOIDING, in_a, bare)
    assert not plugin.after_node_change(AVOIDING, bare, in_a)
    assert not plugin.after_node_change(AVOIDING, in_a, in_a)


def test_from_1_38_on_the_labels_of_namespaces_count() -> None:
    selector = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
    affine, avoiding = affinity(affine=[TERM | selector]), affinity(anti_affine=[TERM | selector])
    default = Namespace(metadata=ObjectMeta(name="default", labels={"team": "a"}))
    with_labels, without = hint_of("1.38", default=default), hint_of("1.38")
    assert not hint_of("1.37", default=default)(pod_info(affinity=affine), None, other("x"))
    assert with_labels(pod_info(affinity=affine), None, other("x"))
    assert with_labels(pod_info(affinity=avoiding), other("x"), None)
    assert not with_labels(pod_info(affinity=affine), None, other("y"))
    assert without(pod_info(affinity=affine), None, other("x"))
    assert not without(pod_info(affinity=affine), None, other("y"))
