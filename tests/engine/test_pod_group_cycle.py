"""Pods of a group are tried together: enough of them are placed, or none."""

from typing import Any

from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.framework.interface import PreFilterPlugin, ReservePlugin
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, node, pod, simulate

GATES = "GenericWorkload=true,GangScheduling=true"
NO_QUORUM = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled,"
    " one or more plugins asked to wait and no plugin rejected pod"
)


def gang(min_count: int, name: str = "red") -> dict[str, Any]:
    kind = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
    policy = {"gang": {"minCount": min_count}} if min_count else {"basic": {}}
    meta = {"name": name, "namespace": "default"}
    return {**kind, "metadata": meta, "spec": {"schedulingPolicy": policy}}


def member(name: str, cpu: str = "2", group: str = "red", **fields: Any) -> dict[str, Any]:
    return pod(name, cpu=cpu, spec={"schedulingGroup": {"podGroupName": group}}, **fields)


def run(*objects: dict[str, Any], plugins: Any = (), config: Any = None) -> RunRecord:
    nodes = [node("a", cpu="2"), node("b", cpu="2")]
    state = cluster(*nodes, *objects)
    return simulate(state, config, plugins, kubernetes_version="1.36", feature_gates=GATES)


def outlines(record: RunRecord) -> list[tuple[str, str, str]]:
    return [(a.pod.partition("/")[2], a.node, a.message[:47]) for a in record.attempts]


def test_a_gang_that_fits_is_bound_in_one_attempt() -> None:
    record = run(gang(2), pod("x", cpu="100m"), member("p"), member("q"))
    assert record.pending == ("default/p", "default/q")
    record = run(gang(2), member("p"), pod("x", cpu="2"), member("q"))
    assert dict(record.placements) == {"default/p": "a", "default/q": "b"}
    assert [attempt.pod for attempt in record.attempts[:2]] == ["default/p", "default/q"]


def test_of_a_gang_with_too_little_room_no_pod_is_bound() -> None:
    record = run(gang(3), member("p"), member("q"), member("r"), pod("x", cpu="2"))
    assert dict(record.placements) == {"default/x": "a"}
    first = {attempt.pod: attempt for attempt in record.attempts[:3]}
    assert first["default/p"].message == first["default/q"].message == NO_QUORUM
    assert first["default/r"].message.startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert not any(attempt.node for attempt in first.values())


def test_pods_beyond_the_least_number_are_placed_as_far_as_they_fit() -> None:
    record = run(gang(2), member("p"), member("q"), member("r"))
    assert dict(record.placements) == {"default/p": "a", "default/q": "b"}
    assert record.pending == ("default/r",)
    permits = [attempt.permit for attempt in record.attempts[:2]]
    assert [permit.code.text if permit else "" for permit in permits] == ["Wait", ""]


def test_a_group_without_a_least_number_places_what_fits() -> None:
    record = run(gang(0), member("p", cpu="9"), member("q"))
    assert dict(record.placements) == {"default/q": "a"}


def test_pods_of_higher_priority_are_tried_first() -> None:
    record = run(gang(1), member("p"), member("q", priority=5))
    assert [attempt.pod for attempt in record.attempts] == ["default/q", "default/p"]


def test_a_group_is_tried_again_when_room_was_made_for_it() -> None:
    low = [pod(f"low-{name}", cpu="2", node=name, priority=-1) for name in "ab"]
    record = run(gang(2), *low, member("p"), member("q"))
    assert dict(record.placements) == {"default/p": "a", "default/q": "b"}
    assert [eviction.preemptor for eviction in record.evicted] == ["default/p", "default/q"]
    assert len(record.attempts) == 4


def test_victims_leave_even_where_the_group_does_not_fit() -> None:
    low = pod("low", cpu="2", node="a", priority=-1)
    record = run(gang(2), low, pod("x", cpu="2", node="b"), member("p"), member("q"))
    assert [eviction.pod for eviction in record.evicted] == ["default/low"]
    assert not record.placements
    assert record.attempts[0].message == NO_QUORUM


class Reserved(ReservePlugin):
    """Refuses a pod."""

    name = "Reserved"

    def reserve(self, state: Any, pod: Any, node: Any) -> Status:
        return Status.unschedulable("taken") if pod.name == "q" else SUCCESS

    def unreserve(self, state: Any, pod: Any, node: Any) -> None:
        pass


def test_a_pod_that_reserve_refuses_does_not_fit() -> None:
    record = run(gang(1), member("p", cpu="1"), member("q", cpu="1"), plugins=[Reserved])
    by_pod: dict[str, Attempt] = {attempt.pod: attempt for attempt in record.attempts[:2]}
    assert by_pod["default/p"].node == "a"
    assert by_pod["default/q"].message == "0/1 nodes are available: 1 taken."


class Broken(PreFilterPlugin):
    """Fails for a pod."""

    name = "Broken"

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        return None, Status.error("no idea") if pod.name == "q" else SUCCESS


def test_an_error_fails_all_pods_of_the_group() -> None:
    pods = [member(name, cpu="100m") for name in "pqr"]
    errors = [a.error for a in run(gang(1), *pods, plugins=[Broken]).attempts]
    own = 'running PreFilter plugin "Broken": no idea'
    other = f"failed to schedule other pod from a pod group: {own}"
    assert errors == [other, own, other]


def test_pods_of_a_group_have_one_scheduler() -> None:
    profiles = {"profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}]}
    record = run(gang(2), member("p"), member("q", profile="other"), config=profiles)
    assert {attempt.error for attempt in record.attempts} == {
        "all pods in a single pod group should have the same .spec.schedulerName set,"
        ' got: "default-scheduler" and "other"'
    }


def test_a_group_is_tried_once_in_a_pass() -> None:
    record = run(gang(2), member("p"), pod("x", cpu="2"), member("q"), pod("y", cpu="100m"))
    assert [name for name, *_ in outlines(record)].count("p") == 1


def avoiding(name: str, app: str, avoids: str) -> dict[str, Any]:
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": avoids}},
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"schedulingGroup": {"podGroupName": "red"}, "affinity": affinity}
    return pod(name, cpu="100m", labels={"app": app}, spec=spec)


def test_what_a_pod_of_the_group_avoids_is_seen_only_where_a_running_pod_avoids_something() -> None:
    """kube-scheduler does not renew its lists of nodes with anti-affinity within a group."""
    pods = (avoiding("p", "x", avoids="y"), member("q", cpu="100m", labels={"app": "y"}))
    nodes = [node("a", labels={"kubernetes.io/hostname": "a"})]
    record = simulate(
        cluster(*nodes, gang(2), *pods), kubernetes_version="1.36", feature_gates=GATES
    )
    assert dict(record.placements) == {"default/p": "a", "default/q": "a"}
    other = avoiding("b", "z", avoids="nothing")
    del other["spec"]["schedulingGroup"]
    other["spec"]["nodeName"] = "a"
    record = simulate(
        cluster(*nodes, gang(2), other, *pods), kubernetes_version="1.36", feature_gates=GATES
    )
    assert record.pending == ("default/p", "default/q")


def test_victims_of_two_pods_of_a_group_leave_once() -> None:
    low = pod("low", cpu="2", node="a", priority=-1)
    record = run(gang(2), low, pod("x", cpu="2", node="b"), *(member(n, cpu="1") for n in "pq"))
    assert [eviction.pod for eviction in record.evicted] == ["default/low"]
    assert dict(record.placements) == {"default/p": "a", "default/q": "a"}
