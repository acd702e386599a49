"""`ksched audit` from the command line."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.report.schemas import conforms

NODES = [node("a", cpu=4), node("b", cpu=8)]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """The path of a state of this name."""

    def write(name: str, *objects: dict[str, Any]) -> Path:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
        return path

    return write


def bound(name: str, on: str, second: int = 1, **fields: Any) -> dict[str, Any]:
    """As the API server has it."""
    manifest = pod(name, node=on, **fields)
    manifest["metadata"]["resourceVersion"] = str(100 + second)
    time = f"2026-01-01T00:00:{second:02}Z"
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time}
    return {**manifest, "status": {"phase": "Pending", "conditions": [condition]}}


def scheduled(name: str, on: str, second: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.1", "namespace": "default"},
        "reason": "Scheduled",
        "involvedObject": {"namespace": "default", "name": name, "uid": f"default/{name}"},
        "message": f"Successfully assigned default/{name} to {on}",
        "eventTime": f"2026-01-01T00:00:{second:02}.000001Z",
    }


def answer(ksched: Ksched, before: Path, *after: Path) -> tuple[int, dict[str, Any]]:
    files = [option for path in after for option in ("--after", path)]
    code, out, err = ksched("audit", "--before", before, *files, "-o", "json")
    assert out, err
    return code, conforms(json.loads(out), "audit_result")


def test_decisions_that_agree_are_exit_code_0(ksched: Ksched, write: Write) -> None:
    before = write("before", *NODES, pod("p", cpu=2))
    code, result = answer(ksched, before, write("after", *NODES, bound("p", "b", cpu=2)))
    assert (code, result["decisions"], result["agree"], result["differ"]) == (0, 1, 1, [])
    assert result["kubernetesVersion"] == "v1.34.1"
    assert result["warnings"] == []


def test_a_decision_that_differs_is_exit_code_1(ksched: Ksched, write: Write) -> None:
    before = write("before", *NODES, pod("p", cpu=2))
    code, result = answer(ksched, before, write("after", *NODES, bound("p", "a", cpu=2)))
    (differing,) = result["differ"]
    assert (code, differing["node"], differing["expected"]) == (1, "a", ["b"])
    assert set(differing["scores"]) == {"a", "b"}


def test_the_second_of_the_binding_orders_decisions(ksched: Ksched, write: Write) -> None:
    """Only where `big` came first, `p` had to go to a; 30 seconds are no matter of races."""
    before = write("before", *NODES, pod("big", cpu=7), pod("p", cpu=3))
    after = write("after", *NODES, bound("big", "b", 1, cpu=7), bound("p", "a", 31, cpu=3))
    assert answer(ksched, before, after)[0] == 0
    swapped = write("swapped", *NODES, bound("big", "b", 31, cpu=7), bound("p", "a", 1, cpu=3))
    assert answer(ksched, before, swapped)[0] == 1


def test_events_may_lie_in_a_file_of_their_own(ksched: Ksched, write: Write) -> None:
    before = write("before", *NODES, pod("big", cpu=7), pod("p", cpu=3))
    times = (bound("big", "b", 31, cpu=7), bound("p", "a", 1, cpu=3))
    running = [{**p, "status": {**p["status"], "phase": "Running"}} for p in times]
    after = write("after", *NODES, *running)
    (unexplained,) = answer(ksched, before, after)[1]["unexplained"]
    assert "one second" in unexplained["reason"]
    events = write("events", scheduled("big", "b", 1), scheduled("p", "a", 31))
    code, result = answer(ksched, before, after, events)
    assert (code, result["agree"]) == (0, 2)


def test_the_configuration_is_the_one_that_is_judged_by(
    ksched: Ksched, write: Write, tmp_path: Path
) -> None:
    config = tmp_path / "config.json"
    profile = {"plugins": {"score": {"disabled": [{"name": "*"}]}}}
    config.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [profile],
            }
        )
    )
    before = write("before", *NODES, pod("p", cpu=2))
    after = write("after", *NODES, bound("p", "a", cpu=2))
    assert ksched("audit", "--before", before, "--after", after)[0] == 1
    assert ksched("audit", "--before", before, "--after", after, "--config", config)[0] == 0


def test_names_of_the_pods_that_differ(ksched: Ksched, write: Write) -> None:
    before = write("before", *NODES, pod("p", cpu=2))
    after = write("after", *NODES, bound("p", "a", cpu=2))
    assert ksched("audit", "--before", before, "--after", after, "-o", "name") == (
        1,
        "default/p\n",
        "",
    )


def test_a_warning_of_the_second_state_is_shown(ksched: Ksched, write: Write) -> None:
    before = write("before", *NODES)
    after = write("after", *NODES, pod("p", spec={"nodeNmae": "a"}))
    assert "nodeNmae" in ksched("audit", "--before", before, "--after", after)[2]


@pytest.mark.parametrize("missing", ["before", "after"])
def test_both_states_are_needed(ksched: Ksched, write: Write, missing: str) -> None:
    path = write("state", *NODES)
    options = [o for name in ("before", "after") if name != missing for o in (f"--{name}", path)]
    code, _, err = ksched("audit", *options)
    message = "audit requires two states, --before PATH and --after PATH, or a recording"
    assert (code, err) == (2, f"error: {message}, --timeline FILE\n")


def test_swapped_states_are_an_error(ksched: Ksched, write: Write) -> None:
    before = write("before", *NODES, pod("p", cpu=2))
    after = write("after", *NODES, bound("p", "b", cpu=2))
    code, _, err = ksched("audit", "--before", after, "--after", before)
    assert (code, err) == (
        2,
        "error: --before is later than --after (default/p has a node in --before and "
        "none in --after): swap them\n",
    )


def test_pods_that_all_came_later_are_no_state_without_pods(ksched: Ksched, write: Write) -> None:
    before = write("before", *NODES)
    after = write("after", *NODES, bound("p", "b", cpu=2))
    assert ksched("audit", "--before", before, "--after", after)[2] == ""


def test_a_log_in_several_packed_files_is_one(ksched: Ksched, write: Write, tmp_path: Path) -> None:
    before = write("before", *NODES, pod("big", cpu=7), pod("p", cpu=3))
    after = write("after", *NODES, bound("big", "b", 31, cpu=7), bound("p", "a", 1, cpu=3))
    old, new = tmp_path / "scheduler.log.1.gz", tmp_path / "scheduler.log"
    old.write_bytes(gzip.compress(attempt("big").encode()))
    new.write_text(attempt("p").replace("09:00", "10:00"))
    files = [option for path in (new, old) for option in ("--scheduler-log", path)]
    code, out, _ = ksched("audit", "--before", before, "--after", after, *files, "-o", "json")
    assert (code, json.loads(out)["order"]) == (0, "log")


def test_standard_input_is_read_once(ksched: Ksched) -> None:
    code, _, err = ksched("audit", "--before", "-", "--after", "-")
    assert (code, "only one of --before and --after" in err) == (2, True)


def attempt(name: str) -> str:
    return f'I1122 09:00:00.0 1 x.go:100] "Attempting to schedule pod" pod="default/{name}"\n'


def test_the_log_of_the_scheduler_has_the_exact_order(
    ksched: Ksched, write: Write, tmp_path: Path
) -> None:
    before = write("before", *NODES, pod("big", cpu=7), pod("p", cpu=3))
    after = write("after", *NODES, bound("big", "b", 31, cpu=7), bound("p", "a", 1, cpu=3))
    log = tmp_path / "kube-scheduler.log"
    log.write_text(attempt("big") + attempt("p"))
    options = ("audit", "--before", before, "--after", after)
    assert ksched(*options)[0] == 1
    code, out, err = ksched(*options, "--scheduler-log", log, "-o", "json")
    assert (code, conforms(json.loads(out), "audit_result")["order"], err) == (0, "log", "")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("", "has no attempts to schedule pods; kube-scheduler logs them"),
        (attempt("other"), "it lacks attempts of pods that were placed"),
    ],
)
def test_a_log_that_does_not_help_is_warned_of(
    ksched: Ksched, write: Write, tmp_path: Path, text: str, warning: str
) -> None:
    before = write("before", *NODES, pod("p", cpu=2))
    after = write("after", *NODES, bound("p", "b", cpu=2))
    log = tmp_path / "kube-scheduler.log"
    log.write_text(text)
    code, _, err = ksched("audit", "--before", before, "--after", after, "--scheduler-log", log)
    assert (code, warning in err) == (0, True)


def test_a_recording_is_judged_by_the_state_beside_it(
    ksched: Ksched, write: Write, tmp_path: Path
) -> None:
    write("day.state", *NODES)
    head = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-01-01T00:00:00Z"}
    events: list[dict[str, Any]] = []
    for at, (name, on) in enumerate([("p", "b"), ("q", "a")], 1):
        events.append({"at": 60 * at, "pod": pod(name, cpu=at)})
        decision = {"namespace": "default", "name": name, "node": on}
        events.append({"at": 60 * at + 1, "decision": decision})
    timeline = tmp_path / "day.jsonl"
    timeline.write_text("\n".join(map(json.dumps, [head, *events])))
    code, out, _ = ksched("audit", "--timeline", timeline, "-o", "json")
    result = conforms(json.loads(out), "audit_result")
    assert (code, result["order"], result["agree"]) == (1, "recording", 1)
    assert [(each["pod"], each["expected"]) for each in result["differ"]] == [("default/q", ["b"])]


def test_a_recording_needs_no_other_state(ksched: Ksched) -> None:
    code, _, err = ksched("audit", "--timeline", "day.jsonl", "--after", "x.json")
    assert (code, "--timeline cannot be combined with --after" in err) == (2, True)
