"""`ksched capacity` from the command line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.testing import node, pod
from tests import devices
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


# -- manifests of a file --------------------------------------------------------------------------


def deployment(name: str = "web", replicas: int = 4, **fields: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod(**fields)["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }


def test_all_pods_of_a_deployment_fit_and_how_many_more(
    ksched: Ksched, write_state: WriteState, write_pod: WriteState
) -> None:
    command = ("capacity", "-f", write_pod(deployment(cpu=1)), "--state")
    code, out, _ = ksched(*command, write_state(node("a", cpu=4), node("b", cpu=3)))
    assert (code, out.splitlines()[0]) == (0, "all 4 fit, and 3 more would")
    assert "Insufficient cpu" in out[out.index("What limits the next") :]


def test_some_fit_without_evictions_and_all_after_evicting(
    ksched: Ksched, write_state: WriteState, write_pod: WriteState
) -> None:
    objects = [node("a", cpu=4), pod("x", "low", cpu=2, node="a", priority=-5)]
    command = ("capacity", "-f", write_pod(deployment(cpu=1)), "--state", write_state(*objects))
    code, out, _ = ksched(*command)
    first = "2 of the 4 wanted fit without evictions; all 4 after evicting low/x"
    assert (code, out.splitlines()[0]) == (1, first)
    _, out, _ = ksched(*command, "--no-preemption")
    assert out.splitlines()[0] == "2 of the 4 wanted fit"


def test_a_whole_release_is_counted_by_workload(capacity: Answer, write_pod: WriteState) -> None:
    job = {"parallelism": 2, "template": {"spec": pod(cpu=1)["spec"]}}
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "night", "namespace": "default"},
        "spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": job}},
    }
    stateful_set = deployment("db", 1, cpu=1) | {"kind": "StatefulSet"}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    file = write_pod(settings, deployment(cpu=1), stateful_set, pod("one", cpu=1), cron_job)
    code, answer = capacity("-f", file, objects=[node("a", cpu=10)])
    assert (code, answer["pods"], answer["fit"]) == (0, 8, 8)
    assert [(w["owner"], w["pods"], w["fit"], w["more"]) for w in answer["workloads"]] == [
        ("default/Deployment/web", 4, 4, 2),
        ("default/StatefulSet/db", 1, 1, 2),
        ("default/Pod/one", 1, 1, 2),
        ("default/Job/night-1", 2, 2, 2),
    ]


def test_pods_that_do_not_fit_have_their_cause(capacity: Answer, write_pod: WriteState) -> None:
    code, answer = capacity("-f", write_pod(deployment(cpu=3)), objects=[node("a", cpu=4)])
    assert (code, answer["fit"], answer["fitAfterEvictions"]) == (1, 1, 1)
    (group,) = answer["pending"]
    assert (len(group["pods"]), group["owner"]) == (3, "Deployment/web")
    assert "Insufficient cpu" in answer["workloads"][0]["limitedBy"]


def test_only_the_pods_that_a_workload_lacks_are_wanted(
    capacity: Answer, write_pod: WriteState
) -> None:
    there = deployment(replicas=2, cpu=1)
    run = capacity("-f", write_pod(deployment(cpu=1)), objects=[node("a", cpu=9), there])
    assert run[1]["pods"] == 2
    code, answer = capacity("-f", write_pod(there), objects=[node("a", cpu=9), there])
    assert (code, answer["pods"], answer["workloads"][0]["more"]) == (0, 0, 7)


def test_a_pod_of_a_file_may_be_one_that_runs(
    ksched: Ksched, write_state: WriteState, write_pod: WriteState
) -> None:
    running = pod("p", cpu=1, node="a")
    state = write_state(node("a", cpu=3), running)
    code, out, _ = ksched("capacity", "-f", write_pod(running), "--state", state)
    assert (code, out.splitlines()[0]) == (0, "nothing new to place, and 2 more would")


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
    objects = [important, node("a", cpu=1), pod("waits", cpu=1)]
    code, answer = capacity("-f", file, objects=objects)
    assert (code, answer["fit"], answer["displaced"]) == (0, 1, ["default/waits"])


def test_alone_leaves_out_what_waits(capacity: Answer, write_pod: WriteState) -> None:
    file, objects = write_pod(pod("new", cpu=1)), [node("a", cpu=1), pod("waits", cpu=1)]
    assert capacity("-f", file, objects=objects)[1]["fit"] == 0
    assert capacity("-f", file, "--alone", objects=objects)[1]["fit"] == 1


def test_with_a_timeline_the_file_is_applied_at_its_end(
    capacity: Answer, write_pod: WriteState, tmp_path: Path
) -> None:
    events = [{"at": 5, "pod": pod("late", cpu=2)}]
    timeline = {"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}
    (tmp_path / "day.json").write_text(json.dumps(timeline))
    file, objects = write_pod(pod("new", cpu=1)), [node("a", cpu=4)]
    assert capacity("-f", file, objects=objects)[1]["count"] == 3
    over_time = ("--timeline", tmp_path / "day.json")
    assert capacity("-f", file, *over_time, objects=objects)[1]["count"] == 1


def test_gated_pods_are_not_counted(capacity: Answer, write_pod: WriteState) -> None:
    file = write_pod(pod("held", gates=["x.io/gate"]))
    _, answer = capacity("-f", file, objects=[node("a")])
    assert (answer["pods"], answer["gated"]) == (0, ["default/held"])


def test_the_maximum_bounds_what_is_counted_after_them(
    ksched: Ksched, write_state: WriteState, write_pod: WriteState
) -> None:
    command = ("capacity", "--max", "2", "-f", write_pod(pod("new", cpu=1)), "--state")
    _, out, _ = ksched(*command, write_state(node("a", cpu=9)))
    assert out.splitlines()[0] == "it fits, and at least 2 more would"


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ((), "the file is empty"),
        ((node("a"), node("b")), "nothing in it makes pods (it has 2 Node); expected Pod, "),
    ],
)
def test_a_file_that_makes_no_pods_is_an_error(
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


def test_schedule_and_compare_apply_a_file_first(
    ksched: Ksched, write_state: WriteState, write_pod: WriteState
) -> None:
    file, state = write_pod(deployment(cpu=1)), write_state(node("a", cpu=2))
    code, out, _ = ksched("schedule", "-f", file, "--state", state, "-o", "json")
    assert (code, json.loads(out)["summary"]["placed"]) == (1, 2)
    # Standard input is read once, for both sides.
    command = ("compare", "--state", state, "-f", file, "--vs", "--change")
    code, out, _ = ksched(*command, "add-nodes b --like a --count 1", "-o", "json")
    placed = [side["summary"]["placed"] for side in json.loads(out)["sides"]]
    assert (code, placed) == (1, [2, 4])
    code, out, _ = ksched("compare", "--state", state, "--vs", "-f", file, "-o", "json")
    names = [side["name"] for side in json.loads(out)["sides"]]
    assert (code, names[0], names[1].startswith("apply -f ")) == (1, "without changes", True)


# -- how full -------------------------------------------------------------------------------------


def test_without_a_pod_it_says_how_full_the_cluster_is(
    ksched: Ksched, write_state: WriteState
) -> None:
    nodes = [node(name, cpu=4, labels={"pool": name}) for name in "ab"]
    state = write_state(*nodes, pod("p", cpu=2, node="a"), pod("waits", cpu=1))
    code, out, _ = ksched("capacity", "--state", state)
    assert code == 0
    assert out.startswith("25% of cpu, <1% of pods and 0% of memory requested, on 2 nodes")
    _, out, _ = ksched("capacity", "--by", "pool", "--state", state, "-o", "json")
    answer = conforms(json.loads(out), "capacity_result")
    assert [pool["used"]["cpu"] for pool in answer["pools"]["pools"]] == [0.5, 0.0]


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
        (("--max", "3"), "--alone and --max require a POD or -f FILE"),
        (("p", "--by", "zone"), "--by cannot be combined with POD"),
        (("p", "--pending", "--like", "a"), "takes one of POD"),
        (("--pending",), "--pending and --like NODE require each other"),
        (("p", "--like", "a"), "--pending and --like NODE require each other"),
        (
            ("--pending", *(f"--like={name}" for name in "abcd")),
            "--like takes at most 3 nodes",
        ),
        (("--pending", "--like", "aa"), 'no node "aa" in the state'),
        (("--pending", "--like", "a", "--price", "b=1"), "--price has no price for a of --like"),
        (("p", "--price", "a=1"), "--price cannot be combined with POD or -f without a timeline"),
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
def test_replicas_of_a_file_come_after_what_waits(
    kind: str, capacity: Answer, write_pod: WriteState
) -> None:
    file = write_pod(_workload(kind, replicas=2))
    code, result = capacity("-f", file, objects=[node("a", cpu=4), pod("waits", cpu=1)])
    assert (code, result["fit"], result["count"], result["nodes"]) == (0, 2, 1, {"a": 2})


def test_a_daemon_set_of_a_file_has_no_further_copies(
    capacity: Answer, write_pod: WriteState
) -> None:
    file = write_pod(_workload("DaemonSet"))
    code, result = capacity("-f", file, objects=[node("a"), node("b")])
    assert (code, result["pods"], result["workloads"][0]["more"]) == (0, 2, None)


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


def test_the_pods_of_a_job_are_counted(capacity: Answer) -> None:
    job = {**_workload("Job"), "apiVersion": "batch/v1", "metadata": {"name": "web"}}
    _, result = capacity("job/web", objects=[node("a", cpu=4), job])
    assert (result["workload"], result["count"]) == ("Job default/web", 3)


def test_the_pods_of_a_file_s_jobs_are_counted(
    ksched: Ksched, write_state: WriteState, write_pod: WriteState
) -> None:
    job = {**_workload("Job"), "apiVersion": "batch/v1", "metadata": {"generateName": "web-"}}
    state = write_state(node("a", cpu=4))
    _, out, _ = ksched("capacity", "-f", write_pod(job), "--state", state)
    assert out.startswith("it fits, and 3 more would\n")
    assert "default/Job/web-bbbbb" in out


def test_the_pods_of_the_next_run_of_a_cron_job_are_counted(
    ksched: Ksched, write_state: WriteState
) -> None:
    template = _workload("Job")["spec"]["template"]
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}},
    }
    state = write_state(node("a", cpu=4), cron_job)
    _, out, _ = ksched("capacity", "cronjob/nightly", "--state", state)
    job = "Job default/nightly-1 of CronJob default/nightly"
    assert out.startswith(f"4 more pods of {job} fit, on 1 node\n")


def test_each_copy_of_a_pod_has_claims_of_its_own(capacity: Answer, write_pod: WriteState) -> None:
    """One claim that one pod alone may use would let a single copy in."""
    template = {"spec": {"devices": {"requests": [devices.request("r", "gpu")]}}}
    reference = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]}
    objects = [
        node("a", cpu=8),
        devices.device_class("gpu", [f'device.driver == "{devices.GPU}"']),
        devices.resource_slice(0, {"node": "a", "devices": {"g0": {}, "g1": {}, "g2": {}}}),
        devices.thing("ResourceClaimTemplate", "one", template, namespace="default"),
    ]
    waiting = pod("p", spec=reference)
    _, fits = capacity("-f", write_pod(waiting), "--max", 9, objects=objects)
    assert [workload["more"] for workload in fits["workloads"]] == [2]
    assert capacity("p", "--max", 9, objects=[*objects, waiting])[1]["count"] == 3
    assert capacity("p", "--max", 1, objects=[*objects, waiting])[1]["count"] == 1
    running = pod("q", node="a", spec=reference)
    assert capacity("q", "--max", 9, objects=[*objects, running, waiting])[1]["count"] == 2
