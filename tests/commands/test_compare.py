"""`ksched compare` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.report.schemas import conforms

Ksched = Callable[..., tuple[int, str, str]]
Compare = Callable[..., tuple[int, dict[str, Any], str]]

PACKING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
"""
DEFAULT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
BROKEN = """
from ksched_cli.api import FilterPlugin


class Broken(FilterPlugin):
    name = "Broken"

    def filter(self, state, pod, node):
        raise ValueError("broken")
"""
OBJECTS = (node("a"), node("b"), pod("r", node="a", cpu=2), pod("p", cpu=1))


@pytest.fixture
def state(write_state: Callable[..., Path]) -> Path:
    return write_state(*OBJECTS)


@pytest.fixture
def packing(tmp_path: Path) -> Path:
    path = tmp_path / "packing.yaml"
    path.write_text(PACKING)
    return path


@pytest.fixture
def compared(ksched: Ksched, state: Path) -> Compare:
    """Exit code, result and standard error; the result has the shape that its schema promises."""

    def answer(*args: object) -> tuple[int, dict[str, Any], str]:
        code, out, err = ksched("compare", "--state", state, *args, "-o", "json")
        assert out, err
        return code, conforms(json.loads(out), "comparison"), err

    return answer


def names(result: dict[str, Any]) -> list[str]:
    return [side["name"] for side in result["sides"]]


def test_one_configuration_is_compared_with_the_default(compared: Compare, packing: Path) -> None:
    code, result, _ = compared(packing)
    assert (code, names(result)) == (1, ["default configuration", "packing.yaml"])
    (difference,) = result["pods"]
    assert (difference["pod"], difference["nodes"]) == ("default/p", ["b", "a"])
    assert difference["plugin"] == "NodeResourcesFit"


def test_one_configuration_is_compared_with_that_of_config(
    compared: Compare, packing: Path, write_config: Callable[..., Path]
) -> None:
    base = write_config(PACKING)
    code, result, _ = compared(packing, "--config", base)
    assert (code, names(result), result["pods"]) == (0, ["config.yaml", "packing.yaml"], [])


def test_configurations_are_a_side_each(
    compared: Compare, packing: Path, write_config: Callable[..., Path]
) -> None:
    base = write_config(DEFAULT)
    code, result, _ = compared(base, packing, packing)
    assert (code, names(result)) == (
        1,
        ["config.yaml", "packing.yaml", "packing.yaml (2)"],
    )
    assert result["pods"][0]["nodes"] == ["b", "a", "a"]


def test_changes_are_compared_with_the_state_as_it_is(compared: Compare) -> None:
    code, result, _ = compared("--vs", "--change", "drain a")
    assert (code, names(result)) == (1, ["without changes", "drain a"])
    assert result["changes"][0]["text"] == "drain a"
    assert {pod["pod"]: pod["nodes"] for pod in result["pods"]} == {"default/r": ["a", "b"]}


def test_a_scenario_is_compared_too(compared: Compare, tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text("apiVersion: ksched/v1\nkind: Scenario\nchanges: [drain a]\n")
    _, result, _ = compared("--vs", "--scenario", path)
    assert names(result) == ["without changes", "scenario.yaml"]
    assert [pod["pod"] for pod in result["pods"]] == ["default/r"]


def test_options_before_the_first_vs_are_of_all_sides(compared: Compare, packing: Path) -> None:
    _, result, _ = compared("--change", "cordon b", "--vs", "--config", packing)
    assert names(result) == ["default configuration", "packing.yaml"]
    runs = [side["run"] for side in result["sides"]]
    assert [run["changes"] for run in runs] == [[{"line": "cordon b"}]] * 2
    assert [run.get("configuration") for run in runs] == [None, str(packing)]
    assert result["pods"] == []


def test_changes_and_plugins_of_a_side_are_added_and_other_options_replace(
    compared: Compare, packing: Path, write_config: Callable[..., Path]
) -> None:
    base = write_config(DEFAULT)
    _, result, _ = compared(
        *("--config", base, "--change", "cordon a"),
        *("--vs", "--config", packing, "--change", "uncordon a"),
        *("--vs", "--change", "cordon b"),
    )
    assert names(result) == [
        "config.yaml, cordon a",
        "packing.yaml, cordon a, uncordon a",
        "config.yaml, cordon a, cordon b",
    ]
    assert result["pods"][0]["nodes"] == ["b", "a", None]
    assert [side["differsIn"] for side in result["sides"]] == [
        [],
        ["configuration", "changes"],
        ["changes"],
    ]
    assert [side["differing"] for side in result["sides"]] == [0, 1, 1]


def test_a_side_may_have_a_state_of_its_own(ksched: Ksched, state: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*OBJECTS[1:]]}))
    _, out, _ = ksched("compare", "--state", state, "-o", "json", "--vs", "--state", other)
    result = json.loads(out)
    assert names(result) == ["cluster.json", "other.json"]
    assert [side["run"]["states"] for side in result["sides"]] == [[str(state)], [str(other)]]


