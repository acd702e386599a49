"""`ksched drain`: yes or no, what blocks it, who moves, and kubectl's command."""

from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests import volumes
from tests.commands.runners import Answer, Ksched, WriteState, answering

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def owned(name: str, where: str, owner: str = "ReplicaSet/web", **fields: Any) -> dict[str, Any]:
    """A running pod that is ready, and that a controller creates again."""
    kind, _, controller = owner.partition("/")
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": controller, "controller": True}
    given: dict[str, Any] = {"labels": {"app": controller}, "status": READY, **fields}
    return pod(name, node=where, metadata={"ownerReferences": [reference]}, **given)


def budget(
    app: str = "web", *, name: str = "", status: dict[str, int] | None = None, **spec: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name or app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}, **spec},
        "status": status or {},
    }


def counts(allowed: int, healthy: int, desired: int, expected: int) -> dict[str, int]:
    return {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
    }


def replica_set(name: str, replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


@pytest.fixture
def drain(ksched: Ksched, write_state: WriteState) -> Answer:
    return answering("drain", "drain_result", ksched, write_state)


def title(ksched: Ksched, write_state: WriteState, *objects: dict[str, Any]) -> str:
    _, out, _ = ksched("drain", "a", "--state", write_state(*objects))
    return str(out.splitlines()[0])


def test_yes_names_where_every_pod_goes_and_the_command(drain: Answer) -> None:
    code, answer = drain("a", objects=[node("a"), node("b"), owned("p", "a"), owned("q", "b")])
    assert (code, answer["possible"], answer["leaving"]) == (0, True, 1)
    assert (answer["movesTo"], answer["order"]) == ({"default/p": "b"}, ["a"])
    assert answer["command"] == "kubectl drain a"


def test_the_first_line_says_how_many_change_the_zone(
    ksched: Ksched, write_state: WriteState
) -> None:
    zones = [node(name, labels={"topology.kubernetes.io/zone": f"zone-{name}"}) for name in "ab"]
    first = title(ksched, write_state, *zones, owned("p", "a"), owned("q", "a"))
    assert first == "yes, all 2 pods find a node; 2 move out of zone zone-a"


def test_a_node_without_pods_can_be_drained(ksched: Ksched, write_state: WriteState) -> None:
    assert title(ksched, write_state, node("a"), node("b")) == "yes, no pod has to move"


def test_a_budget_that_allows_nothing_is_named_with_its_counts(
    ksched: Ksched, write_state: WriteState
) -> None:
    objects = [node("a"), node("b"), owned("p", "a"), owned("q", "b")]
    full = budget(minAvailable=2, status=counts(0, 2, 2, 2))
    first = title(ksched, write_state, *objects, full)
    assert first == "no: budget default/web allows 0 disruptions (2 of 2 needed healthy)"


def test_what_lifts_a_budget_has_been_tried(drain: Answer) -> None:
    objects = [
        node("a"),
        node("b"),
        owned("p", "a"),
        owned("q", "b"),
        replica_set("web", 2),
        budget(minAvailable=2, status=counts(0, 2, 2, 2)),
    ]
    code, answer = drain("a", objects=objects)
    (blocker,) = answer["blockedBy"]
    patch = """patch poddisruptionbudget/web -n default -p '{"spec": {"minAvailable": 1}}'"""
    assert code == 1
    assert (blocker["pods"], blocker["nodes"]) == (["default/p"], ["a"])
    assert blocker["liftedBy"] == ["scale replicaset/web -n default --replicas=3", patch]
    # A replica more does not help where all but none may be unavailable.
    objects[-1] = budget(maxUnavailable=0, status=counts(0, 2, 2, 2))
    (blocker,) = drain("a", objects=objects)[1]["blockedBy"]
    patch = """patch poddisruptionbudget/web -n default -p '{"spec": {"maxUnavailable": 1}}'"""
    assert blocker["liftedBy"] == [patch]
    assert drain("a", "--change", patch, objects=[*objects[:-1], budget()])[0] == 0


def test_a_budget_that_misses_ready_pods_says_so(drain: Answer) -> None:
    objects = [node("a"), node("b"), owned("p", "a"), owned("q", "b", status={"phase": "Running"})]
    _, answer = drain("a", objects=[*objects, budget(minAvailable=1, status=counts(0, 1, 1, 2))])
    assert answer["blockedBy"][0]["waitsFor"] == "1 more ready pod"


def test_a_budget_that_allows_one_eviction_lets_the_drain_wait(drain: Answer) -> None:
    objects = [node("a"), node("b"), *(owned(f"p{i}", "a") for i in range(3))]
    code, answer = drain("a", objects=[*objects, budget(status=counts(1, 3, 2, 3))])
    assert (code, answer["waits"]) == (0, 2)
    assert answer["budgets"] == [
        {"budget": "default/web", "pods": 3, "allowed": 1, "healthy": 3, "needed": 2}
    ]


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({"minAvailable": 2}, 1),
        ({"minAvailable": "67%"}, 0),
        ({"maxUnavailable": "34%"}, 2),
        ({"maxUnavailable": 0}, 0),
        ({"minAvailable": "all"}, 0),
    ],
)
def test_a_budget_without_a_status_gets_that_of_its_controller(
    drain: Answer, spec: dict[str, Any], allowed: int
) -> None:
    pods = [owned(f"p{i}", "a", status=None) for i in range(3)]
    objects = [node("a"), node("b"), *pods, replica_set("web", 3), budget(**spec)]
    code, answer = drain("a", objects=objects)
    assert (code == 0, answer["budgets"][0]["allowed"]) == (allowed > 0, allowed)


