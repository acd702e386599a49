"""cordon, uncordon, taint, add-nodes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.change import ChangeError
from ksched_cli.testing import cluster, node, pod, simulate
from tests.scenario.build import changed

TAINTED = node("n1", taints=["a=b:NoSchedule", "a:NoExecute", "c:NoSchedule"])


def taints(state: ClusterState, name: str = "n1") -> list[str]:
    taken = next(node for node in state.nodes if node.name == name).spec.taints
    return [f"{t.key}={t.value}:{t.effect}" for t in taken]


def test_a_cordoned_node_takes_no_pod_and_an_uncordoned_one_does() -> None:
    state = cluster(node("n1"), pod("p"))
    cordoned, did = changed(state, "cordon n1")
    assert did == ["n1: cordoned"]
    assert not simulate(cordoned).placements
    assert taints(cordoned) == ["node.kubernetes.io/unschedulable=:NoSchedule"]
    assert not state.nodes[0].spec.unschedulable
    again, did = changed(cordoned, "cordon n1", "kubectl uncordon node/n1", "uncordon n1")
    assert did == ["n1: already cordoned", "n1: uncordoned", "n1: already uncordoned"]
    assert simulate(again).placements == {"default/p": "n1"}
    assert taints(again) == []


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("taint nodes n1 x=y:NoSchedule", ["x=y:NoSchedule", "a=b:NoSchedule", "a=:NoExecute"]),
        (
            "taint node n1 a=z:NoSchedule --overwrite",
            ["a=z:NoSchedule", "a=:NoExecute", "c=:NoSchedule"],
        ),
        ("taint nodes n1 a-", ["c=:NoSchedule"]),
        ("taint nodes n1 a:NoExecute-", ["a=b:NoSchedule", "c=:NoSchedule"]),
        ("taint nodes --all x:PreferNoSchedule c-", ["x=:PreferNoSchedule", "a=b:NoSchedule"]),
    ],
)
def test_taints_are_added_replaced_and_removed(line: str, left: list[str]) -> None:
    state, _ = changed(cluster(TAINTED), line)
    assert taints(state)[: len(left)] == left
    raw = msgspec.json.decode(bytes(state.nodes[0].raw))["spec"]["taints"]
    assert [taint["key"] for taint in raw] == [text.split("=")[0] for text in taints(state)]


def test_new_nodes_are_copies_with_nothing_on_them() -> None:
    model = node(
        "m", cpu=8, labels={"kubernetes.io/hostname": "m", "zone": "a"}, taints=["x:NoSchedule"]
    )
    state, did = changed(
        cluster(model, pod("p", node="m")), "cordon m", "add-nodes new --like m --count=2"
    )
    assert did == ["m: cordoned", "new-1: added (like m)", "new-2: added (like m)"]
    new = state.nodes[2]
    assert (new.name, new.metadata.labels) == (
        "new-2",
        {"kubernetes.io/hostname": "new-2", "zone": "a"},
    )
    assert taints(state, "new-2") == ["x=:NoSchedule"]
    assert new.status == state.nodes[0].status
    assert msgspec.json.decode(bytes(new.raw))["metadata"]["name"] == "new-2"


ZONE = "topology.kubernetes.io/zone"


def test_new_nodes_have_other_labels_resources_and_taints_than_their_model() -> None:
    model = node("m", cpu=8, labels={ZONE: "b", "disk": "ssd"}, taints=["x:NoSchedule"])
    line = f"add-nodes new --like m --label {ZONE}=c --label pool=spot --cpu 16"
    state, _ = changed(cluster(model), f"{line} --resource example.com/gpu=4 --taint y=z:NoExecute")
    new, old = state.nodes[1].status.allocatable, state.nodes[0].status.allocatable
    assert state.nodes[1].metadata.labels == {ZONE: "c", "disk": "ssd", "pool": "spot"}
    assert (str(new["cpu"]), str(new["example.com/gpu"])) == ("16", "4")
    assert new["memory"] == old["memory"]
    assert taints(state, "new-1") == ["x=:NoSchedule", "y=z:NoExecute"]


def test_new_nodes_without_a_model_have_what_is_given() -> None:
    line = "add-nodes new --count 2 --cpu 4 --memory 8Gi --label disk=ssd"
    state, did = changed(cluster(pod("p", cpu=4)), line)
    assert did == ["new-1: added", "new-2: added"]
    new = state.nodes[1]
    assert new.metadata.labels == {"kubernetes.io/hostname": "new-2", "disk": "ssd"}
    amounts = {name: str(amount) for name, amount in new.status.allocatable.items()}
    assert amounts == {"cpu": "4", "memory": "8Gi", "pods": "110"}
    assert simulate(state).placements == {"default/p": "new-1"}


def test_the_copied_zone_is_warned_of() -> None:
    state = cluster(node("b0", labels={ZONE: "b"}))
    after, _ = changed(state, "add-nodes c --like b0")
    assert after.warnings[0] == (
        f"add-nodes c --like b0: the new nodes have b0's label {ZONE}=b; "
        f"--label {ZONE}=VALUE gives them another"
    )
    after, _ = changed(state, f"add-nodes c --like b0 --label {ZONE}=c")
    assert not any("label" in line for line in after.warnings)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cordon n2", 'no node "n2" in the state (1 node); did you mean n1?'),
        ("cordon", "expected the name of a node"),
        ("taint nodes n1", "expected a taint: KEY=VALUE:EFFECT, or KEY- to remove one"),
        ("taint nodes n1 x=y:Never", '"x=y:Never" is not a taint: expected KEY=VALUE:EFFECT'),
        ("taint nodes n1 x-", 'node n1 has no taint "x"'),
        ("add-nodes n --like n1", 'node "n-1" already exists'),
        ("add-nodes n --like n1 --count=x", '--count is "x"; it takes a whole number'),
        ("add-nodes n", "with --like or resources"),
        ("add-nodes n --cpu many", '"many" is not an amount of cpu'),
        ("add-nodes n --cpu 4 --label zone", '--label is "zone"; it takes KEY=VALUE'),
        ("add-nodes n --cpu 4 --taint gpu:Never", '"gpu:Never" is not a taint'),
    ],
)
def test_what_cannot_be_done_is_an_error_that_says_what_to_write(line: str, message: str) -> None:
    with pytest.raises(ChangeError) as error:
        changed(cluster(node("n1"), node("n-1")) if "n-1" in message else cluster(node("n1")), line)
    assert message in str(error.value)
    assert line in str(error.value)


@given(st.lists(st.sampled_from(["n1", "n2", "n3"]), min_size=1, unique=True))
def test_uncordon_undoes_cordon(names: list[str]) -> None:
    state = cluster(node("n1", taints=["x:NoSchedule"]), node("n2"), node("n3", labels={"a": "b"}))
    after, _ = changed(state, f"cordon {' '.join(names)}", f"uncordon {' '.join(names)}")
    assert [n.spec for n in after.nodes] == [n.spec for n in state.nodes]
