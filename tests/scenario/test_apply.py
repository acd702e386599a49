"""apply, patch, and what a change cannot name."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, KschedError
from ksched_cli.scenario.file import read_scenario
from ksched_cli.testing import cluster, node, pod
from tests.scenario.build import changed, cpu_of, nodes_of, template, web, workload


def test_apply_makes_what_is_not_there_and_merges_what_is(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(json.dumps({"kind": "List", "items": [workload("Deployment"), {"kind": "X"}]}))
    state, did = changed(cluster(node("n1")), f"apply -f {path} -n prod")
    assert did[0] == "Deployment prod/web: created"
    assert did[1] == "X : passed over (the scheduler does not read this kind)"
    assert len(state.pods) == 1
    assert changed(state, f"apply -f {path} -n prod")[1][0] == "Deployment prod/web: unchanged"
    larger = workload("Deployment", replicas=3)
    larger["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    path.write_text(json.dumps(larger))
    state, did = changed(state, f"apply -f {path} -n prod")
    assert did[:2] == [
        "Deployment prod/web: configured",
        "Deployment prod/web: scaled (1 → 3 pods)",
    ]
    assert [cpu_of(pod) for pod in state.pods] == ["3", "3", "3"]


def test_a_stateful_set_without_replicas_is_applied_with_one(tmp_path: Path) -> None:
    path = tmp_path / "web.json"
    path.write_text(json.dumps(workload("StatefulSet")))
    state, _ = changed(cluster(node("n1")), f"apply -f {path}")
    assert list(nodes_of(state)) == ["default/web-0"]


@pytest.mark.parametrize("timestamp", [None, "2020-01-01T00:00:00Z"])
def test_a_pod_that_is_applied_is_created_now(tmp_path: Path, timestamp: str | None) -> None:
    """The API server sets creationTimestamp, whatever the manifest says."""
    path = tmp_path / "pod.yaml"
    path.write_text(json.dumps(pod("new", metadata={"creationTimestamp": timestamp})))
    created = {"creationTimestamp": "2026-01-31T00:00:00Z"}
    state = cluster(node("n1"), pod("running", node="n1"), pod("old", metadata=created))
    after, _ = changed(state, f"apply -f {path}")
    times = {pod.name: pod.metadata.creation_timestamp for pod in after.pods}
    assert times == {"running": "", "old": times["new"], "new": "2026-01-31T00:00:00Z"}
    assert changed(after, f"apply -f {path}")[1] == ["Pod default/new: unchanged"]


@pytest.mark.parametrize("flag", ["-p @{}", "--patch-file {}", "--patch-file=@"])
def test_a_patch_may_be_in_a_file(tmp_path: Path, flag: str) -> None:
    path = tmp_path / "patch.yaml"
    path.write_text("metadata:\n  labels: {a: b}\n")
    change = f"patch node/n1 {flag.format(path)}"
    if flag.endswith("@"):
        with pytest.raises(InputError, match="there is no such file"):
            changed(cluster(node("n1")), change)
        return
    assert changed(cluster(node("n1")), change)[0].nodes[0].metadata.labels["a"] == "b"


def test_apply_takes_a_selector(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    pods = [pod("a", labels={"app": "web"}), pod("b"), {"kind": "Pod", "metadata": {"name": "c"}}]
    path.write_text(json.dumps({"kind": "List", "items": pods}))
    state, did = changed(cluster(), f"apply -f {path} -l app=web --server-side --validate=false")
    assert [each.name for each in state.pods] == ["a"]
    assert did[:2] == [
        "--server-side: ignored (it changes nothing here)",
        "--validate=false: ignored (it changes nothing here)",
    ]


def test_a_cron_job_is_one_run_where_it_is_applied(tmp_path: Path) -> None:
    path = tmp_path / "web.json"
    job = {"spec": {"template": template()}}
    cron_job = workload("CronJob", jobTemplate=job)
    path.write_text(json.dumps(cron_job))
    state, did = changed(cluster(node("n1")), f"apply -f {path}")
    assert did == [
        "CronJob default/web: created",
        "Job default/web-1: created (a run of CronJob default/web)",
        "default/web-1-bbbbb: pending (created for Job default/web-1)",
    ]
    assert changed(state, f"apply -f {path}")[1] == ["CronJob default/web: unchanged"]
    path.write_text(json.dumps({**cron_job, "spec": {**cron_job["spec"], "schedule": "@daily"}}))
    assert list(nodes_of(changed(state, f"apply -f {path}")[0])) == [
        "default/web-1-bbbbb",
        "default/web-2-bbbbb",
    ]
    path.write_text(json.dumps(workload("CronJob", jobTemplate=job, suspend=True)))
    assert changed(cluster(), f"apply -f {path}")[1] == ["CronJob default/web: created"]


def test_a_scenario_may_hold_objects_and_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(json.dumps(pod("a")))
    scenario = tmp_path / "scenario.yaml"
    changes = ["apply -f pod.yaml", {"apply": pod("b")}]
    document = {"apiVersion": "ksched/v1", "kind": "Scenario", "changes": changes}
    scenario.write_text(json.dumps(document))
    state = cluster(node("n1"))
    for change in read_scenario(str(scenario)):
        state, _ = change.apply(state)
    assert list(nodes_of(state)) == ["default/a", "default/b"]


def test_an_object_that_is_not_valid_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "web.json"
    path.write_text(json.dumps(pod("a", cpu="many")))
    with pytest.raises(InputError, match="many"):
        changed(cluster(node("n1")), f"apply -f {path}")


@pytest.mark.parametrize(
    ("line", "check"),
    [
        (
            """patch node n1 -p '{"spec":{"unschedulable":true}}'""",
            lambda state: state.nodes[0].spec.unschedulable,
        ),
        (
            """patch node/n1 --type=json -p '[
            {"op":"replace","path":"/status/allocatable/cpu","value":"9"}]'""",
            lambda state: str(state.nodes[0].status.allocatable["cpu"]) == "9",
        ),
        (
            """patch deployment web --type=merge -p '{"spec":{"replicas":3}}'""",
            lambda state: len(state.pods) == 3,
        ),
        (
            """patch deployment web --type=merge -p '{"spec":{"replicas":null}}'""",
            lambda state: len(state.pods) == 1,
        ),
        (
            """patch deploy/web -p '{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}'""",
            lambda state: all(pod.spec.node_selector == {"a": "b"} for pod in state.pods),
        ),
        (
            """patch deploy/web -p '{"spec":{"template":{"spec":{"containers":[
            {"name":"c","resources":{"requests":{"cpu":"2"}}}]}}}}'""",
            lambda state: [cpu_of(pod) for pod in state.pods] == ["2", "2"],
        ),
    ],
)
def test_patches_change_what_they_name(line: str, check: Callable[[ClusterState], bool]) -> None:
    state = web()
    assert not check(state)
    assert check(changed(state, line)[0])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("patch node n2 -p '{}'", 'no Node "n2" in the state'),
        ("patch node n1 -p 'x'", "-p takes JSON or YAML in quotes"),
        ("patch node n1 --type=x -p '{}'", "it takes strategic, merge, json"),
        (
            """patch node n1 --type=json -p '[{"op":"remove","path":"/spec/no"}]'""",
            'remove at "/spec/no": this path does not exist',
        ),
        ("delete deployment/x", 'no Deployment "x"'),
        ("delete thing/x", '"thing/x" is not accepted here'),
        ("apply", 'expected "apply -f FILE"'),
        ("apply -f /none.yaml", "there is no such file"),
        ("set resources deploy/web", "expected --requests=cpu=200m"),
        ("set resources deploy/web --requests=cpu", '"cpu" is not RESOURCE=AMOUNT'),
        ("set resources deploy/web --requests=cpu=1 -c x", 'has no container "x"'),
    ],
)
def test_what_cannot_be_done_is_an_error(line: str, message: str) -> None:
    with pytest.raises(KschedError) as error:
        changed(web(), line)
    assert message in str(error.value)