def test_a_side_without_options_is_the_first_one_again(compared: Compare) -> None:
    code, result, _ = compared("--vs")
    assert (code, names(result)) == (0, ["default configuration", "default configuration (2)"])
    assert result["sides"][1]["differsIn"] == []


def test_a_default_configuration_with_a_plugin_is_not_called_default(
    compared: Compare, packing: Path, tmp_path: Path
) -> None:
    plugin = tmp_path / "fine.py"
    plugin.write_text(BROKEN.replace('raise ValueError("broken")', "return None"))
    _, result, _ = compared(packing, "--plugin", plugin)
    assert names(result) == ["default with fine.py", "packing.yaml"]
    _, result, _ = compared("--vs", "--plugin", plugin)
    assert names(result) == ["default configuration", "default with fine.py"]


def test_draws_are_an_axis_and_are_shared_where_no_side_has_its_own(
    compared: Compare, packing: Path
) -> None:
    ties = ("--tie-break", "random")
    _, result, _ = compared(*ties, "--seed", 1, "--vs", "--seed", 2)
    assert names(result) == ["seed 1", "seed 2"]
    _, result, _ = compared(packing, *ties)
    assert names(result) == ["default configuration", "packing.yaml"]
    assert len({side["run"]["seed"] for side in result["sides"]}) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--vs", "new.yaml"), "after --vs, name a configuration by --config"),
        (("new.yaml", "--vs"), "with --vs, name configurations by --config"),
        (("--vs", "--seed", "1"), "--seed requires --tie-break random"),
        (("--vs", "--nope"), "no option --nope"),
        (("--vs", "--timeline", "t.yaml"), "only one side has a timeline"),
    ],
)
def test_what_no_side_can_have_is_said(
    ksched: Ksched, state: Path, options: tuple[str, ...], problem: str
) -> None:
    code, out, err = ksched("compare", "--state", state, *options)
    assert (code, out, problem in err) == (2, "", True), err


def test_minors_are_sides_each_by_its_own_rules(
    ksched: Ksched, write_state: Callable[..., Path]
) -> None:
    # With the pod, b is used more evenly than a; but it makes a more even than it was, b less.
    objects = (
        node("a", cpu="10", memory="10Gi"),
        node("b", cpu="10", memory="10Gi"),
        pod("r", node="a", memory="5Gi"),
        pod("s", node="b", cpu="2500m", memory="2560Mi"),
        pod("p", cpu="3", memory="1Gi"),
    )
    minors = ("--kubernetes-version", "1.34", "--vs", "--kubernetes-version", "1.36")
    state = write_state(*objects)
    code, out, _ = ksched("compare", "--state", state, "-o", "json", *minors)
    result = json.loads(out)
    conforms(result, "comparison")
    assert names(result) == ["Kubernetes 1.34", "Kubernetes 1.36"]
    assert [side["kubernetesVersion"] for side in result["sides"]] == ["v1.34.1", "v1.36.3"]
    assert code == 1
    assert [(p["pod"], p["nodes"], p["plugin"]) for p in result["pods"]] == [
        ("default/p", ["b", "a"], "NodeResourcesBalancedAllocation")
    ]


