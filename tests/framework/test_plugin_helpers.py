"""What the handle, pods and nodes tell plugins besides what every plugin needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from ksched_cli.api import (
    SKIP,
    SUCCESS,
    Action,
    ClusterEvent,
    Code,
    CycleState,
    FilterPlugin,
    NodeInfo,
    Nodes,
    PodInfo,
    PreBindPlugin,
    PreFilterPlugin,
    PreFilterResult,
    QueuedPod,
    QueueSortPlugin,
    Run,
    SelectorError,
    Status,
    affinity_terms,
    label_selector,
)
from ksched_cli.testing import cluster, find, node, pod, run_cycle, simulate, simulation


class Looks(PreFilterPlugin):
    """Notes what a plugin can see."""

    name = "Looks"
    seen: ClassVar[dict[str, Any]] = {}

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        first = next(iter(nodes))
        self.seen.update(
            {
                "profile": self.handle.profile_name,
                "ports": {(port.ip, port.protocol, port.port) for port in first.used_ports},
                "own ports": [port.port for port in pod.host_ports],
                "nonzero": [first.nonzero_requested(name) for name in ("cpu", "memory")],
                "selected": nodes.selected_by(pod).tolist(),
                "claims": [*self.handle.resource_claims],
                "extenders": [extender.name for extender in self.handle.extenders],
            }
        )
        return None, SUCCESS


def test_a_plugin_sees_its_profile_ports_requests_and_selected_nodes() -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "default"},
        "spec": {"devices": {}},
    }
    state = cluster(
        node("a", labels={"disk": "ssd"}),
        node("b"),
        claim,
        pod("running", node="a", ports=[80]),
        pod("p", ports=[81], node_selector={"disk": "ssd"}, profile="special"),
    )
    enabled = {"multiPoint": {"enabled": [{"name": "Looks"}]}}
    config = {
        "profiles": [{"schedulerName": "special", "plugins": enabled}],
        "extenders": [{"urlPrefix": "http://127.0.0.1:9", "weight": 1}],
    }
    run_cycle(state, config, [Looks], pod="p")
    assert Looks.seen == {
        "profile": "special",
        "ports": {("0.0.0.0", "TCP", 80)},
        "own ports": [81],
        "nonzero": [100, 200 * 1024 * 1024],
        "selected": [True, False],
        "claims": [("default", "gpu")],
        "extenders": ["http://127.0.0.1:9"],
    }


GPU = {"example.com/gpu": "1"}
HALF = {"cpu": "500m", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ([{}], "BestEffort"),
        (
            [{"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}],
            "BestEffort",
        ),
        ([{"requests": HALF}], "Burstable"),
        ([{"limits": HALF}], "Guaranteed"),
        ([{"requests": HALF, "limits": {**HALF, "cpu": "0.5"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1"}}], "Burstable"),
        ([{"limits": HALF}, {}], "Burstable"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
    ],
)
def test_a_pods_qos_class_is_that_of_its_containers(resources: Any, qos: str) -> None:
    containers = [
        {"name": f"c{i}", "image": "i", "resources": each} for i, each in enumerate(resources)
    ]
    run = simulation(cluster(pod("p", spec={"containers": containers})))
    assert find(run).qos_class == qos


def test_the_qos_class_of_a_pod_with_requests_as_a_whole_is_theirs() -> None:
    run = simulation(cluster(pod("p", spec={"resources": {"requests": HALF, "limits": HALF}})))
    assert find(run).qos_class == "Guaranteed"


def test_a_label_selector_of_a_manifest_matches_labels() -> None:
    selector = label_selector(
        {
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
        }
    )
    assert selector.matches({"app": "web", "tier": "b", "more": "1"})
    assert not selector.matches({"app": "web", "tier": "c"})
    assert label_selector({}).matches({})
    assert not label_selector(None).matches({})
    with pytest.raises(SelectorError, match='"Near" is not a valid label selector operator'):
        label_selector({"matchExpressions": [{"key": "x", "operator": "Near"}]})


class FewestAttempts(QueueSortPlugin):
    """Those that were tried less often first."""

    name = "FewestAttempts"
    attempts: ClassVar[dict[str, int]] = {}

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        self.attempts.update({each.pod.name: each.attempts for each in (first, second)})
        return first.attempts < second.attempts


class Late(FilterPlugin):
    """Rejects one pod, until another is there."""

    name = "Late"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        is_early = pod.name == "late" and not node.pods
        return Status.unschedulable("too early") if is_early else SUCCESS


def test_a_queue_sort_knows_how_often_a_pod_was_tried() -> None:
    FewestAttempts.attempts.clear()
    state = cluster(node("n", cpu=3), pod("late", cpu=1), pod("b", cpu=1), pod("large", cpu=9))
    record = simulate(state, plugins=[FewestAttempts, Late])
    assert set(record.placements) == {"default/late", "default/b"}
    assert FewestAttempts.attempts["late"] == 1
    timeline = [{"at": 2, "put": node("m", cpu=9)}, {"at": 3, "put": node("o", cpu=9)}]
    FewestAttempts.attempts.clear()
    pods = [pod("large", cpu=9), pod("other", cpu=9)]
    Run(state=[node("n", cpu=3), *pods], plugins=[FewestAttempts]).replay(timeline)
    assert set(FewestAttempts.attempts) == {"large", "other"}
    assert max(FewestAttempts.attempts.values()) >= 1


DOOR = "Door.example.com"


class Narrowing(FilterPlugin):
    """Waits for a pod's door; the event of one concerns the pod of its name alone."""

    name = "Narrowing"
    reads = (DOOR,)
    hinted: ClassVar[list[str]] = []

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        doors = {door["metadata"]["name"] for door in self.handle.cluster.others.get(DOOR, ())}
        return SUCCESS if pod.name in doors else Status.unschedulable("no door")

    def events_to_register(self) -> Any:
        return ((ClusterEvent(DOOR, Action.ADD), self.hint),)

    def hint(self, pod: PodInfo, old: Any, new: Any) -> bool:
        self.hinted.append(pod.name)
        return True

    def concerned_pods(self, event: ClusterEvent, old: Any, new: Any) -> Callable[[PodInfo], bool]:
        return lambda pod: pod.name == new["metadata"]["name"]


