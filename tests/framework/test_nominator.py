"""Which pods are nominated to which node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Nominator
from ksched_cli.testing import cluster, find, node, pod, simulation


@pytest.fixture
def pods() -> tuple[PodInfo, PodInfo]:
    run = simulation(cluster(node("a"), pod("p"), pod("q")))
    return find(run, "p"), find(run, "q")


def test_a_pod_is_nominated_to_one_node_at_a_time(pods: tuple[PodInfo, PodInfo]) -> None:
    nominator = Nominator()
    nominator.nominate(pods[0], "a")
    nominator.nominate(pods[0], "b")
    assert nominator.node_of(pods[0]) == "b"
    assert nominator.on_node("a") == ()
    assert list(nominator.nodes()) == ["b"]


def test_pods_come_in_the_order_of_their_nominations(
    pods: tuple[PodInfo, PodInfo],
) -> None:
    nominator = Nominator()
    for info in pods:
        nominator.nominate(info, "a")
    nominator.nominate(pods[0], "a")
    assert [info.name for info in nominator.on_node("a")] == ["q", "p"]


def test_a_nomination_can_be_taken_back_more_than_once(pods: tuple[PodInfo, PodInfo]) -> None:
    nominator = Nominator()
    nominator.nominate(pods[0], "a")
    nominator.clear(pods[0])
    nominator.clear(pods[0])
    assert not nominator
    assert nominator.node_of(pods[0]) == ""


STEPS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "a", "b"])))
PODS = tuple(simulation(cluster(*(pod(f"p{i}") for i in range(4)))).pending())


@given(STEPS)
def test_every_nomination_is_listed_under_its_node_in_order(steps: list[tuple[int, str]]) -> None:
    """A step nominates a pod to a node, or takes its nomination back."""
    nominator, nominations = Nominator(), dict[str, str]()
    for index, name in steps:
        info, version = PODS[index], nominator.version
        was_nominated = nominations.pop(info.name, "")
        if name:
            nominator.nominate(info, name)
            nominations[info.name] = name
        else:
            nominator.clear(info)
        assert (nominator.version > version) == bool(name or was_nominated)
        assert bool(nominator) == bool(nominations)
        assert set(nominator.nodes()) == set(nominations.values())
        for node_name in "ab":
            assert [pod.name for pod in nominator.on_node(node_name)] == [
                pod for pod, node in nominations.items() if node == node_name
            ]
        assert [nominator.node_of(info) for info in PODS] == [
            nominations.get(info.name, "") for info in PODS
        ]
