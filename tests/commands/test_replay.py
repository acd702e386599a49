"""`ksched replay` from the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms

EVENTS = [
    {"at": 0, "pod": pod("a", cpu=1), "runsFor": 100},
    {"at": 1.5, "pod": pod("b", cpu=1), "runsFor": 30},
]


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    return write(tmp_path, EVENTS)


def write(folder: Path, events: list[dict[str, Any]]) -> Path:
    path = folder / "timeline.json"
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-01-01T00:00:00Z"}
    path.write_text(json.dumps({**header, "events": events}))
    return path


def test_pods_that_all_find_a_node_are_exit_code_0(
    ksched: Ksched, write_state: WriteState, timeline: Path
) -> None:
    state = write_state(node("n", cpu=1))
    code, out, _ = ksched("replay", timeline, "--state", state, "-o", "json", "--trace")
    result = conforms(json.loads(out), "replay_result")
    assert code == 0
    assert (result["start"], result["end"]) == ("2026-01-01T00:00:00Z", 130)
    assert result["waiting"]["all"]["max"] == 98.5
    first, second = result["pods"]
    assert (first["pod"], first["placed"], first["ended"]) == ("default/a", 0, 100)
    assert (second["queued"], second["placed"], second["outcome"]) == (1.5, 100, "ended")
    assert [(each["at"], each["result"]) for each in result["attempts"]] == [
        (0, "scheduled"),
        (1.5, "unschedulable"),
        (100, "scheduled"),
    ]
    assert result["queues"]["active"] == []


DOORS = """
from ksched_cli.api import FilterPlugin, SUCCESS, Status

class Doors(FilterPlugin):
    name = "Doors"
    reads = ("Door.example.com",)

    def filter(self, state, pod, node):
        doors = self.handle.cluster.others.get("Door.example.com", ())
        is_open = any(door["spec"]["open"] for door in doors)
        return SUCCESS if is_open else Status.unschedulable("no door is open")
"""


def test_objects_that_a_plugin_reads_come_and_go_and_let_pods_try_again(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    def door(is_open: bool) -> dict[str, Any]:
        metadata = {"name": "front", "namespace": "default"}
        spec = {"open": is_open}
        return {"apiVersion": "example.com/v1", "kind": "Door", "metadata": metadata, "spec": spec}

    (tmp_path / "doors.py").write_text(DOORS)
    events = [
        {"at": 0, "pod": pod("a", cpu=1)},
        {"at": 10, "put": door(False)},
        {"at": 20, "put": door(True)},
        {"at": 30, "delete": {"kind": "Door", "name": "front"}},
        {"at": 40, "pod": pod("b", cpu=1)},
    ]
    command = ("replay", write(tmp_path, events), "--state", write_state(node("n", cpu=4)))
    code, out, _ = ksched(*command, "--plugin", tmp_path / "doors.py", "-o", "json")
    assert code == 1
    first, second = json.loads(out)["pods"]
    assert (first["placed"], second["placed"]) == (20, None)
    assert "no door is open" in second["message"]
    code, _, err = ksched(*command)
    assert code == 2
    assert 'kube-scheduler does not read objects of kind "Door.example.com"' in err
    assert "no plugin declares it in `reads`" in err


@pytest.mark.parametrize("group", ["aaa.example", "zzz.example"])
def test_a_kind_of_several_groups_is_deleted_where_the_object_is(
    ksched: Ksched, write_state: WriteState, tmp_path: Path, group: str
) -> None:
    """A plugin that is installed may read a kind with the name of another one's."""
    source = DOORS.replace('("Door.example.com",)', f'("Door.example.com", "Door.{group}")')
    (tmp_path / "doors.py").write_text(source)
    door = {
        "apiVersion": "example.com/v1",
        "kind": "Door",
        "metadata": {"name": "front", "namespace": "default"},
        "spec": {"open": True},
    }
    events = [
        {"at": 0, "put": door},
        {"at": 30, "delete": {"kind": "Door", "name": "front"}},
        {"at": 40, "pod": pod("b", cpu=1)},
    ]
    command = ["replay", write(tmp_path, events), "--state", write_state(node("n", cpu=4))]
    command += ["--plugin", tmp_path / "doors.py", "-o", "json"]
    code, out, _ = ksched(*command)
    assert (code, json.loads(out)["pods"][0]["placed"]) == (1, None)
    events.insert(2, {"at": 35, "delete": {"kind": "Door", "name": "front"}})
    command[1] = write(tmp_path, events)
    code, _, err = ksched(*command)
    assert (code, "no Door front exists to delete" in err) == (2, True)


