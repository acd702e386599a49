"""`ksched explain` from the command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Answer, Ksched, WriteState, answering
from tests.report.schemas import conforms
from tests.scenario.build import template, workload

EXAMPLE = Path(__file__).parents[2] / "examples" / "preemption" / "cluster.yaml"


@pytest.fixture
def explain(ksched: Ksched, write_state: WriteState) -> Answer:
    return answering("explain", "explanation", ksched, write_state)


def test_a_pod_that_fits_is_exit_code_0(explain: Answer) -> None:
    code, result = explain("p", objects=[node("a"), pod("p")])
    assert (code, result["node"]) == (0, "a")


def test_a_pod_that_fits_nowhere_is_exit_code_1(explain: Answer) -> None:
    code, result = explain("p", objects=[node("a", cpu=1), pod("p", cpu=2)])
    assert (code, result["node"]) == (1, "")
    assert result["nodes"][0]["rejections"][0]["details"] == ["cpu: wants 2, 1 free of 1"]


def test_the_others_come_in_their_turn_unless_they_are_left_out(explain: Answer) -> None:
    objects = [node("a", cpu=1), pod("other", cpu=1), pod("p", cpu=1)]
    assert explain("p", objects=objects)[0] == 1
    assert explain("p", "--alone", objects=objects)[0] == 0


def test_a_running_pod_is_ranked_where_it_is(explain: Answer) -> None:
    objects = [node("a"), node("b", cpu=64), node("c", cpu=1), pod("p", node="a", cpu=2)]
    code, result = explain("p", objects=objects)
    assert (code, result["runningOn"], result["node"]) == (0, "a", "b")
    assert (result["rank"], result["feasible"]) == (2, 2)


def test_the_table_of_a_running_pod_says_where_it_is_and_where_it_would_go(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("a"), node("b", cpu=64), node("c", cpu=1), pod("p", node="a", cpu=2))
    code, out, _ = ksched("explain", "p", "--state", state)
    assert code == 0
    assert "runs on a, rank 2 of 2\ntoday it would go to b with " in out


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (pod("p", node="a", status={"phase": "Succeeded"}), "finished (Succeeded)"),
        (pod("p", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "being deleted"),
        (pod("p", node="a", annotations={"kubernetes.io/config.mirror": "x"}), "a static pod"),
        (pod("p", profile="mine"), 'for the scheduler "mine"'),
    ],
)
def test_a_pod_that_the_scheduler_never_looks_at_gets_no_node(
    manifest: dict[str, Any], reason: str, explain: Answer, ksched: Ksched, write_state: WriteState
) -> None:
    code, result = explain("p", objects=[node("a"), manifest])
    assert (code, result["node"], result["nodes"]) == (1, "", [])
    assert result["ignored"].startswith(reason)
    _, out, _ = ksched("explain", "p", "--state", write_state(node("a"), manifest))
    assert f"The scheduler never looks at default/p: it is {reason}" in " ".join(out.split())


def test_the_answer_is_that_of_schedule_where_not_all_nodes_are_looked_at(explain: Answer) -> None:
    large = [node(f"z{i}", cpu=64) for i in range(10)]
    objects = [*(node(f"n{i:03}", cpu=4) for i in range(200)), *large, pod("p", cpu=1)]
    code, result = explain("p", objects=objects)
    assert (code, result["node"], result["evaluated"]) == (0, "n000", 102)
    assert result["bestOfAll"]["node"] == "z0"
    assert (result["feasible"], result["rank"]) == (210, 11)


FAILING = """
from ksched_cli.api import SUCCESS, FilterPlugin

class Failing(FilterPlugin):
    name = "Failing"

    def filter(self, state, pod, node):
        if pod.name == "p":
            raise ValueError("odd")
        return SUCCESS
