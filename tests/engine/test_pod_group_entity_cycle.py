"""Groups that are entities of the queue, as in Kubernetes 1.37: a group is tried, makes room and is
held back as one."""

from collections import Counter
from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.records import RunRecord
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import PreEnqueuePlugin
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, node, pod, simulate

GATES = "GenericWorkload=true"
NO_VICTIMS = "pod group preemption: No preemption victims found for incoming preemptor"
NO_CLAIMS = "deallocation and deletion of ResourceClaims completed"


def group(
    least: int = 0, name: str = "red", version: str = "v1beta1", **spec: Any
) -> dict[str, Any]:
    policy = {"gang": {"minCount": least}} if least else {"basic": {}}
    return {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy, **spec},
    }


def member(
    name: str, cpu: str = "2", group: str = "red", spec: Any = None, **fields: Any
) -> dict[str, Any]:
    grouped = {"schedulingGroup": {"podGroupName": group}, **(spec or {})}
    return pod(name, cpu=cpu, spec=grouped, **fields)


def run(*objects: dict[str, Any], gates: str = GATES, nodes: int = 2) -> RunRecord:
    state = cluster(*(node(f"n{i}", cpu="2") for i in range(nodes)), *objects)
    return simulate(state, kubernetes_version="1.37", feature_gates=gates)


def messages(record: RunRecord) -> dict[str, str]:
    """The first attempt of each pod."""
    by_pod: dict[str, str] = {}
    for attempt in record.attempts:
        by_pod.setdefault(attempt.pod.partition("/")[2], attempt.error or attempt.message)
    return by_pod


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha3"])
def test_a_gang_that_fits_is_bound(version: str) -> None:
    record = run(group(2, version=version), member("p"), member("q"))
    assert dict(record.placements) == {"default/p": "n0", "default/q": "n1"}


def test_a_group_of_the_former_api_is_none() -> None:
    record = run(group(2, version="v1alpha2"), member("p"), member("q"))
    assert not record.attempts
    text = 'waiting for pods\'s pod group "red" to appear in scheduling queue'
    assert [status.message for status in record.gated.values()] == [text, text]


def test_a_pod_that_is_held_back_holds_its_group_back() -> None:
    gate = {"schedulingGates": [{"name": "quota"}]}
    record = run(group(1), member("p"), member("q", spec=gate))
    assert not record.attempts
    reason = "waiting for scheduling gates: [quota]"
    held = f"pod default/q of the pod group is held back: {reason}"
    assert [status.message for status in record.gated.values()] == [held, reason]


def test_a_group_is_as_old_as_its_oldest_pod() -> None:
    ages = {name: {"creationTimestamp": f"2026-01-01T00:00:0{i}Z"} for i, name in enumerate("pxq")}
    pods = member("q", metadata=ages["q"]), pod("x", metadata=ages["x"])
    record = run(group(1), *pods, member("p", metadata=ages["p"]))
    assert [attempt.pod[-1] for attempt in record.attempts] == ["p", "q", "x"]


class SecondThoughts(PreEnqueuePlugin):
    """Lets the pod `q` in once."""

    name = "SecondThoughts"

    def __init__(self, args: Any, handle: Handle) -> None:
        self.calls: Counter[str] = Counter()

    def pre_enqueue(self, pod: PodInfo) -> Status:
        self.calls[pod.name] += 1
        return Status.unschedulable("later") if self.calls["q"] > 1 else SUCCESS


def test_a_group_that_was_tried_is_held_back_with_a_pod_that_is_held_back_by_now() -> None:
    pods = member("p", cpu="9"), member("q", cpu="9")
    # That x is bound makes the group due again.
    objects = node("n0", cpu="2"), group(1), *pods, pod("x")
    record = simulate(
        cluster(*objects), plugins=[SecondThoughts], kubernetes_version="1.37", feature_gates=GATES
    )
    assert [attempt.pod[-1] for attempt in record.attempts] == ["p", "q", "x"]
    held = "pod default/q of the pod group is held back: later"
    assert {key[-1]: status.message for key, status in record.gated.items()} == {
        "p": held,
        "q": "later",
    }


def test_no_pod_is_tried_once_too_few_are_left() -> None:
    """The pods that fit hear of the group, what makes room for it included."""
    record = run(group(3), member("p"), member("q", cpu="9"), member("r"))
    least = "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"
    assert messages(record) == {
        "p": f"pod group is unschedulable, {least}, {NO_VICTIMS}",
        "q": "0/2 nodes are available: 2 Insufficient cpu.",
        "r": least,
    }


def test_pods_left_by_their_group_are_tried_before_other_pods() -> None:
    record = run(group(1), member("p"), member("q", cpu="9"), pod("x", cpu="2"))
    assert [attempt.pod[-1] for attempt in record.attempts[:4]] == ["p", "q", "q", "x"]