BAD = """# what helm prints
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: c
        resources: {requests: {cpu: CPU}}
      nodeSelektor: {a: b}
"""


def test_what_is_wrong_in_a_file_is_shown_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(BAD.replace("CPU", "many"))
    with pytest.raises(
        InputError, match=r"release.yaml:11:32: Deployment web: spec.template"
    ) as error:
        changed(cluster(node("n1")), f"apply -f {path}")
    assert 'quantity "many"' in str(error.value)


def test_unknown_fields_of_a_file_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(BAD.replace("CPU", "1"))
    state, _ = changed(cluster(node("n1")), f"apply -f {path}")
    (warning,) = [line for line in state.warnings if "nodeSelektor" in line]
    assert warning.startswith(
        f"{path}:12:7: Deployment web: ignored the unknown field spec.template.spec."
    )


def test_an_error_in_what_a_change_makes_has_no_position_of_a_text_that_nobody_wrote() -> None:
    patch = '{"spec": {"template": {"spec": {"priority": "high"}}}}'
    with pytest.raises(InputError) as error:
        changed(web(), f"patch deployment/web -p '{patch}'")
    assert str(error.value).startswith("a changed Deployment: Deployment web: spec.")
    assert error.value.position is None


def test_an_object_of_a_generated_name_is_created_whenever_it_is_applied(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    task, job = pod("", cpu=1), workload("Job")
    for each in (task, job):
        each["metadata"] = {"generateName": "task-"}
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [task, job]}))
    state, did = changed(cluster(node("n1")), f"apply -f {path}", f"apply -f {path}")
    assert did == [
        "Pod default/task-bbbbb: created",
        "Job default/task-bbbbb: created",
        "default/task-bbbbb-bbbbb: pending (created for Job default/task-bbbbb)",
        "Pod default/task-bbbbc: created",
        "Job default/task-bbbbc: created",
        "default/task-bbbbc-bbbbb: pending (created for Job default/task-bbbbc)",
    ]
    assert len({each.uid for each in state.pods}) == 4


def test_a_name_counts_where_a_generated_name_is_given_too(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    path.write_text(json.dumps(pod("task", metadata={"generateName": "other-"})))
    _, did = changed(cluster(node("n1")), *[f"apply -f {path}"] * 2)
    assert did == ["Pod default/task: created", "Pod default/task: unchanged"]


@pytest.mark.parametrize("annotation", ["no JSON", "[" * 5000])
def test_what_was_applied_last_counts_as_nothing_if_it_cannot_be_read(
    tmp_path: Path, annotation: str
) -> None:
    path = tmp_path / "pod.json"
    path.write_text(json.dumps(pod("p", labels={"app": "y"})))
    applied = {"kubectl.kubernetes.io/last-applied-configuration": annotation}
    there = pod("p", labels={"app": "x", "tier": "z"}, metadata={"annotations": applied})
    state, _ = changed(cluster(there), f"apply -f {path}")
    assert state.pods[0].metadata.labels == {"app": "y", "tier": "z"}