"""


@pytest.mark.parametrize("command", ["explain", "preempt"])
def test_a_pod_that_a_plugin_fails_on_cannot_be_decided(
    command: str, ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    plugin = tmp_path / "failing.py"
    plugin.write_text(FAILING)
    state = write_state(node("a"), pod("other"), pod("p"))
    code, out, err = ksched(command, "p", "--state", state, "--plugin", plugin)
    assert code == 3
    assert "cannot be decided: " in out
    assert "fits on no node" not in out
    assert "plugin Failing failed in filter: ValueError: odd" in err
    assert ksched(command, "other", "--state", state, "--plugin", plugin)[0] == 0


def test_preempt_is_suggested_only_where_evictions_might_help(
    ksched: Ksched, write_state: WriteState
) -> None:
    def table(*objects: dict[str, Any]) -> str:
        return ksched("explain", "p", "--alone", "--state", write_state(*objects))[1]

    low = pod("low", node="a", cpu=1)
    hint = "ksched preempt default/p  # shows whether evicting other pods would help"
    assert hint not in table(node("a", cpu=1), low, pod("p", cpu=1))
    assert hint not in table(node("a", cpu=1), low, pod("p", cpu=2, priority=9))
    never = pod("p", cpu=1, priority=9, spec={"preemptionPolicy": "Never"})
    assert hint not in table(node("a", cpu=1), low, never)
    # The node would do without pods, but one of higher priority stays.
    high = pod("high", node="a", cpu=1, priority=99)
    assert hint in table(node("a", cpu=2), low, high, pod("p", cpu=2, priority=9))


def test_the_table_begins_with_the_verdict(ksched: Ksched) -> None:
    code, out, _ = ksched("explain", "report", "--state", EXAMPLE)
    assert code == 1
    assert out.startswith("default/report fits on no node\ndogwood would take it but for")


def test_a_pod_that_is_placed_after_evictions_says_so(ksched: Ksched) -> None:
    code, out, _ = ksched("explain", "checkout", "--state", EXAMPLE)
    assert code == 0
    assert "goes to apple, the only node it fits on\nafter evicting default/crunch-3" in out


def test_an_unknown_pod_is_bad_usage(ksched: Ksched) -> None:
    code, out, err = ksched("explain", "checkuot", "--state", EXAMPLE)
    assert (code, out) == (2, "")
    assert "did you mean default/checkout?" in err


def test_all_pending_pods_are_explained_at_once(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("a"), pod("p", cpu=9), pod("q"))
    code, out, _ = ksched("explain", "--pending", "--state", state, "-o", "json")
    (group,) = conforms(json.loads(out), "pending_report")["groups"]
    assert (code, group["owner"], group["pods"]) == (1, "Pod/p", ["default/p"])
    (reason,) = group["reasons"]
    assert (reason["reason"], reason["nodes"]) == ("Insufficient cpu", 1)
    assert reason["nearest"] == {"node": "a", "detail": "cpu: wants 9, 4 free of 4", "ties": 0}
    code, out, _ = ksched("explain", "--pending", "--state", state)
    assert (code, out.splitlines()[0]) == (1, "1 pod stays pending")
    assert ksched("explain", "--pending", "--state", write_state(node("a"), pod("q")))[0] == 0


def test_undecided_pods_among_the_pending_are_exit_code_3(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    plugin = tmp_path / "failing.py"
    plugin.write_text(FAILING)
    state = write_state(node("a"), pod("p"), pod("q", cpu=9))
    code, out, _ = ksched("explain", "--pending", "--state", state, "--plugin", plugin)
    assert code == 3
    assert "cannot be decided: " in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--node", "a"), "--node, --top and --alone require a POD or -f FILE"),
        (("p", "--owner", "job/p"), "-l and --owner choose among the pending pods"),
        (("p", "--pending"), "explain takes one of POD, -f FILE, and --pending"),
        (("p", "-f", "pod.yaml"), "explain takes one of POD, -f FILE, and --pending"),
        (
            ("--pending", "--node", "a"),
            "--node, --top and --alone require a POD or -f FILE",
        ),
        (("--pending", "--top", "1"), "--node, --top and --alone require a POD or -f FILE"),
        (("--pending", "--alone"), "--node, --top and --alone require a POD or -f FILE"),
        (
            ("p", "--node", "node-7"),
            'no node "node-7" in the state (1 nodes); did you mean node-1?',
        ),
    ],
)
def test_what_cannot_be_asked_is_bad_usage(
    arguments: list[str], message: str, ksched: Ksched, write_state: WriteState
) -> None:
    code, out, err = ksched("explain", *arguments, "--state", write_state(node("node-1"), pod("p")))
    assert (code, out) == (2, "")
    assert message in err


def test_nodes_are_selected_by_name_and_rank(explain: Answer) -> None:
    objects = [
        *(node(f"n{cpu:02}", cpu=cpu) for cpu in (64, 32, 16, 8, 4, 3, 2, 1)),
        pod("p", cpu=4),
    ]

    def nodes(*arguments: str | int) -> list[str]:
        code, result = explain("p", *arguments, objects=objects)
        assert (code, result["node"], result["feasible"]) == (0, "n64", 5)
        assert result["reasons"][0]["nodes"] == 3
        return [entry["node"] for entry in result["nodes"]]

    # The one taken is always among them.
    assert nodes("--node", "n01", "--node", "n32") == ["n01", "n32", "n64"]
    assert nodes("--top", 2) == ["n32", "n64"]
    assert nodes("--top", 1, "--node", "n02") == ["n02", "n64"]
    # Then those that come nearest to fitting.
    assert nodes("--top", 6) == ["n03", "n04", "n08", "n16", "n32", "n64"]


def test_the_table_shows_the_selected_nodes_only(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("a"), node("b", cpu=8), node("c", cpu=1), pod("p", cpu=2))
    _, out, _ = ksched("explain", "p", "--node", "c", "--state", state)
    assert "goes to b with " in out
    assert "cpu: wants 2, 1 free of 1" in out
    assert re.findall("^Its points on (.*)$", out, re.M) == ["b"]
    assert re.findall("^ +([12])  +(.*?)  ", out, re.M) == [("1", "b (chosen)")]
    _, out, _ = ksched("explain", "p", "--node", "a", "--state", state)
    assert re.findall("^Its points on (.*)$", out, re.M) == ["b", "a"]
    assert re.findall("^ +([12])  +(.*?)  ", out, re.M) == [("1", "b (chosen)"), ("2", "a")]


def deployment(name: str, **requests: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., Path]:
    def write(*objects: dict[str, Any]) -> Path:
        path = tmp_path / "manifest with a name.json"
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        return path

    return write


@pytest.mark.parametrize(
    ("applied", "name"),
    [(pod("new", "shop", cpu=1), "shop/new"), (deployment("web", cpu="1"), "shop/web-")],
)
def test_a_manifest_is_asked_about_behind_the_pods_that_wait_already(
    applied: dict[str, Any], name: str, explain: Answer, manifest: Callable[..., Path]
) -> None:
    waits = pod("waits", cpu=1)
    waits["metadata"]["creationTimestamp"] = "2025-01-01T00:00:00Z"
    objects = [node("a", cpu=1), waits]
    code, result = explain("-f", manifest(applied), "-n", "shop", objects=objects)
    assert code == 1
    assert result["pod"].startswith(name)
    assert result["changes"][0]["did"]
    code, result = explain("-f", manifest(applied), "-n", "shop", "--alone", objects=objects)
    assert (code, result["node"]) == (0, "a")


def test_a_manifest_of_what_is_there_changes_it_first(
    explain: Answer, manifest: Callable[..., Path]
) -> None:
    path = manifest(pod("p", cpu=1))
    code, result = explain("-f", path, objects=[node("a", cpu=1), pod("p", cpu=2)])
    assert (code, result["pod"], result["node"]) == (0, "default/p", "a")


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ((), "expected one Pod or one workload, found none"),
        (
            (pod("a"), deployment("b")),
            "expected one Pod or one workload, found Pod default/a, Deployment default/b",
        ),
    ],
)
def test_a_manifest_is_of_one_pod_or_workload(
    objects: tuple[dict[str, Any], ...],
    problem: str,
    manifest: Callable[..., Path],
    ksched: Ksched,
    write_state: WriteState,
) -> None:
    state = write_state(node("n"))
    code, out, err = ksched("explain", "-f", manifest(*objects), "--state", state)
    assert (code, out) == (2, "")
    assert problem in err


def test_state_and_manifest_are_not_both_on_standard_input(ksched: Ksched) -> None:
    code, _, err = ksched("explain", "-f", "-", "--state", "-")
    assert (code, err) == (2, "error: only one of --state and -f can be standard input\n")


MEMBER = {"schedulingGroup": {"podGroupName": "red"}}
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "red", "namespace": "default"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}
GROUPS = ("--kubernetes-version", "1.37", "--feature-gates", "GenericWorkload=true")


@pytest.mark.parametrize(("cpu", "code"), [("2", 0), ("1", 1)])
def test_a_group_is_exit_code_0_where_all_of_its_pods_have_a_node(
    cpu: str, code: int, ksched: Ksched, write_state: WriteState
) -> None:
    pods = [pod(name, cpu=1, spec=MEMBER) for name in ("p", "q")]
    explain = answering("explain", "group_explanation", ksched, write_state)
    got, result = explain("podgroup/red", *GROUPS, objects=[node("a", cpu=cpu), GROUP, *pods])
    assert (got, result["kind"], result["pending"]) == (code, "GroupExplanation", 2 * code)


def test_a_group_is_a_table_a_page_and_a_list_of_names(
    ksched: Ksched, write_state: WriteState
) -> None:
    pods = [pod(name, cpu=1, spec=MEMBER) for name in ("p", "q")]
    state = write_state(node("a", cpu=1), GROUP, *pods)
    _, out, _ = ksched("explain", "red", *GROUPS, "--state", state)
    assert "gets no node\ndefault/q blocks it" in out
    assert "explain default/q  # shows every node for the pod that blocks" in out
    _, out, _ = ksched("explain", "red", *GROUPS, "--state", state, "-o", "html")
    assert "default/q blocks it" in out
    _, out, _ = ksched("explain", "red", *GROUPS, "--state", state, "-o", "name")
    assert out.split() == ["default/p", "default/q"]


@pytest.mark.parametrize("option", [("--alone",), ("--top", "3"), ("--node", "a")])
def test_options_about_nodes_are_not_of_groups(
    option: tuple[str, ...], ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("a"), GROUP, pod("p", spec=MEMBER))
    code, _, err = ksched("explain", "podgroup/red", *GROUPS, *option, "--state", state)
    assert code == 2
    assert "ask about one of its pods" in err


def test_a_group_of_a_version_that_is_not_read_is_warned_of(
    ksched: Ksched, write_state: WriteState
) -> None:
    former = GROUP | {"apiVersion": "scheduling.k8s.io/v1alpha2"}
    state = write_state(node("a"), former, pod("p", spec=MEMBER))
    _, _, err = ksched("explain", "podgroup/red", *GROUPS, "--state", state)
    assert "not read: PodGroup default/red of scheduling.k8s.io/v1alpha2" in err


def test_a_cron_job_of_a_file_is_explained_by_the_job_of_its_run(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    cron_job = workload("CronJob", "nightly", jobTemplate={"spec": {"template": template()}})
    path = tmp_path / "cronjob.json"
    path.write_text(json.dumps(cron_job))
    _, out, _ = ksched("explain", "-f", path, "--state", write_state(node("a")))
    assert out.startswith("default/nightly-1-bbbbb goes to a, the only node it fits on\n")
    assert "created (a run of CronJob" in out