def test_all_pods_need_the_priority_of_their_group() -> None:
    record = run(group(1, priority=5), member("p", priority=5), member("q", priority=7))
    error = (
        "all pods in a single pod group should have the same priority as the pod group's priority,"
        " got 7 and 5"
    )
    assert messages(record) == {"p": error, "q": error}


def test_all_pods_need_one_preemption_policy() -> None:
    never = {"preemptionPolicy": "Never"}
    pods = member("p"), member("q", spec=never)
    error = "all pods in a single pod group should have the same preemption policy"
    assert messages(run(group(1), *pods))["q"] == f"{error}, got Never and PreemptLowerPriority"
    gates = f"{GATES},PodGroupPreemptionPolicy=true"
    record = run(group(1), *pods, gates=gates)
    what = "as the pod group's preemption policy, got Never and PreemptLowerPriority"
    assert messages(record)["p"] == f"{error} {what}"


@pytest.mark.parametrize(("policy", "evicted"), [("Never", 0), ("PreemptLowerPriority", 2)])
def test_the_policy_of_a_group_says_whether_it_preempts(policy: str, evicted: int) -> None:
    running = [pod(f"b{i}", cpu="2", node=f"n{i}") for i in range(2)]
    own = {"preemptionPolicy": policy}
    pods = [member(name, priority=5, spec=own) for name in ("p", "q")]
    gates = f"{GATES},PodGroupPreemptionPolicy=true"
    record = run(*running, group(2, priority=5, preemptionPolicy=policy), *pods, gates=gates)
    assert len(record.evicted) == evicted


def test_a_group_makes_room_for_all_its_pods_at_once() -> None:
    running = [pod(f"b{i}", cpu="2", node=f"n{i}") for i in range(3)]
    pods = [member(name, priority=5) for name in ("p", "q")]
    record = run(*running, group(2, priority=5), *pods, nodes=3)
    assert {(eviction.pod, eviction.preemptor) for eviction in record.evicted} == {
        ("default/b0", "default/p"),
        ("default/b1", "default/p"),
    }
    assert dict(record.placements) == {"default/p": "n0", "default/q": "n1"}
    success = "pod group preemption: found a placement for podgroup, preempting 2 victims"
    assert success not in messages(record)["p"]  # it has a message of its own: it fits nowhere
    assert messages(record)["p"].startswith("0/3 nodes are available: 3 Insufficient cpu.")


LEAVING = {"deletionTimestamp": "2026-01-02T00:00:00Z", "deletionGracePeriodSeconds": 30}


@pytest.mark.parametrize(
    ("leaving", "evicted"),
    [("uv", ()), ("u", ("default/u", "default/v")), ("", ("default/u", "default/v"))],
)
def test_victims_that_are_all_being_deleted_are_not_evicted_and_waited_for(
    leaving: str, evicted: tuple[str, ...]
) -> None:
    victims = [
        pod(name, cpu="2", node=on, metadata=LEAVING if name in leaving else {})
        for name, on in (("u", "n0"), ("v", "n1"))
    ]
    pods = [member(name, priority=10) for name in "pq"]
    record = run(group(2, priority=10), *victims, *pods)
    assert {each.pod for each in record.evicted} == set(evicted)
    assert list(record.pending) == ([] if evicted else ["default/p", "default/q"])
    # Either way the group is tried once more, because it waits for room.
    assert [attempt.pod for attempt in record.attempts] == ["default/p", "default/q"] * 2


def test_pods_of_a_group_that_is_disrupted_as_one_are_one_victim() -> None:
    """The same for a single pod that preempts; their priority is the group's."""
    running = [member(f"b{i}", node=f"n{i}", priority=1) for i in range(2)]
    whole: Any = {"disruptionMode": {"all": {}}, "priority": 1}
    record = run(*running, group(1, **whole), pod("x", cpu="2", priority=5))
    assert {eviction.pod for eviction in record.evicted} == {"default/b0", "default/b1"}
    single: Any = {"disruptionMode": {"single": {}}, "priority": 1}
    record = run(*running, group(1, **single), pod("x", cpu="2", priority=5))
    assert len(record.evicted) == 1
    stronger: Any = {"disruptionMode": {"all": {}}, "priority": 9}
    record = run(*running, group(1, **stronger), pod("x", cpu="2", priority=5))
    assert not record.evicted


def test_a_group_goes_to_one_domain() -> None:
    gates = f"{GATES},TopologyAwareWorkloadScheduling=true"
    key = {"topology": [{"key": "kubernetes.io/hostname"}]}
    labelled = [
        node(f"m{i}", cpu=cpu, labels={"kubernetes.io/hostname": f"m{i}"})
        for i, cpu in enumerate(("2", "4"))
    ]
    gang = group(2, schedulingConstraints=key)
    record = run(*labelled, gang, member("p"), member("q"), gates=gates, nodes=0)
    assert set(record.placements.values()) == {"m1"}
    record = run(*labelled[:1], gang, member("p"), member("q"), gates=gates, nodes=0)
    assert (
        "0/1 placements are available, first placement status: minCount (2)"
        in messages(record)["p"]
    )
