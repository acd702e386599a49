"""The cluster of a replay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ksched_cli.cluster.objects import Pod
from ksched_cli.framework.handle import Handle, Nominator
from ksched_cli.scenario.objects import load_objects, with_objects
from tests.replays import cluster_of, node, pod, state_of


def test_pods_keep_their_order_where_it_is_made_anew(tmp_path: Path) -> None:
    pods = [pod(name, "100m", nodeName="a") for name in "vwx"]
    cluster = cluster_of(state_of(tmp_path, node("a"), *pods))
    cluster.remove("default/v")  # the last takes its place
    state = with_objects(cluster.state_with([]), load_objects(cluster.objects, [node("b")], "test"))
    cluster.renew(state)
    assert cluster.snapshot.names == ("a", "b")
    assert [info.name for info in cluster.snapshot.pods[0]] == ["x", "w"]
    assert list(cluster.bound) == ["default/w", "default/x"]


def test_new_nodes_are_noticed_after_the_others_and_so_are_those_of_another_zone(
    tmp_path: Path,
) -> None:
    cluster = cluster_of(state_of(tmp_path, node("b"), node("d")))
    zone = {"topology.kubernetes.io/zone": "z"}
    added = load_objects(
        cluster.objects, [node("b", labels=zone), node("a"), node("d", "2")], "test"
    )
    cluster.renew(with_objects(cluster.objects, added))
    assert cluster.objects.noticed_nodes == ("d", "b", "a")


def test_pods_have_the_time_of_their_attempt_as_their_start(tmp_path: Path) -> None:
    failed = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
    states = [pod("x"), pod("y"), {**pod("z"), "status": failed}]
    cluster = cluster_of(state_of(tmp_path, node("a"), *states))
    started = list(cluster.engine.pending())
    for at in ("2026-01-01T00:00:02Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:03Z"):
        for info in started:
            cluster.start(info, at)
        assert [info.pod.status.start_time for info in started] == [at] * 3
        assert [len(info.pod.status.conditions) for info in started] == [0, 0, 1]


class Follower:
    """A service that notes the pods that come and leave."""

    def __init__(self, _: Handle) -> None:
        self.heard: list[str] = []

    def pod_came(self, pod: Pod) -> None:
        self.heard.append(f"{pod.name} came")

    def pod_left(self, pod: Pod) -> None:
        self.heard.append(f"{pod.name} left")


class SecondFollower(Follower):
    """A service that is made later."""


def test_services_hear_of_pods_from_when_they_are_there(tmp_path: Path) -> None:
    cluster = cluster_of(state_of(tmp_path, node("a"), pod("x"), pod("y")))
    first, second = cluster.engine.pending()
    early = cluster.engine.handle.service(Follower)
    cluster.note_arrival(first)
    late = cluster.engine.handle.service(SecondFollower)
    cluster.note_arrival(second)
    cluster.note_departure(first)
    assert early.heard == ["x came", "y came", "x left"]
    assert late.heard == ["y came", "x left"]


def test_a_victim_is_deleting_with_its_condition(tmp_path: Path) -> None:
    cluster = cluster_of(state_of(tmp_path, node("a"), pod("v", nodeName="a")))
    info = cluster.mark_deleting(cluster.bound["default/v"], "2026-01-01T00:00:00Z", is_victim=True)
    assert info.pod.deleting
    assert cluster.snapshot.pods[0] == [info]
    assert info.pod.status.conditions[0].reason == "PreemptionByScheduler"
    assert cluster.bound["default/v"] is info


def test_nominations_are_made_again_for_pods_that_are_there(tmp_path: Path) -> None:
    cluster = cluster_of(state_of(tmp_path, node("a"), pod("x"), pod("y")))
    before = Nominator()
    first, second = cluster.engine.pending()
    before.nominate(first, "a")
    before.nominate(second, "a")
    cluster.renominate(before, {second.uid: second})
    assert cluster.engine.nominator.on_node("a") == (second,)


def test_a_pod_on_no_node_of_the_cluster_is_nowhere(tmp_path: Path) -> None:
    cluster = cluster_of(state_of(tmp_path, node("a"), pod("x")))
    elsewhere = replace(cluster.objects, pods=())
    assert elsewhere.pods == ()
    assert cluster.remove("default/x") is None


def test_pods_of_a_node_that_is_not_there_yet_are_on_it_once_it_comes(tmp_path: Path) -> None:
    cluster = cluster_of(state_of(tmp_path, node("a"), pod("x", nodeName="b")))
    assert "default/x" not in cluster.bound
    current = cluster.state_with([])
    assert [stray.name for stray in current.pods] == ["x"]
    cluster.renew(with_objects(current, load_objects(cluster.objects, [node("b")], "test")))
    assert cluster.bound["default/x"].pod.node_name == "b"
    assert not cluster.strays


def test_a_port_that_two_pods_had_stays_free_where_it_is_made_anew(tmp_path: Path) -> None:
    ports = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    pods = [pod(name, nodeName="a", containers=ports) for name in "vw"]
    cluster = cluster_of(state_of(tmp_path, node("a"), *pods))
    cluster.remove("default/v")
    assert not cluster.snapshot.ports
    added = load_objects(cluster.objects, [node("b")], "test")
    cluster.renew(with_objects(cluster.state_with([]), added))
    assert not cluster.snapshot.ports


def test_a_pod_that_counts_on_no_node_is_added_to_none(tmp_path: Path) -> None:
    cluster = cluster_of(state_of(tmp_path, node("a")))
    manifests = [
        pod("lost", nodeName="b"),
        pod("finished", nodeName="a") | {"status": {"phase": "Succeeded"}},
    ]
    for each in load_objects(cluster.objects, manifests, "test").pods:
        assert not cluster.add(cluster.info(each))
    assert [*cluster.strays] == ["default/lost", "default/finished"]
    assert not cluster.snapshot.pods[0]
    assert not cluster.bound
