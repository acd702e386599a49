"""Which events may make room for a pod."""

from ksched_cli.plugins.node_resources.fit import after_node_change, after_pod_change
from tests.plugins.event_objects import decoded_node, pod_info

POD = pod_info(cpu="2")


def test_a_deleted_pod_makes_room_where_it_had_a_node() -> None:
    assert after_pod_change(POD, pod_info("other", node="n"), None)
    assert after_pod_change(POD, pod_info("other", status={"nominatedNodeName": "n"}), None)
    assert not after_pod_change(POD, pod_info("other"), None)


def test_a_running_pod_that_requests_less_of_what_the_pod_requests_makes_room() -> None:
    big, small = pod_info("o", node="n", cpu="2", memory="1Gi"), pod_info("o", node="n", cpu="1")
    assert after_pod_change(POD, big, small)
    assert not after_pod_change(pod_info(memory="0"), big, small)
    assert not after_pod_change(POD, small, big)
    assert not after_pod_change(POD, pod_info("o", cpu="2"), pod_info("o", cpu="1"))


def test_the_pod_itself_is_tried_when_it_requests_less() -> None:
    assert after_pod_change(POD, pod_info(cpu="3"), POD)


def test_a_new_node_must_be_large_enough_for_the_pod_alone() -> None:
    assert after_node_change(POD, None, decoded_node(cpu="2"))
    assert not after_node_change(POD, None, decoded_node(cpu="1900m"))
    assert not after_node_change(POD, None, decoded_node(pods=0))


def test_a_changed_node_must_have_more_of_what_the_pod_requests() -> None:
    before = decoded_node(cpu="4")
    assert after_node_change(POD, before, decoded_node(cpu="5"))
    assert after_node_change(POD, before, decoded_node(cpu="4", pods=111))
    assert not after_node_change(POD, before, decoded_node(cpu="4", memory="99Gi"))
