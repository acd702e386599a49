"""Which events may make room for a pod."""

from functools import partial
from typing import Any

import pytest

from ksched_cli.cluster.objects import DeviceClass
from ksched_cli.framework import cluster_events as events
from ksched_cli.plugins.node_resources import fit
from ksched_cli.plugins.node_resources.fit import after_class_change, after_pod_change
from ksched_cli.testing import cluster, node, pod, simulation
from tests.narrowing import plugin_of
from tests.plugins.event_objects import decoded_node, pod_info

POD = pod_info(cpu="2")
after_node_change = partial(fit.after_node_change, lambda pod: ())


def device_class(name: str, **spec: Any) -> DeviceClass:
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
    state = cluster({**kind, "metadata": {"name": name}, "spec": spec})
    return state.device_classes[name]


def test_only_changes_that_may_make_room_are_listened_to() -> None:
    run = simulation(cluster(node("a")))
    plugin = plugin_of(run, fit.NodeResourcesFit)
    registered = {event.resource: event.action for event, _ in plugin.events_to_register()}
    assert {action.name for action in registered[events.NODE]} == {"ADD", "UPDATE_NODE_ALLOCATABLE"}
    assert {action.name for action in registered[events.POD]} == {"DELETE", "UPDATE_POD_SCALE_DOWN"}


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


def test_a_node_without_the_resource_fits_where_devices_may_stand_for_it() -> None:
    requests_gpu = pod_info(requests={"example.com/gpu": "1"})
    delegating = partial(fit.after_node_change, lambda pod: ("example.com/gpu",))
    assert not after_node_change(requests_gpu, None, decoded_node())
    assert delegating(requests_gpu, None, decoded_node())
    assert delegating(requests_gpu, decoded_node(), decoded_node())


def test_a_device_class_matters_when_it_begins_to_back_a_requested_resource() -> None:
    requests_gpu = pod_info(requests={"example.com/gpu": "1"})
    requests_class = pod_info(requests={"deviceclass.resource.kubernetes.io/gpu": "1"})
    plain, backing = (
        device_class("gpu"),
        device_class("gpu", extendedResourceName="example.com/gpu"),
    )
    assert after_class_change(requests_gpu, None, backing)
    assert after_class_change(requests_gpu, plain, backing)
    assert not after_class_change(requests_gpu, backing, backing)
    assert not after_class_change(requests_gpu, None, plain)
    assert after_class_change(requests_class, None, plain)
    assert not after_class_change(requests_class, plain, backing)


@pytest.mark.parametrize(
    ("nominated", "before", "after", "expected"),
    [
        ("n", "4", "1", True),
        ("other", "4", "1", False),
        ("n", "1", "1500m", False),
    ],
)
def test_a_pod_is_tried_again_when_its_nominated_node_shrinks(
    nominated: str, before: str, after: str, *, expected: bool
) -> None:
    old, new = decoded_node(cpu=before), decoded_node(cpu=after)
    node = new.name if nominated == "n" else nominated
    hint = partial(fit.after_nominated_change, lambda pod: (), lambda pod: node)
    assert hint(POD, old, new) is expected
    assert not after_node_change(POD, old, new)


@pytest.mark.parametrize(("minor", "expected"), [("1.37", False), ("1.38", True)])
def test_that_is_so_from_1_38_on(minor: str, *, expected: bool) -> None:
    run = simulation(cluster(node("n", cpu="4"), pod("p", cpu="2")), kubernetes_version=minor)
    framework = run.frameworks["default-scheduler"]
    plugin = framework.plugin("NodeResourcesFit")
    assert isinstance(plugin, fit.NodeResourcesFit)
    (hint,) = (
        each[1]
        for each in plugin.events_to_register()
        if isinstance(each, tuple) and each[0].resource == events.NODE
    )
    (nominated,) = run.pending()
    framework.handle.nominator.nominate(nominated, "n")
    assert hint is not None
    assert hint(nominated, decoded_node(cpu="4"), decoded_node(cpu="1")) is expected