def test_pods_of_jobs_have_no_scale_so_that_their_share_allows_nothing(drain: Answer) -> None:
    objects = [node("a"), node("b"), owned("p", "a", "Job/web"), budget(maxUnavailable="50%")]
    assert drain("a", objects=objects)[1]["budgets"][0]["allowed"] == 0


def test_pods_of_two_budgets_are_refused_until_one_is_deleted(drain: Answer) -> None:
    budgets = [budget(name=name, status=counts(1, 1, 0, 1)) for name in ("one", "two")]
    code, answer = drain("a", objects=[node("a"), node("b"), owned("p", "a"), *budgets])
    (blocker,) = answer["blockedBy"]
    assert (code, blocker["liftedBy"]) == (1, ["delete poddisruptionbudget/two -n default"])


def test_a_pod_without_a_controller_needs_force_and_is_gone(drain: Answer) -> None:
    objects = [node("a"), node("b"), pod("bare", node="a"), owned("p", "a")]
    code, answer = drain("a", objects=objects)
    assert (code, answer["blockedBy"][0]["liftedBy"]) == (1, ["--force"])
    assert answer["movesTo"] == {"default/p": "b"}
    code, answer = drain("a", "--force", objects=objects)
    assert (code, answer["withoutController"]) == (0, ["default/bare"])
    assert (answer["movesTo"], answer["command"]) == ({"default/p": "b"}, "kubectl drain a --force")


def test_pods_of_daemonsets_and_static_ones_stay(drain: Answer) -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    objects = [
        node("a"),
        node("b"),
        owned("d", "a", "DaemonSet/agent"),
        pod("etcd", node="a", metadata=mirror),
        owned("done", "a", status={"phase": "Succeeded"}),
    ]
    code, answer = drain("a", objects=objects)
    assert (code, answer["leaving"], answer["staying"]) == (0, 0, 2)
    assert answer["command"] == "kubectl drain a --ignore-daemonsets"


def test_a_pod_whose_daemonset_is_gone_needs_force(drain: Answer) -> None:
    agent = {**replica_set("other", 0), "kind": "DaemonSet"}
    objects = [node("a"), node("b"), agent, owned("d", "a", "DaemonSet/agent")]
    code, answer = drain("a", objects=objects)
    assert (code, answer["blockedBy"][0]["because"]) == (1, "its DaemonSet is missing")
    assert drain("a", "--force", objects=objects)[0] == 0


def test_pods_that_lose_data_are_listed_and_the_command_allows_it(drain: Answer) -> None:
    volumes = {"volumes": [{"name": "tmp", "emptyDir": {}}]}
    _, answer = drain("a", objects=[node("a"), node("b"), owned("p", "a", spec=volumes)])
    assert answer["localStorage"] == ["default/p"]
    assert answer["command"] == "kubectl drain a --delete-emptydir-data"