def test_a_zone_that_returns_as_another_is_warned_of(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    state = write_state(node("b0", labels={"topology.kubernetes.io/zone": "b"}))
    events = [{"at": at, "change": f"add-nodes c{at} --like b0"} for at in (1, 2)]
    _, out, err = ksched("replay", write(tmp_path, events), "--state", state, "-o", "json")
    assert "add-nodes c1 --like b0: the new nodes have b0's label" in err
    assert [line.partition(":")[0] for line in json.loads(out)["warnings"]] == [
        "add-nodes c1 --like b0",
        "add-nodes c2 --like b0",
    ]


def test_a_pod_that_stays_pending_is_exit_code_1(
    ksched: Ksched, write_state: WriteState, timeline: Path
) -> None:
    state = write_state(node("n", cpu=1), pod("big", cpu=9))
    code, out, _ = ksched("replay", timeline, "--state", state)
    assert code == 1
    assert "1 pending" in out
    assert "Insufficient cpu" in out
    assert max(map(len, out.splitlines())) <= 100
    code, out, _ = ksched("replay", timeline, "--state", state, "-o", "name")
    assert (code, out) == (1, "default/big\n")


def test_the_summary_leaves_the_pods_out(
    ksched: Ksched, write_state: WriteState, timeline: Path
) -> None:
    state = write_state(node("n", cpu=1))
    _, out, _ = ksched("replay", timeline, "--state", state, "-o", "json", "--summary")
    result = conforms(json.loads(out), "replay_result")
    assert "pods" not in result
    assert result["summary"]["placed"] == 2


def test_csv_has_a_line_per_pod(ksched: Ksched, write_state: WriteState, timeline: Path) -> None:
    state = write_state(node("n", cpu=1))
    _, out, _ = ksched("replay", timeline, "--state", state, "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["pod"], row["waited"]) for row in rows] == [
        ("default/a", "0"),
        ("default/b", "98.5"),
    ]


def test_the_last_state_is_written_for_other_commands(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    last = tmp_path / "last.json"
    events = [{"at": 0, "pod": pod("a", cpu=1)}, {"at": 5, "pod": pod("b", cpu=1)}]
    state = write_state(node("n", cpu=1))
    ksched("replay", write(tmp_path, events), "--state", state, "--save-state", last)
    items = json.loads(last.read_text())["items"]
    nodes = {each["metadata"]["name"]: each["spec"].get("nodeName") for each in items}
    assert nodes == {"n": None, "a": "n", "b": None}
    code, out, _ = ksched("schedule", "--state", last, "-o", "name")
    assert (code, out) == (1, "default/b\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--trace",), "--trace has no effect without -o json or -o yaml"),
        (("--summary",), "--summary has no effect without -o json or -o yaml"),
        (("--save-state", "x.yaml"), "a snapshot is JSON"),
        (("--save-state", "no/x.json"), "no/x.json cannot be written: No such file or directory"),
        (("--usage",), "--usage has no effect without -o csv"),
        (("--autoscaler", "no.yaml"), "there is no such file"),
        (("-o", "wide"), "-o of ksched replay takes one of"),
    ],
)
def test_options_that_do_not_fit_are_exit_code_2(
    ksched: Ksched,
    write_state: WriteState,
    timeline: Path,
    options: tuple[str, ...],
    message: str,
) -> None:
    code, _, err = ksched("replay", timeline, "--state", write_state(node("n")), *options)
    assert code == 2
    assert message in err


