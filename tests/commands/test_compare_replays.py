"""`ksched compare --timeline` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms


def test_a_change_makes_pods_wait(ksched: Ksched, write_state: WriteState, tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    events = [{"at": at, "pod": pod(f"p{at}", cpu=1), "runsFor": 9} for at in range(2)]
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}))
    state = write_state(node("a", cpu=1), node("b", cpu=1))
    command = ("compare", "--timeline", path, "--state", state)
    code, out, _ = ksched(*command, "-o", "json", "--vs", "--change", "cordon b")
    result = conforms(json.loads(out), "comparison")
    assert code == 1
    assert [side["name"] for side in result["sides"]] == ["without changes", "cordon b"]
    assert [side["differing"] for side in result["sides"]] == [0, 1]
    assert result["pods"][-1]["waited"] == [0, 8]
    code, out, _ = ksched(*command, "--vs", "--change", "label nodes a x=y")
    assert code == 0
    assert "no difference" in out
    code, _, err = ksched(*command)
    assert (code, "nothing to compare" in err) == (2, True)


def test_an_autoscaler_makes_a_side_without_and_a_side_with_it(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    path, scaling = tmp_path / "timeline.json", tmp_path / "more.json"
    events = [{"at": at, "pod": pod(f"p{at}", cpu=1), "runsFor": 900} for at in range(2)]
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}))
    group = {"name": "g", "like": "a", "maxSize": 2}
    header = {"apiVersion": "ksched/v1", "kind": "Autoscaler"}
    scaling.write_text(json.dumps({**header, "nodeGroups": [group]}))
    state = write_state(node("a", cpu=1))
    command = ("compare", "--state", state)
    sides = ("--vs", "--autoscaler", scaling)
    code, out, _ = ksched(*command, "--timeline", path, "-o", "json", *sides)
    result = conforms(json.loads(out), "comparison")
    assert code == 1
    assert [side["name"] for side in result["sides"]] == ["without autoscaler", "with more.json"]
    assert [side["nodes"]["max"] for side in result["sides"]] == [1, 2]
    _, out, _ = ksched(*command, "--timeline", path, *sides)
    assert "node-hours, g" in out
    code, _, err = ksched(*command, *sides)
    assert (code, "--autoscaler requires a timeline" in err) == (2, True)


def test_two_configurations_are_compared_under_one_autoscaler(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    path, scaling, config = (tmp_path / name for name in ("t.json", "more.json", "slow.yaml"))
    events = [{"at": at, "pod": pod(f"p{at}", cpu=1), "runsFor": 900} for at in range(2)]
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}))
    group = {"name": "g", "like": "a", "maxSize": 2}
    header = {"apiVersion": "ksched/v1", "kind": "Autoscaler"}
    scaling.write_text(json.dumps({**header, "nodeGroups": [group]}))
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "podInitialBackoffSeconds: 10\n"
    )
    state = write_state(node("a", cpu=1))
    shared = ("--state", state, "--timeline", path, "--autoscaler", scaling, "-o", "json")
    _, out, _ = ksched("compare", *shared, "--vs", "--config", config)
    result = conforms(json.loads(out), "comparison")
    assert [side["name"] for side in result["sides"]] == ["default configuration", "slow.yaml"]
    assert [side["nodes"]["max"] for side in result["sides"]] == [2, 2]


def test_users_of_jobs_are_compared(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    """One core: ann's job of two pods runs until 20, bob's waits for it."""
    path = tmp_path / "timeline.json"
    names = {"a-0": ("a", "ann"), "a-1": ("a", "ann"), "b-0": ("b", "bob")}
    events = [
        {"at": 0, "pod": pod(name, cpu=1, labels={"job": job, "user": user}), "runsFor": 10}
        for name, (job, user) in names.items()
    ]
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}))
    state = write_state(node("a", cpu=1))
    given = ("--timeline", path, "--state", state, "--user-label", "user")
    sides = ("--job-label", "job", "--vs", "--change", "add-nodes b --like a")
    code, out, _ = ksched("compare", *given, *sides, "-o", "json")
    result = conforms(json.loads(out), "comparison")
    assert code == 1
    assert [
        [(user["name"], user["boundedSlowdown"]) for user in side["users"]]
        for side in result["sides"]
    ] == [[("ann", 2), ("bob", 3)], [("ann", 1), ("bob", 2)]]
    _, out, _ = ksched("compare", *given, *sides)
    assert "bounded slowdown, bob" in out
    _, out, _ = ksched("compare", *given, "--vs", "--job-label", "job")
    assert "jobs by group and controller  jobs by job" in out
    _, out, _ = ksched("replay", *given[1:], "--job-label", "job")
    assert "Jain's index of the slowdowns is 0.96" in out
    code, _, err = ksched("schedule", "--state", state, "--user-label", "user")
    assert (code, "--user-label requires a timeline" in err) == (2, True)
