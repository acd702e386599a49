"""Runs of Python programs: what they take, and what they leave alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from ksched_cli.analysis.compare import replay_draws
from ksched_cli.answers import Answer
from ksched_cli.api import (
    CycleState,
    InputError,
    KschedError,
    MissingExtraError,
    NodeInfo,
    PodInfo,
    Run,
    ScorePlugin,
    UsageError,
    compare,
    replay,
    sweep,
)
from ksched_cli.run import run as described
from ksched_cli.testing import node, pod

NODES = [node("a", cpu=2), node("b", cpu=4)]
STATE = [*NODES, pod("p", cpu=1)]
PACKING = {
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {"scoringStrategy": {"type": "MostAllocated"}},
                }
            ]
        }
    ]
}


def state_text(*objects: dict[str, Any]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


@pytest.fixture
def last_node() -> type[ScorePlugin]:
    """A plugin as a notebook's cell defines it: in no module that could be imported."""

    class LastNode(ScorePlugin):
        name = "LastNode"

        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return 50 * node.row

    return LastNode


# -- what a Run takes -----------------------------------------------------------------------------


def test_a_state_may_be_paths_bytes_and_objects_together(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_bytes(state_text(node("a", cpu=2)))
    run = Run(state=[path, state_text(node("b", cpu=4)), pod("p", cpu=3)])
    assert run.schedule().placements == {"default/p": "b"}
    assert Run(state=str(path)).schedule().nodes[0].name == "a"


def test_a_configuration_may_be_a_mapping_or_bytes() -> None:
    text = json.dumps(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            **PACKING,
        }
    )
    assert Run(state=STATE).schedule().placements == {"default/p": "b"}
    for config in (PACKING, text.encode()):
        assert Run(state=STATE, config=config).schedule().placements == {"default/p": "a"}


def test_a_plugin_may_be_a_class(last_node: type[ScorePlugin]) -> None:
    run = Run(state=[*NODES, node("c", cpu=1), pod("p")], plugins=[last_node])
    assert run.schedule().placements == {"default/p": "c"}
    assert compare(run, run.with_(plugins=[])).sides[0].name == "default with LastNode"


