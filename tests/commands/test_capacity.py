"""`ksched capacity` from the command line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.testing import node, pod
from tests.commands.runners import Answer, Ksched, WriteState, answering
from tests.report.schemas import conforms


@pytest.fixture
def capacity(ksched: Ksched, write_state: WriteState) -> Answer:
    return answering("capacity", "capacity_result", ksched, write_state)


@pytest.fixture
def write_pod(tmp_path: Path) -> WriteState:
    """The path of a file with these objects."""

    def write(*objects: dict[str, Any]) -> Path:
        path = tmp_path / "pod.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        return path

    return write


def test_a_pod_that_fits_is_exit_code_0(capacity: Answer) -> None:
    code, result = capacity("p", objects=[node("a", cpu=3), pod("p", cpu=1)])
    assert (code, result["count"], result["nodes"]) == (0, 3, {"a": 3})


def test_a_pod_that_fits_nowhere_is_exit_code_1(capacity: Answer) -> None:
    code, result = capacity("p", objects=[node("a", cpu=1), pod("p", cpu=2)])
    assert (code, result["count"], result["stoppedAt"]) == (1, 0, None)
    assert "Insufficient cpu" in result["limitedBy"]


def test_the_maximum_is_said_where_it_is_reached(capacity: Answer) -> None:
    code, result = capacity("p", "--max", 2, objects=[node("a", cpu=3), pod("p", cpu=1)])
    assert (code, result["count"], result["stoppedAt"]) == (0, 2, 2)


def test_alone_leaves_the_other_pending_pods_out(capacity: Answer) -> None:
    objects = [node("a", cpu=3), pod("other", cpu=1), pod("p", cpu=1)]
    assert capacity("p", objects=objects)[1]["count"] == 2
    assert capacity("p", "--alone", objects=objects)[1]["count"] == 3


def test_a_pod_of_a_file_need_not_be_in_the_state(capacity: Answer, write_pod: WriteState) -> None:
    code, result = capacity("-f", write_pod(pod("new", cpu=1)), objects=[node("a", cpu=3)])
    assert (code, result["pod"], result["count"]) == (0, "default/new", 3)


def test_a_pod_of_a_file_may_be_one_that_runs(capacity: Answer, write_pod: WriteState) -> None:
    running = pod("p", cpu=1, node="a")
    code, result = capacity("-f", write_pod(running), objects=[node("a", cpu=3), running])
    assert (code, result["count"]) == (0, 2)


def test_a_pod_of_a_file_has_the_priority_of_its_class_in_the_state(
    capacity: Answer, write_pod: WriteState
) -> None:
    important = {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {"name": "important"},
        "value": 9,
    }
    file = write_pod(pod("new", cpu=1, spec={"priorityClassName": "important"}))
    objects = [important, node("a", cpu=3), pod("waits", cpu=1)]
    assert capacity("-f", file, objects=objects)[1]["count"] == 3


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ((), "the file is empty"),
        ((pod("a"), pod("b")), "found Pod default/a, Pod default/b"),
        ((node("a"),), "expected one Pod or one workload, found none"),
    ],
)
def test_a_file_without_exactly_one_pod_or_workload_is_an_error(
    objects: Sequence[dict[str, Any]],
    message: str,
    ksched: Ksched,
    write_state: WriteState,
    write_pod: WriteState,
) -> None:
    state = write_state(node("a"))
    code, out, err = ksched("capacity", "-f", write_pod(*objects), "--state", state)
    assert (code, out) == (2, "")
    assert "pod.yaml" in err
    assert message in err


def test_the_fewest_nodes_for_all_pending_pods(capacity: Answer) -> None:
    objects = [node("a", cpu=2), *(pod(f"p{number}", cpu=1) for number in range(5))]
    code, result = capacity("--pending", "--like", "a", objects=objects)
    assert (code, result["nodesNeeded"]) == (0, 2)


def test_nodes_of_several_kinds_are_mixed(ksched: Ksched, write_state: WriteState) -> None:
    nodes = [node(name, cpu=2, labels={"zone": name}) for name in ("a", "b")]
    full = [pod(f"{name}-full", cpu=2, node=name) for name in ("a", "b")]
    waiting = [pod(f"p{i}", cpu=1, node_selector={"zone": zone}) for i, zone in enumerate("aaab")]
    state = write_state(*nodes, *full, *waiting)
    code, out, _ = ksched("capacity", "--pending", "--like", "a", "--like", "b", "--state", state)
    assert code == 0
    assert out.startswith("3 more nodes, 2 like a and 1 like b, are needed\n")
    assert [line.split() for line in out.splitlines() if line.split()[:1] == ["3"]][1:] == [
        ["3", "2", "1", "0"]
    ]


def test_a_pool_grows_in_all_its_zones(capacity: Answer) -> None:
    zone = "topology.kubernetes.io/zone"
    nodes = [node(name, cpu=2, labels={zone: name, "pool": "x"}) for name in "abc"]
    full = [pod(f"on-{name}", cpu=2, node=name) for name in "abc"]
    waiting = [pod(f"p{number}", cpu=2) for number in range(5)]
    code, result = capacity(
        "--pending", "--like", "pool=x", "--time-limit", "1m", objects=[*nodes, *full, *waiting]
    )
    assert (code, result["nodesNeeded"], result["atLeast"]) == (0, 5, 5)
    assert result["mix"] == {"a": 2, "b": 2, "c": 1}


def test_the_cheapest_mix_is_found_by_price(ksched: Ksched, write_state: WriteState) -> None:
    nodes = [node("a", cpu=2, labels={"pool": "small"}), node("b", cpu=8)]
    full = [pod("on-a", cpu=2, node="a"), pod("on-b", cpu=8, node="b")]
    state = write_state(*nodes, *full, *(pod(f"p{i}", cpu=2) for i in range(4)))
    command = ("capacity", "--pending", "--like", "a", "--like", "b", "--state", state)
    prices = ("--price", "pool=small=0.1", "--price", "b=0.35")
    code, out, _ = ksched(*command, *prices)
    assert code == 0
    assert out.startswith("1 more node like b is needed, at 0.35 an hour\n")
    _, out, _ = ksched(*command, "--price", "a=0.1", "--price", "*=1", "-o", "json")
    assert json.loads(out)["perHour"] == 0.4
    conforms(json.loads(out), "capacity_result")


def test_no_number_of_nodes_is_exit_code_1(capacity: Answer) -> None:
    code, result = capacity("--pending", "--like", "a", objects=[node("a"), pod("p", cpu=99)])
    assert (code, result["nodesNeeded"]) == (1, None)
    assert "Insufficient cpu" in result["limitedBy"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "takes one of POD, -f FILE, and --pending --like NODE"),
        (("p", "--pending", "--like", "a"), "takes one of POD"),
        (("--pending",), "--pending and --like NODE require each other"),
        (("p", "--like", "a"), "--pending and --like NODE require each other"),
        (
            ("--pending", *(f"--like={name}" for name in "abcd")),
            "--like takes at most 3 nodes",
        ),
        (("--pending", "--like", "aa"), 'no node "aa" in the state'),
        (("--pending", "--like", "a", "--price", "b=1"), "--price has no price for a of --like"),
        (("p", "--price", "a=1"), "--price requires --pending --like NODE"),
        (("--pending", "--like", "a", "--alone"), "cannot be combined with --alone, --max"),
        (("--pending", "--like", "a", "--max", "3"), "cannot be combined with --alone, --max"),
        (("--pending", "--like", "a", "-o", "name"), "-o wide or -o name"),
        (("pp",), "did you mean default/p?"),
    ],
)
def test_what_cannot_be_asked_is_bad_usage(
    arguments: list[str], message: str, ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("a"), pod("p"), pod("elsewhere", profile="other"))
    code, out, err = ksched("capacity", *arguments, "--state", state)
    assert (code, out) == (2, "")
    assert message in err


def _workload(kind: str, **spec: Any) -> dict[str, Any]:
    """Pods that ask for a CPU."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            **spec,
        },
    }


