"""A cluster before and after a run."""

from collections.abc import Mapping

from ksched_cli.analysis.schedule import MAX_GROUPS, ClusterMap, cluster_map, grouping_labels
from ksched_cli.analysis.usage import node_usages
from ksched_cli.testing import Manifest, cluster, node, pod, simulation

ZONE = "topology.kubernetes.io/zone"


def mapped(*objects: Manifest) -> ClusterMap:
    run = simulation(cluster(*objects))
    before = node_usages(run.snapshot)
    return cluster_map(run, run.run(), before)


def labels_of(*objects: Manifest) -> list[Mapping[str, str]]:
    return [node.metadata.labels for node in simulation(cluster(*objects)).snapshot.nodes]


def test_every_pod_has_its_state_and_its_node() -> None:
    answer = mapped(
        node("a", cpu="4"),
        pod("runs", node="a", cpu="3", priority=10),
        pod("small", cpu="1"),
        pod("big", cpu="9"),
        pod("gated", gates=["wait"]),
    )
    pods = {p.pod.rpartition("/")[2]: p for p in answer.pods}
    states = {name: (p.state, p.node) for name, p in pods.items()}
    assert states == {
        "runs": ("running", "a"),
        "small": ("placed", "a"),
        "big": ("pending", ""),
        "gated": ("gated", ""),
    }
    assert "Insufficient cpu" in pods["big"].why
    assert pods["runs"].requests["cpu"] == 3000
    assert (answer.before[0].requested["cpu"], answer.after[0].requested["cpu"]) == (3000, 4000)


def test_an_evicted_pod_is_told_with_the_node_that_it_left() -> None:
    answer = mapped(
        node("a", cpu="4"), pod("lesser", node="a", cpu="4"), pod("urgent", cpu="4", priority=100)
    )
    lesser, urgent = answer.pods
    assert (lesser.state, lesser.node, lesser.why) == ("evicted", "a", "for default/urgent")
    assert (urgent.state, urgent.node) == ("placed", "a")


def test_labels_that_group_nodes_come_zones_first() -> None:
    labels = grouping_labels(
        labels_of(
            node("a", labels={ZONE: "x", "pool": "p", "kubernetes.io/hostname": "a"}),
            node("b", labels={ZONE: "y", "pool": "q", "kubernetes.io/hostname": "b"}),
            node("c", labels={"pool": "q", "kubernetes.io/hostname": "c"}),
        )
    )
    assert labels == {ZONE: ["x", "y", ""], "pool": ["p", "q", "q"]}


def test_a_label_of_many_values_groups_nothing() -> None:
    many = [node(f"n{i:03}", labels={"rack": f"r{i // 2}"}) for i in range(2 * MAX_GROUPS + 2)]
    assert grouping_labels(labels_of(*many)) == {}


def test_taints_and_cordons_are_told_as_kubectl_shows_them() -> None:
    answer = mapped(node("a", taints=["k=v:NoSchedule"], unschedulable=True))
    assert answer.taints == ["cordoned, k=v:NoSchedule"]