def test_changes_are_lines_objects_and_files(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("{apiVersion: ksched/v1, kind: Scenario, changes: [cordon b]}")
    run = Run(state=STATE, changes=["label nodes a x=y", scenario, {"apply": pod("q")}])
    answer = run.schedule()
    assert answer.placements == {"default/p": "a", "default/q": "a"}
    assert [change.text for change in answer.changes] == [
        "label nodes a x=y",
        "cordon b",
        "apply Pod/q",
    ]


def test_patches_are_by_path() -> None:
    path = "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type"
    run = Run(state=STATE, config=PACKING, patches={path: "LeastAllocated"})
    assert run.schedule().placements == {"default/p": "b"}


def test_a_timeline_is_a_list_of_events() -> None:
    events = [{"at": 0, "pod": pod("q", cpu=4), "runsFor": 10}, {"at": 5, "pod": pod("r", cpu=4)}]
    answer = replay(Run(state=NODES), events)
    assert answer.to_frame()["placed"].tolist() == [0, 10]
    assert answer == Run(state=NODES, timeline={"events": events}).replay()


def test_a_seed_draws_among_equal_nodes() -> None:
    run = Run(state=[*(node(f"n{number}") for number in range(9)), pod("p")])
    drawn = [run.with_(seed=seed).schedule().placements["default/p"] for seed in range(9)]
    assert len(set(drawn)) > 1
    assert run.schedule().placements == {"default/p": "n0"}


def test_a_pod_that_is_asked_about_may_be_a_manifest() -> None:
    run = Run(state=STATE)
    assert run.explain(pod("new", cpu=3)).node == "b"
    assert run.preempt(pod("new", cpu=9)).candidates == ()


def test_a_run_has_every_axis_of_the_command_line() -> None:
    """But for live clusters, which `ksched snapshot` saves."""
    renamed = {"states": "state", "configuration": "config"}
    fields = {renamed.get(name, name) for name in described.Run.__struct_fields__}
    assert fields - {"live"} == set(Run.__struct_fields__)


# -- several Runs ---------------------------------------------------------------------------------


def test_equal_contents_are_no_difference_between_runs() -> None:
    first = Run(state=list(STATE), config=dict(PACKING))
    second = Run(state=list(STATE), config=dict(PACKING), kubernetes_version="1.36")
    assert compare(first, second).sides[1].differs_in == ("Kubernetes version",)
    assert compare(first, second.with_(config={})).sides[1].differs_in == (
        "Kubernetes version",
        "configuration",
    )


def test_a_sweep_pairs_runs_of_one_state_and_seed() -> None:
    runs = [
        Run(state=[*NODES, pod("p", cpu=1), pod("q", cpu=cpu)], config=config, seed=seed)
        for config in (None, PACKING)
        for cpu in (1, 3)
        for seed in (1, 2)
    ]
    seen: list[tuple[int, int]] = []
    answer = sweep(runs, progress=lambda done, total: seen.append((done, total)))
    assert answer.variants[1].metrics["nodesUsed"].pairs == 4
    assert [variant.name for variant in answer.variants] == [
        "default configuration",
        "configuration",
    ]
    assert seen[-1] == (8, 8)
    frame = answer.to_frame()
    assert frame["seed"].tolist() == [1, 2] * 4
    assert frame["state"].tolist() == ["state", "state", "state 2", "state 2"] * 2


def test_a_run_that_fails_is_a_row_that_says_why(last_node: type[ScorePlugin]) -> None:
    class Broken(last_node):  # type: ignore[misc, valid-type]
        name = "Broken"

        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            raise RuntimeError("out of order")

    run = Run(state=[*NODES, pod("p")])
    answer = sweep([run, run.with_(plugins=[Broken])])
    assert answer.to_frame()["status"].tolist() == ["ok", "error"]
    assert "out of order" in answer.failures[0].error


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"tie_break": "whatever"}, '--tie-break takes name or random; not "whatever"'),
        ({"seed": "x"}, "--seed is 'x': expected int | null, got str"),
        ({"preemption": "no"}, "--no-preemption is 'no': expected bool, got str"),
        ({"kubernetes_version": 1.34}, "--kubernetes-version is 1.34: expected str, got float"),
        ({"changes": "drain a"}, "changes takes a list; not 'drain a'"),
        ({"patches": [1]}, "patches takes a mapping of paths to values; not [1]"),
        ({"state": 3}, "state takes paths, bytes and objects; not 3"),
        ({"state": [3]}, "a state is a path, bytes or an object; not 3"),
    ],
)
def test_a_value_of_another_type_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError) as error:
        Run(state=STATE).with_(**fields).schedule()
    assert problem in str(error.value)


# -- what an answer shows -------------------------------------------------------------------------


def test_answers_show_themselves_in_a_notebook() -> None:
    answer = Run(state=[*STATE, pod("big", cpu=9)]).schedule()
    html, markdown = answer._repr_html_(), answer._repr_markdown_()
    assert html.startswith('<iframe sandbox="allow-scripts"')
    assert "1 of 2 pods stays pending" in html
    assert "1 of 2 pods stays pending" in markdown
    assert "pending: default/big" in markdown


def test_a_frame_has_a_row_per_item() -> None:
    answer = Run(state=STATE).schedule()
    assert answer.to_frame().loc["default/p", "placements"] == "b"
    assert answer.to_frame("nodes")["name"].tolist() == ["a", "b"]
    assert answer.to_frame("pending").empty
    with pytest.raises(UsageError, match=r'"kind" has no rows; these have: .*placements, pending'):
        answer.to_frame("kind")


@pytest.mark.parametrize(
    "ask",
    [
        lambda run, replayed: run.schedule(),
        lambda run, replayed: run.status(),
        lambda run, replayed: run.fullness(),
        lambda run, replayed: run.explain("p"),
        lambda run, replayed: run.fix("p"),
        lambda run, replayed: run.shrink(),
        lambda run, replayed: replayed.replay(),
        lambda run, replayed: compare(run, run.with_(changes=["cordon a"])),
        lambda run, replayed: compare(run, run.with_(changes=["cordon a"]), seeds=2),
        lambda run, replayed: compare(replayed, replayed.with_(changes=["cordon a"])),
        lambda run, replayed: sweep([run]),
    ],
)
def test_any_field_is_a_frame_or_an_error_that_says_so(ask: Callable[[Run, Run], Answer]) -> None:
    run = Run(state=STATE)
    answer = ask(run, run.with_(timeline=[{"at": 1, "pod": pod("x"), "runsFor": 5}]))
    for field in dir(answer):
        try:
            assert len(answer.to_frame(field)) >= 0
        except UsageError as error:
            assert f'"{field}" has no rows' in str(error)  # noqa: PT017  # most have some


