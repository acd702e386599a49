"""`ksched drain`: yes or no, what blocks it, who moves, and kubectl's command."""

import json
import shlex
from pathlib import Path
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


@pytest.fixture
def drain_each(ksched: Ksched, write_state: WriteState) -> Answer:
    return answering("drain", "drain_results", ksched, write_state)


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


def test_force_is_no_remedy_for_a_pod_that_a_budget_holds_even_then(drain: Answer) -> None:
    rules = budget(minAvailable=1, status=counts(0, 1, 1, 1))
    bare = pod("bare", node="a", labels={"app": "web"}, status=READY)
    objects = [node("a"), node("b"), bare, rules]
    code, answer = drain("a", objects=objects)
    (blocker,) = answer["blockedBy"]
    assert (code, blocker.get("liftedBy", [])) == (1, [])
    assert blocker["waitsFor"] == "--force, once budgets allow it"
    assert drain("a", "--force", objects=objects)[0] == 1


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
        ([], "drain takes names of nodes, -l SELECTOR, or --each LABEL"),
        (["node-1", "-l", "x=y"], "drain takes names of nodes, -l SELECTOR, or --each LABEL"),
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


# -- evictions for the pods that leave -------------------------------------------------------------


def test_pods_that_leave_evict_others_and_the_answer_says_where_those_go(drain: Answer) -> None:
    """p fits on b alone, where it evicts q; q goes to c."""
    only_b: dict[str, Any] = {"spec": {"nodeSelector": {"disk": "ssd"}}}
    objects = [
        node("a", cpu=4),
        node("b", cpu=4, labels={"disk": "ssd"}),
        node("c", cpu=4),
        owned("p", "a", cpu=3, priority=10, **only_b),
        owned("q", "b", "ReplicaSet/low", cpu=3),
    ]
    code, answer = drain("a", objects=objects)
    assert (code, answer["movesTo"]) == (0, {"default/p": "b"})
    assert answer["evicted"] == [{"pod": "default/q", "node": "b", "preemptor": "default/p"}]
    assert answer["recreated"][0]["node"] == "c"
    # Without preemption, p finds no node.
    assert drain("a", "--no-preemption", objects=objects)[0] == 1


def test_an_evicted_pod_that_then_finds_no_node_makes_the_answer_no(
    ksched: Ksched, write_state: WriteState
) -> None:
    nodes = [node("a", cpu=4), node("b", cpu=4)]
    pods = [owned("p", "a", cpu=3, priority=10), owned("q", "b", "ReplicaSet/low", cpu=3)]
    code, out, _ = ksched("drain", "a", "--state", write_state(*nodes, *pods))
    assert code == 1
    assert out.startswith("no: 1 pod evicted for the others finds no node: default/q: ")
    assert "default/q  b     default/p  waits" in out


def test_an_evicted_pod_may_evict_in_turn(drain: Answer) -> None:
    objects = [
        node("a", cpu=4),
        node("b", cpu=4, labels={"disk": "ssd"}),
        node("c", cpu=4),
        owned("p", "a", cpu=3, priority=10, spec={"nodeSelector": {"disk": "ssd"}}),
        owned("q", "b", "ReplicaSet/q", cpu=3, priority=5),
        owned("r", "c", "ReplicaSet/r", cpu=3, priority=1),
    ]
    code, answer = drain("a", objects=objects)
    evictions = [(each["pod"], each["preemptor"]) for each in answer["evicted"]]
    q, r = answer["recreated"]
    assert (code, evictions) == (1, [("default/q", "default/p"), ("default/r", "default/q")])
    assert (q["node"], q["evicted"], r["node"]) == ("c", ["default/r"], "")


# -- nodes that are lost, and each domain for itself -----------------------------------------------


ZONE = "topology.kubernetes.io/zone"


def test_lost_nodes_ask_no_budget_and_take_pods_without_controller_along(drain: Answer) -> None:
    objects = [
        *(node(name) for name in "abc"),
        owned("p", "a"),
        pod("bare", node="b"),
        owned("d", "a", "DaemonSet/agent"),
        budget(minAvailable=1, status=counts(0, 1, 1, 1)),
    ]
    code, answer = drain("a", "b", "--failed", objects=objects)
    assert (code, answer["possible"], answer["movesTo"]) == (0, True, {"default/p": "c"})
    assert (answer["withoutController"], answer["command"]) == (["default/bare"], "")