def test_pods_of_another_scheduler_block_as_nobody_knows_where_they_go(drain: Answer) -> None:
    code, answer = drain("a", objects=[node("a"), node("b"), owned("p", "a", profile="other")])
    because = 'nothing here places it: it is for the scheduler "other", which the configuration'
    assert (code, answer["blockedBy"][0]["because"][: len(because)]) == (1, because)


def test_pods_that_find_no_node_wait_with_the_cause(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("a", cpu=4), node("b", cpu=2), owned("p", "a", cpu=3))
    code, out, _ = ksched("drain", "a", "--state", state)
    assert code == 1
    assert out.splitlines()[0].startswith("no: 1 of 1 pod finds no other node: default/p: ")
    assert "Who finds no node" in out


def test_nodes_that_go_only_one_at_a_time(drain: Answer) -> None:
    nodes = [node(name, cpu=4) for name in "abc"]
    objects = [*nodes, owned("p", "a", cpu=3), owned("q", "b", cpu=3)]
    code, answer = drain("a", "b", objects=objects)
    assert (code, answer["order"], answer["alone"]) == (1, ["a"], ["b"])
    assert drain("b", objects=objects)[0] == 0


def test_the_order_puts_a_node_first_whose_pods_let_others_go(drain: Answer) -> None:
    """q may not run where its friend is not, and so leaves b only once the friend is on c."""
    friend = {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    ]}  # fmt: skip
    objects = [
        *(node(name, labels={"kubernetes.io/hostname": name}) for name in "abc"),
        owned("p", "b", "ReplicaSet/x"),
        owned("q", "a", affinity={"podAffinity": friend}),
    ]
    code, answer = drain("a", "b", objects=objects)
    assert (code, answer["order"]) == (0, ["b", "a"])
    assert answer["command"] == "kubectl drain b a"


def test_a_selector_chooses_the_nodes(ksched: Ksched, write_state: WriteState) -> None:
    nodes = [node(name, labels={"pool": "blue"}) for name in "ab"]
    state = write_state(*nodes, node("c"), owned("p", "a"))
    code, out, _ = ksched("drain", "-l", "pool=blue", "--state", state)
    first, second = out.splitlines()[:2]
    assert (code, first) == (0, "yes, its pod finds a node, of 2 nodes together")
    assert second == "in this order: a and b"
    assert ksched("drain", "-l", "pool=blue", "-o", "name", "--state", state)[1] == "a\nb\n"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ([], "drain takes names of nodes, or -l SELECTOR"),
        (["node-1", "-l", "x=y"], "drain takes names of nodes, or -l SELECTOR"),
        (["-l", "x=y"], "no node has the labels of -l x=y"),
        (["node-1", "node/node-1"], 'node "node-1" is given 2 times; name it once'),
        (["node"], 'no node "node" in the state (2 nodes); it begins node-1, node-2'),
        (["nod-1"], 'no node "nod-1" in the state (2 nodes); did you mean node-1'),
    ],
)
def test_what_cannot_be_asked_is_an_error(
    ksched: Ksched, write_state: WriteState, line: list[str], problem: str
) -> None:
    code, out, err = ksched("drain", *line, "--state", write_state(node("node-1"), node("node-2")))
    assert (code, out) == (2, "")
    assert problem in err


def test_an_ephemeral_volume_keeps_no_pod_in_its_zone(drain: Answer) -> None:
    """The pod takes its claim along, and the claim of the next pod may be in another zone."""
    zone = "topology.kubernetes.io/zone"
    scratch = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    spec = {"volumes": [{"name": "tmp", "ephemeral": {"volumeClaimTemplate": {"spec": scratch}}}]}
    code, answer = drain(
        "a",
        objects=[
            node("a", labels={zone: "a"}),
            node("b", labels={zone: "b"}),
            volumes.storage_class("local", "csi"),
            owned("p", "a", spec=spec),
            volumes.claim("p-tmp", volume="v", owner="p", selected_node="a"),
            volumes.volume("v", zones=["a"], claim="p-tmp", phase="Bound"),
        ],
    )
    assert (code, answer["movesTo"]) == (0, {"default/p": "b"})
