"""Reading a sweep's parts, what is wrong with them, and the ids of runs."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ksched_cli.errors import InputError, KschedError
from ksched_cli.run.run import Run
from ksched_cli.sweep.outcome import Performer
from tests.replays import node
from tests.run.runs import AUTOSCALER, TIMELINE
from tests.sweep.sweeps import BASE, OBJECTS, STRATEGY, WEIGHT, sweep, write_state

PLUGIN = """
from ksched_cli.api import SUCCESS, FilterPlugin

class Anywhere(FilterPlugin):
    name = "Anywhere"
    def filter(self, state, pod, node):
        return SUCCESS
"""
BROKEN = "import nothing_of_this_name\n"
BAD_EVENT = {**TIMELINE, "events": [{"at": 1, "delete": {"kind": "Nothing", "name": "x"}}]}
GROUPS_OF_Z = {**AUTOSCALER, "nodeGroups": [{"name": "g", "like": "z", "maxSize": 1}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("anywhere.py", PLUGIN),
        ("broken.py", BROKEN),
        ("week.json", json.dumps(TIMELINE)),
        ("bad.json", json.dumps(BAD_EVENT)),
        ("groups.json", json.dumps(AUTOSCALER)),
        ("z.json", json.dumps(GROUPS_OF_Z)),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"states": ["missing.json"]}, "missing.json: there is no such file"),
        ({"configurations": ["missing.yaml"]}, "missing.yaml: there is no such file"),
        ({"timelines": ["missing.json"]}, "missing.json: there is no such file"),
        ({"timelines": ["bad.json"]}, r"bad.json:1:\d+: event 0: .*Nothing"),
        (
            {"timelines": ["week.json"], "autoscalers": ["missing.yaml"]},
            "missing.yaml: there is no",
        ),
        ({"timelines": ["week.json"], "autoscalers": ["z.json"]}, 'z.json:.*no node "z"'),
    ],
)
def test_a_file_that_is_wrong_is_an_error_before_the_first_run(
    fields: dict[str, Any], problem: str, folder: Path
) -> None:
    with pytest.raises(InputError, match=problem):
        sweep(folder, **fields)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"changes": ["cordon a", "drain z"]}, r'changes\[1\]: .*no node "z" in the state'),
        (
            {"patches": [{"path": "profiles.x", "values": [1]}]},
            r"patches\[0\]\.values\[0\]: .*profiles",
        ),
        (
            {"patches": [{"path": STRATEGY, "values": ["MostAllocated", "Full"]}]},
            r"patches\[0\]\.values\[1\]: .*Full",
        ),
        (
            {"patches": [{"path": f"{WEIGHT}.x", "values": [1]}]},
            r"patches\[0\]\.values\[0\]: .*weight",
        ),
        (
            {"kubernetesVersions": ["1.36", "1.20"]},
            r"kubernetesVersions\[1\]: --kubernetes-version",
        ),
        ({"featureGates": ["", "Nothing=true"]}, r"featureGates\[1\]: .*Nothing"),
        (
            {"kubernetesVersions": ["1.37"], "minCompatibilityVersion": ["1.37", "1.38"]},
            r"minCompatibilityVersion\[1\]: --min-compatibility-version: .*1\.38",
        ),
        ({"plugins": [[], "missing.py"]}, r"plugins\[1\]: .*missing.py.*[Nn]o such file"),
        ({"plugins": ["broken.py"]}, r"plugins\[0\]: .*broken.py: ModuleNotFoundError"),
        ({"timelines": ["week.json"], "until": ["5s", "soon"]}, r"until\[1\]: .*soon"),
        (
            {"noExtenders": True, "replayExtenders": "week.json"},
            "noExtenders: .*cannot be combined",
        ),
    ],
)
def test_what_is_wrong_with_a_value_is_named_with_its_place(
    fields: dict[str, Any], problem: str, folder: Path
) -> None:
    with pytest.raises(InputError, match=rf"sweep\.yaml:1:\d+: {problem}"):
        sweep(folder, **fields)


def test_what_is_wrong_with_an_option_is_no_error_of_the_file(folder: Path) -> None:
    with pytest.raises(KschedError, match=r"^--plugin .*broken.py: ModuleNotFoundError"):
        sweep(folder, Run(plugins=(f"{folder}/broken.py",)))


def test_a_metric_that_is_not_there_is_an_error_too(folder: Path) -> None:
    with pytest.raises(KschedError, match="there is no function missing"):
        sweep(folder, metrics=("json:missing",))


def test_axes_side_by_side_are_checked_as_they_are_run(folder: Path) -> None:
    """Two of all combinations would fail."""
    write_state(folder / "one.json", node("x"))
    write_state(folder / "two.json", node("y"))
    read = sweep(folder, states=["one.json", "two.json"], changes=["cordon x", "cordon y"],
                 combine="zip")  # fmt: skip
    assert [outcome.status for outcome in read.outcomes()] == ["ok", "ok"]


def test_warnings_are_those_of_the_states_and_files(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    folder.mkdir()
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
    write_state(folder / "state.json", *OBJECTS, lease)
    (folder / "notes.yaml").write_text("hello: there\n")
    (folder / "log.txt").write_text("x")
    prepared = sweep(tmp_path, states=["dump"]).prepared
    (line,) = [line for line in prepared.warnings if line.startswith("skipped 2 files")]
    assert "skipped kinds that no plugin reads: 1 Lease" in prepared.warnings
    assert "notes.yaml" in line
    assert "log.txt" in line
    assert prepared.release.version == "v1.34.1"
    assert len(prepared.configurations) == 1


def test_a_state_without_pods_is_in_order_where_they_come_with_a_timeline(folder: Path) -> None:
    write_state(folder / "nodes.json", node("a"))
    fields: dict[str, Any] = {"states": ["nodes.json"]}
    for count in (1, 0):
        warnings = sweep(folder, **fields).prepared.warnings
        assert len([line for line in warnings if "nothing to schedule" in line]) == count
        fields["timelines"] = ["week.json"]


def test_what_is_sent_needs_no_file_where_it_comes(folder: Path) -> None:
    """As on another machine."""
    write_state(folder / "cluster.json", node("a"), node("b"))
    (folder / "it.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n")
    (folder / "c.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {enabled: [{name: Anywhere}]}}}]\n"
    )
    read = sweep(
        folder,
        states=["cluster.json"],
        configurations=["c.yaml"],
        plugins=["anywhere.py"],
        changes=["apply -f it.yaml"],
        timelines=["week.json"],
        autoscalers=["groups.json"],
        seeds=2,
    )
    before, sent = read.outcomes(), pickle.dumps(read.shared)
    shutil.rmtree(folder)
    folder.mkdir()
    performer = Performer(pickle.loads(sent))
    after = [performer.perform(task) for task in read.tasks()]
    assert [outcome.status for outcome in after] == ["ok", "ok"]
    assert [replace(outcome, seconds=0) for outcome in after] == [
        replace(outcome, seconds=0) for outcome in before
    ]


# -- ids ------------------------------------------------------------------------------------------


def ids(folder: Path, base: Run = BASE, **fields: Any) -> list[str]:
    return [task.id for task in sweep(folder, base, **fields).tasks()]


def test_a_run_has_the_same_id_wherever_it_is_made(folder: Path) -> None:
    read = sweep(folder, changes=["cordon a"], seeds=2)
    sent = pickle.loads(pickle.dumps(read.shared))
    assert [sent.id_of(run) for run in read.plan.runs()] == [task.id for task in read.tasks()]


def test_names_do_not_change_an_id(folder: Path) -> None:
    named = [{"name": "x", "changes": ["cordon a"]}]
    assert ids(folder, changes=named) == ids(folder, changes=["cordon a"])


EDITS: dict[str, tuple[dict[str, Any], Callable[[str], str]]] = {
    "cluster.json": ({}, lambda text: text.replace('"8"', '"9"')),
    "it.yaml": ({"changes": ["apply -f it.yaml"]}, lambda text: text.replace("first", "second")),
    "anywhere.py": ({"plugins": ["anywhere.py"]}, lambda text: text + "\n"),
    "week.json": ({"timelines": ["week.json"]}, lambda text: text.replace("late", "then")),
    "groups.json": (
        {"timelines": ["week.json"], "autoscalers": ["groups.json"]},
        lambda text: text.replace("3", "2"),
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_whatever_a_run_reads_counts_in_its_id(name: str, folder: Path) -> None:
    (folder / "it.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: first}\n")
    fields, edit = EDITS[name]
    path = write_state(folder / "cluster.json").parent / name
    first = ids(folder, **{"states": ["cluster.json"], **fields})
    path.write_text(edit(path.read_text()))
    assert first != ids(folder, **{"states": ["cluster.json"], **fields})


def test_a_metric_counts_in_the_id(folder: Path) -> None:
    path = folder / "m.py"
    distinct = set(ids(folder))
    for text in ("def f(snapshot, run): return 1\n", "def f(snapshot, run): return 2\n"):
        path.write_text(text)
        distinct |= {task.id for task in sweep(folder, metrics=(f"{path}:f",)).tasks()}
    assert len(distinct) == 3