def test_a_workloads_next_replicas_come_after_its_own_pods(capacity: Answer) -> None:
    objects = [node("a", cpu=4), _workload("Deployment", replicas=3)]
    code, result = capacity("deployment/web", objects=objects)
    assert (code, result["count"], result["workload"]) == (0, 1, "Deployment default/web")


@pytest.mark.parametrize("count", ["0", "1000000001", "1180591620717411303424"])
def test_copies_are_counted_up_to_a_bound(count: str, ksched: Ksched) -> None:
    code, out, err = ksched("capacity", "p", "--max", count)
    assert (code, out) == (2, "")
    assert "--max takes a whole number of at" in err


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_a_workload_of_a_file_is_counted_from_its_first_replica(
    kind: str, capacity: Answer, write_pod: WriteState
) -> None:
    service = {"kind": "Service", "apiVersion": "v1", "metadata": {"name": "web"}}
    file = write_pod(service, _workload(kind, replicas=3))
    code, result = capacity("-f", file, objects=[node("a", cpu=4), pod("waits", cpu=1)])
    assert (code, result["count"], result["workload"]) == (0, 3, f"{kind} default/web")


def test_a_workload_of_a_file_that_is_there_already_is_counted_beyond_its_pods(
    capacity: Answer, write_pod: WriteState
) -> None:
    """Its template is the file's then."""
    state = [node("a", cpu=8), _workload("StatefulSet", replicas=2)]
    larger = _workload("StatefulSet", replicas=9)
    larger["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    assert capacity("-f", write_pod(larger), objects=state)[1]["count"] == 2


def test_a_daemon_set_of_a_file_has_no_replicas(
    ksched: Ksched, write_state: WriteState, write_pod: WriteState
) -> None:
    state, file = write_state(node("a")), write_pod(_workload("DaemonSet"))
    code, _, err = ksched("capacity", "-f", file, "--state", state)
    assert code == 2
    assert "a DaemonSet has no next replica" in err


def test_each_replica_of_a_stateful_set_has_claims_of_its_own(capacity: Answer) -> None:
    """One claim that one pod alone may use would let a single replica in."""
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    claim = {"storageClassName": "fast", "accessModes": ["ReadWriteOncePod"]}
    templates = [{"metadata": {"name": "data"}, "spec": claim}]
    stateful = _workload("StatefulSet", volumeClaimTemplates=templates)
    _, result = capacity("sts/web", "--max", 9, objects=[node("a", cpu=4), storage, stateful])
    assert (result["pod"], result["count"], result["stoppedAt"]) == ("default/web-1", 3, None)


def test_the_table_counts_replicas_of_a_workload(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("a", cpu=2), _workload("Deployment"))
    _, out, _ = ksched("capacity", "deploy/web", "--state", state)
    assert out.startswith("1 more replica of Deployment default/web fits, on 1 node\n")
    _, out, _ = ksched("capacity", "deploy/web", "--state", state, "--change", "cordon a")
    assert "No replica of Deployment default/web fits" in out


def test_a_pod_in_a_namespace_that_is_called_like_a_kind_is_that_pod(capacity: Answer) -> None:
    objects = [node("a", cpu=2), pod("web", "job", cpu=1)]
    assert capacity("job/web", objects=objects)[1]["workload"] is None


def test_the_namespace_of_the_pod_may_be_an_option(capacity: Answer) -> None:
    objects = [node("a", cpu=2), pod("p", "one", cpu=1), pod("p", "two", cpu=2)]
    _, result = capacity("p", "-n", "one", "--alone", objects=objects)
    assert (result["pod"], result["count"]) == ("one/p", 2)


def test_a_pod_of_another_scheduler_is_answered_as_by_explain(
    ksched: Any, write_state: Any
) -> None:
    state = write_state(node("a"), pod("elsewhere", profile="other"))
    answers = {
        command: ksched(command, "elsewhere", "--state", state)
        for command in ("explain", "capacity")
    }
    assert [(code, err) for code, _, err in answers.values()] == [(1, ""), (1, "")]
    reason = 'it is for the scheduler "other"'
    assert all(reason in out for _, out, _ in answers.values())


def test_nodes_are_listed_wide_and_by_name(ksched: Any, write_state: Any) -> None:
    state = write_state(node("a", cpu=1), node("b", cpu=3), node("c", cpu="500m"), pod("p", cpu=1))
    code, out, _ = ksched("capacity", "p", "--state", state, "-o", "name")
    assert (code, out) == (0, "a\nb\n")
    _, out, _ = ksched("capacity", "p", "--state", state, "-o", "wide")
    assert [line.split() for line in out.splitlines()[-3:]] == [
        ["NODE", "COPIES"],
        ["b", "3"],
        ["a", "1"],
    ]