def test_a_timeline_that_is_not_there_is_exit_code_2(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    for name in ("no.yaml", "no.jsonl"):
        path = tmp_path / name
        code, _, err = ksched("replay", path, "--state", write_state(node("n")))
        assert (code, "there is no such file" in err) == (2, True)


def test_an_event_that_does_not_fit_is_exit_code_2(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    path = write(tmp_path, [{"at": 0, "change": "cordon m"}])
    code, _, err = ksched("replay", path, "--state", write_state(node("n")))
    assert code == 2
    assert 'event 0 of the timeline: change "cordon m": no node "m"' in err


def test_victims_may_leave_at_once(ksched: Ksched, write_state: WriteState, tmp_path: Path) -> None:
    state = write_state(node("n", cpu=1), pod("low", cpu=1, node="n"))
    path = write(tmp_path, [{"at": 5, "pod": pod("high", cpu=1, priority=9)}])
    command = ("replay", path, "--state", state, "-o", "json")
    placed = {}
    for options in ((), ("--evict-at-once",)):
        code, out, _ = ksched(*command, *options)
        assert code == 0
        placed[options] = json.loads(out)["pods"][-1]["placed"]
    assert placed == {(): 35, ("--evict-at-once",): 5}


def test_the_pods_of_a_gang_are_placed_together(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    gang = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "red", "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    pods = [pod(name, spec={"schedulingGroup": {"podGroupName": "red"}}) for name in ("p", "q")]
    events = [{"at": at, "pod": each} for at, each in enumerate(pods, 1)]
    path, state = write(tmp_path, events), write_state(node("n"), gang)
    gates = "GenericWorkload=true,GangScheduling=true"
    options = ("--kubernetes-version", "1.36", "--feature-gates", gates, "-o", "json")
    code, out, _ = ksched("replay", path, "--state", state, *options)
    assert code == 0
    assert {each["pod"]: each["placed"] for each in json.loads(out)["pods"]} == {
        "default/p": 2,
        "default/q": 2,
    }


@pytest.fixture
def autoscaler(tmp_path: Path) -> Path:
    path = tmp_path / "autoscaler.yaml"
    group = "{name: spare, like: worker, maxSize: 1, provisioningDelay: 5}"
    path.write_text(f"apiVersion: ksched/v1\nkind: Autoscaler\nnodeGroups: [{group}]\n")
    return path


def test_an_autoscaler_adds_nodes_and_says_what_they_cost(
    ksched: Ksched, write_state: WriteState, timeline: Path, autoscaler: Path
) -> None:
    state = write_state(node("worker", cpu=1))
    command = ("replay", timeline, "--state", state, "--autoscaler", autoscaler)
    code, out, _ = ksched(*command, "-o", "json")
    result = conforms(json.loads(out), "replay_result")
    assert code == 0
    assert [(each["type"], each["at"]) for each in result["autoscaler"]["events"]] == [
        ("ScaleUp", 10),
        ("ScaleDown", 650),
    ]
    assert result["pods"][1]["node"] == "spare-1"
    assert result["nodes"]["hours"] == round((660 + 635) / 3600, 6)
    _, out, _ = ksched(*command)
    assert "nodes 1 → 2 → 1, 0.36 node-hours" in out  # (660 + 635) / 3,600
    assert "NODE GROUP" in out
    _, out, _ = ksched(*command, "-o", "csv", "--usage")
    assert out.startswith("at,nodes,pods,pending,nodes:spare,")


def test_what_templates_ask_for_and_no_node_has_is_said_first(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    timeline, autoscaler = tmp_path / "timeline.jsonl", tmp_path / "groups.json"
    template = {"spec": pod("p", cpu=1)["spec"] | {"nodeSelector": {"gpu-model": "a"}}}
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "templates": {"t": template}}
    timeline.write_text(json.dumps(header) + '\n{"at": 1, "pod": "p", "template": "t"}\n')
    state = write_state(node("n", labels={"gpu-card-model": "a"}))
    warning = (
        "no node of the state has the label gpu-model, and 1 template of the timeline requires it;"
        ' did you mean "gpu-card-model"?'
    )
    code, out, err = ksched("replay", timeline, "--state", state, "-o", "json")
    assert (code, json.loads(out)["warnings"]) == (1, [warning])
    assert f"warning: {warning}\n" in err
    group = node("spare", cpu=1, labels={"gpu-model": "a"})
    groups = [{"name": "spare", "template": group, "maxSize": 1}]
    autoscaler.write_text(
        json.dumps({"apiVersion": "ksched/v1", "kind": "Autoscaler", "nodeGroups": groups})
    )
    _, out, _ = ksched("replay", timeline, "--state", state, "--autoscaler", autoscaler, "-ojson")
    assert json.loads(out)["warnings"] == []


# -- ties ------------------------------------------------------------------------------------------

# Ten pods, a second apart, on twenty nodes alike: the first sees twenty equal nodes, the last one
# eleven empty ones, which are better than those with a pod. All ten are ties.
TIED = [{"at": at, "pod": pod(f"p{at}", cpu=1), "runsFor": 60} for at in range(10)]


@pytest.mark.parametrize(
    ("options", "how"),
    [((), "the nodes' names"), (("--tie-break", "random", "--seed", 1), "one draw each")],
)
def test_ties_that_decide_much_are_said(
    options: tuple[object, ...],
    how: str,
    ksched: Ksched,
    write_state: WriteState,
    tmp_path: Path,
) -> None:
    state = write_state(*(node(f"n{index}", cpu=4) for index in range(20)))
    command = ("replay", write(tmp_path, TIED), "--state", state, "-o", "json", *options)
    _, out, err = ksched(*command, "--kubernetes-version", "1.34")
    result = json.loads(out)
    assert result["summary"]["tied"] == 10
    (warning,) = result["warnings"]
    assert warning.startswith(f"ties decided 10 of 10 placements (100%), by {how}: ")
    assert warning in err


@pytest.mark.parametrize("minor", ["1.34", "1.37"])
def test_a_node_of_the_last_ranking_is_a_tie_as_any_other(
    minor: str, ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    """Ten pods come at once; each fills its node of twenty. From 1.35 on they share a ranking."""
    state = write_state(*(node(f"n{index}", cpu=1) for index in range(20)))
    events = [{**event, "at": 0} for event in TIED]
    command = ("replay", write(tmp_path, events), "--state", state, "--kubernetes-version", minor)
    _, out, _ = ksched(*command, "-o", "json")
    assert json.loads(out)["summary"]["tied"] == 10


def test_where_one_node_is_best_nothing_is_a_tie(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    """A taint that is to be avoided is worth 300 points, all other plugins 200 at most."""
    state = write_state(node("a", cpu=64, taints=["x:PreferNoSchedule"]), node("b", cpu=64))
    command = ("replay", write(tmp_path, TIED), "--state", state, "-o", "json", "--summary")
    _, out, err = ksched(*command)
    assert (json.loads(out)["summary"]["tied"], json.loads(out)["warnings"]) == (0, [])
    assert "ties" not in err


SPREAD = [
    {"at": 0, "pod": pod("first", cpu=1), "runsFor": 100},
    {"at": 1, "pod": pod("whole-a", cpu=2, spec={"nodeSelector": {"name": "a"}}), "runsFor": 10},
]


def test_several_draws_have_means_with_intervals(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    """Two nodes of two cores. The first pod is drawn to one of them, for 100 s; the second needs
    all of a, and waits 99 s where the first is there, else not. Its wait is the greatest: of ten
    draws, k of which go to a, its mean is 9.9 k, and that of both pods' mean half of it."""
    nodes = [node(name, cpu=2, labels={"name": name}) for name in ("a", "b")]
    command = ("replay", write(tmp_path, SPREAD), "--state", write_state(*nodes))
    waits = []
    for seed in range(10):
        _, out, _ = ksched(*command, "--tie-break", "random", "--seed", seed, "-o", "json")
        waits.append(json.loads(out)["waiting"]["all"]["max"])
    assert set(waits) == {0, 99}
    code, out, _ = ksched(*command, "--seeds", 10, "-o", "json")
    result = conforms(json.loads(out), "replay_draws")
    assert (code, result["kind"], result["seeds"]) == (0, "ReplayDraws", [*range(10)])
    wait = result["summary"]["wait"]
    assert wait["max"]["mean"] == pytest.approx(sum(waits) / 10)
    assert wait["mean"]["mean"] == pytest.approx(sum(waits) / 20)
    # The variance of k times 99 and 10 - k times 0 is 99² k (10 - k) / 90; t(9) is 2.262.
    went = waits.count(99)
    half = 2.262 * (99**2 * went * (10 - went) / 90) ** 0.5 / 10**0.5
    assert wait["max"]["high"] == pytest.approx(sum(waits) / 10 + half, abs=1e-3)
    _, out, _ = ksched(*command, "--seeds", 10)
    assert out.startswith("Pods wait ")
    mean = sum(waits) / 10
    row = next(line.split() for line in out.splitlines() if line.startswith("wait.max"))
    assert row[2:] == [f"{figure:.3g}" for figure in (mean, mean - half, mean + half)]


@pytest.mark.parametrize("options", [("--trace", "-o", "json"), ("--usage", "-o", "csv")])
def test_several_draws_have_no_single_one(
    options: tuple[str, ...], ksched: Ksched, write_state: WriteState, timeline: Path
) -> None:
    command = ("replay", timeline, "--state", write_state(node("n")), "--seeds", 2)
    code, _, err = ksched(*command, *options)
    assert code == 2
    assert "--seeds cannot be combined with" in err