def test_a_comparison_of_draws_has_a_row_per_figure_and_side() -> None:
    run = Run(state=[*STATE, pod("q")])
    frame = compare(run, run.with_(changes=["cordon a"]), seeds=3).to_frame()
    assert list(frame.columns) == [
        *("side", "figure", "mean", "low", "high"),
        *("difference", "differenceLow", "differenceHigh", "withinNoise"),
    ]
    first, second = frame["side"].unique()
    rows = frame[frame["figure"] == "nodesUsed"].set_index("side")
    assert rows["mean"].tolist() == [2, 1]
    assert rows.loc[second, "difference"] == -1
    assert rows.loc[first, "difference"] != rows.loc[first, "difference"]  # not a number


def test_draws_of_a_replay_have_a_row_per_figure() -> None:
    figures = [{"pending": 1.0}, {"pending": 3.0}]
    (row,) = replay_draws("day", figures, [0, 1]).to_frame().to_dict("records")
    assert (row["figure"], row["mean"]) == ("pending", 2)


def test_a_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="to_frame needs the extra notebook"):
        Run(state=STATE).schedule().to_frame()


# -- what it leaves alone -------------------------------------------------------------------------


def test_an_error_has_the_place_and_what_to_do() -> None:
    with pytest.raises(InputError, match=r"Pod: metadata\.name") as raised:
        Run(state=b'{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": 3}}').schedule()
    assert (raised.value.source, raised.value.hint) == ("state", "Put the value in quotes.")
    assert raised.value.position is not None


@pytest.mark.parametrize(
    "run",
    [
        Run(state="nowhere.yaml"),
        Run(state=STATE, config={"profiles": 3}),
        Run(state=STATE, changes=["drain nobody"]),
        Run(state=STATE, changes=[{"applied": {}}]),
        Run(state=STATE, plugins=["nowhere.py"]),
        Run(state=STATE, plugins=[3]),  # type: ignore[list-item]
        Run(state=STATE, kubernetes_version="1.2"),
        Run(state=STATE, until="3h"),
        Run(state=STATE, seed=1, tie_break="name"),
    ],
)
def test_what_is_wrong_is_an_error_of_the_library(run: Run) -> None:
    with pytest.raises(KschedError):
        run.schedule()


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    run = Run(state=[*STATE, pod("big", cpu=9), pod("low", cpu=1, node="a", priority=-1)])
    run.schedule()
    run.preempt("p")
    run.drift()
    run.replay([{"at": 0, "pod": pod("x")}])
    compare(run, run.with_(changes=["drain a"]), seeds=2)
    sweep([run])
    assert capfd.readouterr() == ("", "")


def test_progress_is_told_to_the_caller() -> None:
    seen: list[tuple[int, int]] = []
    Run(state=STATE).schedule(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 1)]


def test_progress_of_compared_replays_is_told_for_each() -> None:
    events = [{"at": at, "pod": pod(f"p{at}", cpu=1)} for at in range(5)]
    run, seen = Run(state=NODES, timeline={"events": events}), []
    compare(run, run.with_(changes=["cordon a"]), progress=lambda done, _: seen.append(done))
    assert len(seen) > 4
    assert seen == 2 * seen[: len(seen) // 2]


def test_threads_may_ask_at_once() -> None:
    begin = Barrier(2)
    runs = [
        Run(state=[node("n", cpu=8), *(pod(f"{name}{index}", cpu=1) for index in range(12))])
        for name in ("left", "right")
    ]
    alone = [run.schedule() for run in runs]

    def ask(run: Run) -> list[object]:
        begin.wait()
        return [run.schedule() for _ in range(5)]

    with ThreadPoolExecutor(2) as threads:
        together = list(threads.map(ask, runs))
    assert together == [[answer] * 5 for answer in alone]


def test_fix_takes_no_name_for_all_pending_pods_and_refuses_an_empty_one() -> None:
    run = Run(state=[*NODES, pod("big", cpu=9), pod("bigger", cpu=10)])
    assert run.fix().pods == ("default/big", "default/bigger")
    with pytest.raises(UsageError, match='no pod ""'):
        run.fix("")
