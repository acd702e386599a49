"""What plugins of one attempt hand on to each other, and who was promised which node."""

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.status import PluginError
from ksched_cli.testing import cluster, find, node, pod, simulation


class Counter:
    def __init__(self, count: int = 0) -> None:
        self.count = count

    def clone(self) -> "Counter":
        return Counter(self.count)


def test_what_was_not_written_cannot_be_read() -> None:
    with pytest.raises(PluginError, match='reading "key" from cycleState: not found'):
        CycleState().read("key")


def test_a_clone_has_its_own_copy_of_what_can_be_cloned_and_shares_the_rest() -> None:
    state = CycleState()
    state.write("counter", Counter(1))
    state.write("list", [1])
    twin = state.clone()
    twin.read("counter").count += 1
    twin.write("more", 1)
    assert state.read("counter").count == 1
    assert twin.read("list") is state.read("list")
    assert "more" not in state.data


@pytest.fixture
def pods() -> tuple[PodInfo, PodInfo]:
    run = simulation(cluster(node("a"), pod("p"), pod("q")))
    return find(run, "p"), find(run, "q")


def test_a_pod_is_promised_one_node_at_a_time(pods: tuple[PodInfo, PodInfo]) -> None:
    nominator = Nominator()
    nominator.nominate(pods[0], "a")
    nominator.nominate(pods[0], "b")
    assert nominator.node_of(pods[0]) == "b"
    assert nominator.on_node("a") == ()
    assert list(nominator.nodes()) == ["b"]


def test_pods_promised_a_node_come_in_the_order_of_their_promises(
    pods: tuple[PodInfo, PodInfo],
) -> None:
    nominator = Nominator()
    for info in pods:
        nominator.nominate(info, "a")
    nominator.nominate(pods[0], "a")
    assert [info.name for info in nominator.on_node("a")] == ["q", "p"]


def test_a_promise_can_be_taken_back_more_than_once(pods: tuple[PodInfo, PodInfo]) -> None:
    nominator = Nominator()
    nominator.nominate(pods[0], "a")
    nominator.clear(pods[0])
    nominator.clear(pods[0])
    assert not nominator
    assert nominator.node_of(pods[0]) == ""