def test_the_minor_is_that_of_the_nodes_where_none_is_named(
    ksched: Ksched, write_state: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")
    status = {"nodeInfo": {"kubeletVersion": "v1.35.2"}, "allocatable": {"cpu": "4", "pods": "9"}}
    state = write_state(node("a", status=status), pod("p", cpu=1))
    options = ("--state", state, "-o", "json", "--vs", "--change", "cordon a")
    _, out, _ = ksched("compare", *options)
    result = json.loads(out)
    assert result["kubernetesVersion"] == "v1.35.2"
    assert {side["kubernetesVersion"] for side in result["sides"]} == {"v1.35.2"}


def test_nothing_to_compare_is_said(ksched: Ksched, state: Path) -> None:
    code, out, err = ksched("compare", "--state", state)
    assert (code, out) == (2, "")
    assert "nothing to compare: name two configurations" in err
    code, _, err = ksched("compare", "--state", state, "--change", "drain a")
    assert (code, "`ksched compare --vs --change 'drain node-3'`" in err) == (2, True)


def test_config_that_would_do_nothing_is_refused(
    ksched: Ksched, state: Path, packing: Path, write_config: Callable[..., Path]
) -> None:
    args = (packing, packing, "--config", write_config(DEFAULT), "--state", state)
    code, _, err = ksched("compare", *args)
    assert code == 2
    assert "--config has no effect here" in err


def test_the_environments_configuration_does_not_get_in_the_way(
    compared: Compare, packing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSCHED_CONFIG", str(packing))
    _, result, _ = compared(packing, packing)
    assert names(result) == ["packing.yaml", "packing.yaml (2)"]


def test_recording_extenders_is_refused(ksched: Ksched, state: Path, packing: Path) -> None:
    code, _, err = ksched("compare", packing, "--record-extenders", "x", "--state", state)
    assert code == 2
    assert "compare does not support --record-extenders" in err


def test_a_configuration_that_is_missing_is_exit_code_2(ksched: Ksched, state: Path) -> None:
    code, _, err = ksched("compare", "missing.yaml", "--state", state)
    assert code == 2
    assert "missing.yaml" in err


def test_a_plugin_that_fails_is_exit_code_3(compared: Compare, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    code, _, err = compared(
        "--plugin", f"{tmp_path / 'broken.py'}:Broken", "--vs", "--change", "uncordon a"
    )
    assert code == 3
    assert "plugin Broken failed" in err


def test_a_warning_is_printed_once(ksched: Ksched, tmp_path: Path, packing: Path) -> None:
    path = tmp_path / "state.json"
    manifest = {**pod("p"), "specc": {}}
    path.write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [node("a"), manifest]})
    )
    _, out, err = ksched("compare", packing, "--state", path, "-o", "json")
    assert err.count("specc") == 1
    assert len(json.loads(out)["warnings"]) == 1


def test_the_table_names_what_the_changes_did(ksched: Ksched, state: Path) -> None:
    _, out, _ = ksched("compare", "--state", state, "--vs", "--change", "drain a")
    assert out.startswith("1 of 2 pods moves because of the changes\n\nChanges to the state\n")


def test_several_draws_are_compared_by_means_and_intervals(
    ksched: Ksched, write_state: Callable[..., Path], packing: Path
) -> None:
    objects = [node(name) for name in "abcd"] + [pod(f"p{i}", cpu=1) for i in range(4)]
    command = ("compare", "--state", write_state(*objects), "--seeds", 6)
    code, out, _ = ksched(*command, "-o", "json", "--vs", "--config", packing)
    result = conforms(json.loads(out), "comparison")
    assert (code, result["seeds"]) == (1, [0, 1, 2, 3, 4, 5])
    assert names(result) == ["default configuration", "packing.yaml"]
    # Spreading puts a pod on each of the nodes, packing all on one, whatever is drawn.
    assert [side["summary"]["nodesUsed"] for side in result["sides"]] == [
        {"mean": 4, "low": 4, "high": 4},
        {"mean": 1, "low": 1, "high": 1},
    ]
    difference = result["sides"][1]["differences"]["nodesUsed"]
    assert difference == {"mean": -3, "low": -3, "high": -3, "withinNoise": False}
    _, out, _ = ksched(*command, "--vs", "--config", packing)
    assert "figures differ by more than the noise of 6 seeds because of the configuration" in out
    code, out, _ = ksched(*command, "--vs", "--no-retries")
    assert code == 0
    assert "within the noise of 6 seeds: no figure differs" in out


def test_means_of_a_resource_are_under_its_whole_name(
    ksched: Ksched, write_state: Callable[..., Path]
) -> None:
    state = write_state(node("a", resources={"nvidia.com/gpu": 2}), pod("p"))
    sides = ("--seeds", "2", "--state", state, "--vs", "--change", "cordon a", "-o", "json")
    _, out, _ = ksched("compare", *sides)
    summary = json.loads(out)["sides"][0]["summary"]
    assert "nvidia.com/gpu" in summary["utilization"]
    assert summary["utilization"]["nvidia.com/gpu"]["mean"]["mean"] == 0


def test_rows_are_csv_and_tables_latex(ksched: Ksched, write_state: Callable[..., Path]) -> None:
    state = write_state(node("a", cpu=2), node("b", cpu=2), pod("p", cpu=1), pod("q", cpu=1))
    sides = ("--state", state, "--vs", "--change", "cordon b")
    _, out, _ = ksched("compare", *sides, "-o", "csv")
    header, row = out.splitlines()
    assert header.startswith("pod,owner,nodes,")
    assert row.startswith("default/q,default/Pod/q,b a,")
    _, out, _ = ksched("compare", "--seeds", "2", *sides, "-o", "csv")
    assert out.splitlines()[0].startswith("side,figure,mean,low,high,difference,")
    _, out, _ = ksched("compare", *sides, "-o", "latex")
    assert r"\begin{tabular}" in out
    running = write_state(node("a", cpu=2), pod("r", node="a"))
    _, out, _ = ksched("drift", "--state", running, "-o", "csv")
    assert out.startswith("pod,owner,node,verdict,")
    assert "default/r,default/Pod/r,a,best," in out
