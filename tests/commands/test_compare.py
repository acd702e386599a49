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
        code, out, err = ksched("compare", *args, "--state", state, "-o", "json")
        assert out, err
        return code, conforms(json.loads(out), "comparison"), err

    return answer


def names(result: dict[str, Any]) -> list[str]:
    return [side["name"] for side in result["sides"]]


def test_one_configuration_is_compared_with_the_default(compared: Compare, packing: Path) -> None:
    code, result, _ = compared(packing)
    assert (code, names(result)) == (1, ["default configuration", str(packing)])
    (difference,) = result["pods"]
    assert (difference["pod"], difference["nodes"]) == ("default/p", ["b", "a"])
    assert difference["plugin"] == "NodeResourcesFit"


def test_one_configuration_is_compared_with_that_of_config(
    compared: Compare, packing: Path, write_config: Callable[..., Path]
) -> None:
    base = write_config(PACKING)
    code, result, _ = compared(packing, "--config", base)
    assert (code, names(result), result["pods"]) == (0, [str(base), str(packing)], [])


def test_configurations_are_a_side_each(
    compared: Compare, packing: Path, write_config: Callable[..., Path]
) -> None:
    base = write_config(DEFAULT)
    code, result, _ = compared(base, packing, packing)
    assert (code, names(result)) == (1, [str(base), str(packing), f"{packing} (2)"])
    assert result["pods"][0]["nodes"] == ["b", "a", "a"]


def test_changes_are_compared_with_the_state_as_it_is(compared: Compare) -> None:
    code, result, _ = compared("--change", "drain a")
    assert (code, names(result)) == (1, ["without changes", "with changes"])
    assert result["changes"][0]["text"] == "drain a"
    assert {pod["pod"]: pod["nodes"] for pod in result["pods"]} == {"default/r": ["a", "b"]}


def test_a_scenario_is_compared_too(compared: Compare, tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text("apiVersion: ksched/v1\nkind: Scenario\nchanges: [drain a]\n")
    _, result, _ = compared("--scenario", path)
    assert [pod["pod"] for pod in result["pods"]] == ["default/r"]


def test_a_configuration_and_changes_are_compared_under_that_configuration(
    compared: Compare, packing: Path
) -> None:
    _, result, _ = compared(packing, "--change", "cordon b")
    assert names(result) == ["without changes", "with changes"]
    assert result["pods"] == []


def test_configurations_and_changes_are_every_pair(
    compared: Compare, packing: Path, write_config: Callable[..., Path]
) -> None:
    base = write_config(DEFAULT)
    _, result, _ = compared(base, packing, "--change", "cordon a")
    assert names(result) == [
        f"{path}, {label}"
        for path in (base, packing)
        for label in ("without changes", "with changes")
    ]
    assert result["pods"][0]["nodes"] == ["b", "b", "a", "b"]


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
    minors = ("--kubernetes-version", "1.34", "--kubernetes-version", "1.36")
    state = write_state(*objects)
    code, out, _ = ksched("compare", *minors, "--state", state, "-o", "json")
    result = json.loads(out)
    conforms(result, "comparison")
    assert names(result) == ["Kubernetes 1.34", "Kubernetes 1.36"]
    assert [side["kubernetesVersion"] for side in result["sides"]] == ["v1.34.1", "v1.36.3"]
    assert code == 1
    assert [(p["pod"], p["nodes"], p["plugin"]) for p in result["pods"]] == [
        ("default/p", ["b", "a"], "NodeResourcesBalancedAllocation")
    ]


def test_minors_and_configurations_are_every_pair(
    ksched: Ksched, state: Path, packing: Path
) -> None:
    minors = ("--kubernetes-version", "1.35", "--kubernetes-version", "1.36")
    _, out, _ = ksched("compare", packing, packing, *minors, "--state", state, "-o", "json")
    assert names(json.loads(out)) == [
        f"Kubernetes {minor}, {path}"
        for minor in ("1.35", "1.36")
        for path in (packing, f"{packing} (2)")
    ]


def test_one_configuration_goes_with_several_minors(
    ksched: Ksched, state: Path, packing: Path
) -> None:
    minors = ("--kubernetes-version", "1.34", "--kubernetes-version", "1.35")
    for config in ((packing,), ("--config", packing)):
        _, out, _ = ksched("compare", *config, *minors, "--state", state, "-o", "json")
        assert names(json.loads(out)) == ["Kubernetes 1.34", "Kubernetes 1.35"]


def test_a_minor_given_twice_is_refused(ksched: Ksched, state: Path) -> None:
    minors = ("--kubernetes-version", "1.36", "--kubernetes-version", "1.36")
    code, out, err = ksched("compare", *minors, "--state", state)
    assert (code, out) == (2, "")
    assert "--kubernetes-version 1.36 is given twice" in err


def test_only_compare_takes_several_minors(ksched: Ksched, state: Path) -> None:
    minors = ("--kubernetes-version", "1.34", "--kubernetes-version", "1.36")
    code, out, err = ksched("schedule", *minors, "--state", state)
    assert (code, out) == (2, "")
    assert "--kubernetes-version is given more than once, 1.34, 1.36: only compare" in err


def test_the_minor_is_that_of_the_nodes_where_none_is_named(
    ksched: Ksched, write_state: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")
    status = {"nodeInfo": {"kubeletVersion": "v1.35.2"}, "allocatable": {"cpu": "4", "pods": "9"}}
    state = write_state(node("a", status=status), pod("p", cpu=1))
    _, out, _ = ksched("compare", "--change", "cordon a", "--state", state, "-o", "json")
    result = json.loads(out)
    assert result["kubernetesVersion"] == "v1.35.4"
    assert {side["kubernetesVersion"] for side in result["sides"]} == {"v1.35.4"}


def test_nothing_to_compare_is_said(ksched: Ksched, state: Path) -> None:
    code, out, err = ksched("compare", "--state", state)
    assert (code, out) == (2, "")
    assert "nothing to compare: give two configurations" in err


def test_config_that_would_do_nothing_is_refused(
    ksched: Ksched, state: Path, packing: Path, write_config: Callable[..., Path]
) -> None:
    args = (packing, packing, "--config", write_config(DEFAULT), "--state", state)
    code, _, err = ksched("compare", *args)
    assert code == 2
    assert "--config does nothing here" in err


def test_the_environments_configuration_does_not_get_in_the_way(
    compared: Compare, packing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KSCHED_CONFIG", str(packing))
    _, result, _ = compared(packing, packing)
    assert names(result) == [str(packing), f"{packing} (2)"]


def test_recording_extenders_is_refused(ksched: Ksched, state: Path, packing: Path) -> None:
    code, _, err = ksched("compare", packing, "--record-extenders", "x", "--state", state)
    assert code == 2
    assert "--record-extenders does not go with compare" in err


def test_a_configuration_that_is_missing_is_exit_code_2(ksched: Ksched, state: Path) -> None:
    code, _, err = ksched("compare", "missing.yaml", "--state", state)
    assert code == 2
    assert "missing.yaml" in err


def test_a_plugin_that_fails_is_exit_code_3(compared: Compare, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    code, _, err = compared(
        "--plugin", f"{tmp_path / 'broken.py'}:Broken", "--change", "uncordon a"
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
    _, out, _ = ksched("compare", "--change", "drain a", "--state", state)
    assert out.splitlines()[0].split() == ["CHANGE", "#", "DID"]
    assert "1 of 2 pods differs: 1 on another node" in out