@pytest.mark.parametrize(("gate", "hinted"), [("true", ["a"]), ("false", ["a", "b"])])
def test_a_plugin_narrows_the_pods_that_its_hints_are_asked_about(
    gate: str, hinted: list[str]
) -> None:
    Narrowing.hinted.clear()
    door = {"apiVersion": "example.com/v1", "kind": "Door", "metadata": {"name": "a"}}
    run = Run(
        state=[node("n"), *(pod(name, labels={"app": name}) for name in "ab")],
        plugins=[Narrowing],
        kubernetes_version="1.38",
        feature_gates=f"SchedulerPreQueueingHints={gate}",
    )
    pods = run.replay([{"at": 5, "put": door}]).to_frame().set_index("pod")
    assert pods.loc["default/a", "node"] == "n"
    assert sorted(Narrowing.hinted) == hinted


class Flies(PreBindPlugin):
    name = "Flies"
    answer: ClassVar[Status] = SUCCESS
    bound: ClassVar[list[str]] = []

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return self.answer

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        self.bound.append(pod.name)
        return SUCCESS


@pytest.mark.parametrize(
    ("answer", "minor", "bound", "error"),
    [
        (SUCCESS, "1.37", ["p"], ""),
        (SKIP, "1.37", [], ""),
        (SKIP, "1.34", ["p"], ""),  # the gate is off
        (Status.error("no"), "1.37", [], 'running PreBindPreFlight "Flies": no'),
        (
            Status(Code.UNSCHEDULABLE),
            "1.37",
            [],
            'PreBindPreFlight Flies returned "Unschedulable", which is unsupported. It is supposed'
            " to return Success, Skip, or Error status",
        ),
    ],
)
def test_a_plugin_skips_its_pre_bind_in_pre_flight(
    answer: Status, minor: str, bound: list[str], error: str
) -> None:
    Flies.answer = answer
    Flies.bound.clear()
    record = simulate(cluster(node("n"), pod("p")), plugins=[Flies], kubernetes_version=minor)
    assert Flies.bound == bound
    assert record.attempts[0].error == error


def test_a_plugin_reads_the_terms_of_a_pods_affinity() -> None:
    def term(labels: dict[str, str], **more: Any) -> dict[str, Any]:
        return {"topologyKey": "zone", "labelSelector": {"matchLabels": labels}, **more}

    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    elsewhere = term({"app": "db"}, namespaceSelector={"matchLabels": {"team": "x"}})
    weighted = {"weight": 5, "podAffinityTerm": term({"app": "noisy"})}
    affinity = {
        "podAffinity": {required: [elsewhere]},
        "podAntiAffinity": {required: [term({"app": "web"})], preferred: [weighted]},
    }
    run = simulation(
        cluster(
            node("n"),
            pod("p", affinity=affinity),
            pod("db", "there", labels={"app": "db"}, node="n"),
            pod("web", labels={"app": "web"}, node="n"),
        )
    )
    terms = affinity_terms(find(run, "p"))
    (near,), (far,), (unwanted,) = terms.required, terms.required_anti, terms.preferred
    assert (far.topology_key, unwanted.weight, terms.error) == ("zone", -5, "")
    assert near.matches(find(run, "db"), {"team": "x"})
    assert not near.matches(find(run, "db"), {"team": "y"})
    assert far.matches(find(run, "web"), {})
    assert not far.matches(find(run, "db"), {"team": "x"})