def spread_over_zones(**fields: Any) -> list[dict[str, Any]]:
    """Three zones of a node, with one pod of a workload each, which is spread over them."""
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **fields,
    }
    zones = [node(name, labels={ZONE: name}) for name in "abc"]
    spec: dict[str, Any] = {"spec": {"topologySpreadConstraints": [spread]}}
    return [*zones, *(owned(f"p-{name}", name, **spec) for name in "abc")]


def test_a_zone_that_is_lost_counts_for_spread_constraints_until_it_is_deleted(
    drain: Answer,
) -> None:
    """The unreachable nodes make zone a one of no pods, so that a second pod in b or c is one too
    many. nodeTaintsPolicy: Honor leaves these nodes out, as a run shows."""
    code, answer = drain("a", "--failed", objects=spread_over_zones())
    (blocker,) = answer["blockedBy"]
    assert (code, blocker["pods"]) == (1, ["default/p-a"])
    assert blocker["because"].startswith("until the lost nodes are deleted: b, c would take it")
    assert blocker["waitsFor"].startswith(f"set nodeTaintsPolicy: Honor for the spread over {ZONE}")
    (hint, *_) = answer["pending"][0]["diagnosis"]["hints"]
    assert hint["places"] == ["default/p-a"]
    code, answer = drain("a", "--failed", objects=spread_over_zones(nodeTaintsPolicy="Honor"))
    assert (code, answer["movesTo"]) == (0, {"default/p-a": "b"})
    anyway = spread_over_zones(whenUnsatisfiable="ScheduleAnyway")
    assert drain("a", "--failed", objects=anyway)[0] == 0


def test_default_constraints_of_the_configuration_count_a_lost_zone_too(
    drain: Answer, tmp_path: Path
) -> None:
    default = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    args = {"defaultingType": "List", "defaultConstraints": [default]}
    profile = {"pluginConfig": [{"name": "PodTopologySpread", "args": args}]}
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles: [{json.dumps(profile)}]\n"
    )
    objects = [replica_set("web", 3), *(node(name, labels={ZONE: name}) for name in "abc")]
    objects += [owned(f"p-{name}", name) for name in "abc"]
    code, answer = drain("a", "--failed", "--config", config, objects=objects)
    assert (code, [each["pods"] for each in answer["blockedBy"]]) == (1, [["default/p-a"]])
    assert drain("a", "--failed", objects=objects)[0] == 0


def test_a_pod_that_finds_no_node_after_a_loss_either_is_named_once(drain: Answer) -> None:
    """p-a waits for the deletion of node a, and q for a node like it."""
    bound = {"spec": {"nodeSelector": {ZONE: "a"}}}
    objects = [*spread_over_zones(), owned("q", "a", "ReplicaSet/q", **bound)]
    code, answer = drain("a", "--failed", objects=objects)
    because = {each["pods"][0]: each["because"] for each in answer["blockedBy"]}
    assert (code, sorted(because)) == (1, ["default/p-a", "default/q"])
    assert because["default/p-a"].startswith("until the lost nodes are deleted")
    assert "until" not in because["default/q"]


def zones_of(*free: int) -> list[dict[str, Any]]:
    """A zone for each number, of two nodes with a pod of three cpu; free: cpu free on the second
    node."""
    objects = []
    for name, cpu in zip("abc", free, strict=True):
        labels = {ZONE: name, "pool": "blue"}
        objects += [node(f"{name}1", cpu=3, labels=labels)]
        objects += [node(f"{name}2", cpu=cpu, labels=labels), owned(f"p-{name}", f"{name}1", cpu=3)]
    return objects


def test_the_first_line_names_the_zones_whose_loss_is_not_survived(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(*zones_of(0, 3, 0))
    code, out, _ = ksched("drain", "--each", "zone", "--failed", "--state", state)
    lines = out.splitlines()
    assert (code, lines[0]) == (1, "survives the loss of any zone but b")
    assert lines[1] == "without b, 1 of 1 pod finds no other node"
    assert lines[2] == "1 more node like a1 is enough for b"
    assert "add-nodes more --like a1 --count 1" in out
    more = ("--change", "add-nodes more --like a1 --count 1")
    code, out, _ = ksched("drain", "--each", ZONE, "--failed", *more, "--state", state)
    assert (code, out.splitlines()[0]) == (0, "survives the loss of any of its 3 zones")


def test_a_cause_is_one_row_however_many_workloads_it_keeps(
    ksched: Ksched, write_state: WriteState
) -> None:
    """Ten pods of ten workloads in zone b have no room elsewhere. --all and the document take them
    apart."""
    objects = zones_of(0, 0, 0)
    objects[4] = node("b2", cpu=9, labels={ZONE: "b"})
    objects += [owned(f"w{n}", "b2", f"ReplicaSet/w{n}", cpu=1) for n in range(9)]
    state = write_state(*objects)
    line = ("drain", "--each", "zone", "--failed", "-l", f"{ZONE}=b", "--state", state)
    _, out, _ = ksched(*line)
    rows = out.partition("What keeps them")[2].partition("\n\n")[0]
    assert [row.split()[:2] for row in rows.splitlines() if row.startswith("b ")] == [["b", "10"]]
    for part in ("default/ReplicaSet/web,", "and 7 more", "1 pod"):
        assert part in rows
    _, out, _ = ksched(*line, "--all")
    rows = out.partition("What keeps them")[2].partition("\n\n")[0]
    assert sum(row.startswith("b ") for row in rows.splitlines()) == 10
    _, out, _ = ksched(*line, "-o", "json")
    assert len(json.loads(out)["domains"][0]["blockedBy"]) == 10


def test_nodes_more_are_named_only_where_the_domain_can_go_with_them(drain_each: Answer) -> None:
    objects = zones_of(0, 3, 0)
    rows = {
        each["value"]: each for each in drain_each("--each", "zone", objects=objects)[1]["domains"]
    }
    assert rows["b"]["possibleWith"] == {"like": "a1", "count": 1}
    # A pod that nobody creates again keeps the zone, however many nodes there are.
    objects.append(pod("alone", node="b2"))
    _, answer = drain_each("--each", "zone", objects=objects)
    rows = {each["value"]: each for each in answer["domains"]}
    assert rows["b"]["waiting"] == ["default/p-b"]
    assert rows["b"].get("possibleWith") is None
    _, answer = drain_each("--each", "zone", "--force", objects=objects)
    rows = {each["value"]: each for each in answer["domains"]}
    assert rows["b"]["possibleWith"] == {"like": "a1", "count": 1}


def test_what_to_try_next_asks_the_same_question(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(*zones_of(0, 3, 0), pod("alone", node="b2"))
    line = ["drain", "--each", "zone", "-l", "pool=blue", "--force", "--state", state]
    code, out, _ = ksched(*line)
    assert code == 1
    command = next(text for text in out.splitlines() if "add-nodes more" in text)
    assert f"--each {ZONE} -l pool=blue --force" in command
    arguments = shlex.split(command)
    code, out, _ = ksched(*arguments[arguments.index("drain") :], "--state", state)
    assert (code, out.splitlines()[0]) == (0, "can drain any of its 3 zones")


def test_each_domain_is_tried_while_the_others_are_there(drain_each: Answer) -> None:
    strict = budget(minAvailable=3, status=counts(0, 3, 3, 3))
    objects = [*zones_of(3, 3, 3), replica_set("web", 3), strict]
    code, answer = drain_each("--each", "zone", objects=objects)
    values = [(each["value"], each["possible"]) for each in answer["domains"]]
    assert (code, values) == (1, [("a", False), ("b", False), ("c", False)])
    # A budget that blocks many domains is tried to be lifted once.
    lifts = [each["blockedBy"][0].get("liftedBy") for each in answer["domains"]]
    assert lifts[0]
    assert lifts[1:] == [None, None]
    code, answer = drain_each(
        "--each", "node", "-l", "topology.kubernetes.io/zone=a", objects=objects
    )
    assert [each["value"] for each in answer["domains"]] == ["a1", "a2"]
    code, answer = drain_each("--each", "pool", "--failed", objects=[*objects, node("x")])
    assert (code, answer["withoutLabel"], len(answer["domains"])) == (1, ["x"], 1)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (["node-1", "--each", "zone"], "--each cannot be combined with names of nodes"),
        (["--each", "topolgy.io/zone"], "did you mean topology.io/zone?"),
        (["--each", "rack"], 'no node has the label "rack"; or give "node"'),
    ],
)
def test_a_domain_that_no_node_has_is_an_error(
    ksched: Ksched, write_state: WriteState, line: list[str], problem: str
) -> None:
    state = write_state(node("node-1", labels={"topology.io/zone": "a"}))
    code, out, err = ksched("drain", *line, "--state", state)
    assert (code, out) == (2, "")
    assert problem in err
