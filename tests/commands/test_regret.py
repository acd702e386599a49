"""--regret: how far a run is from the best placement of the same pods."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

pytest.importorskip("ortools", reason="the extra optimum is not installed")

FRAGMENTED = [
    node("a", cpu=4),
    node("b", cpu=4),
    *(
        pod(name, cpu=cpu, metadata={"creationTimestamp": f"2026-01-01T00:00:0{at}Z"})
        for at, (name, cpu) in enumerate((("p1", 2), ("p2", 2), ("p3", 4)))
    ),
]


@pytest.fixture
def state(write_state: WriteState) -> Path:
    return write_state(*FRAGMENTED)


def test_schedule_and_compare_show_the_regret(state: Path, ksched: Ksched) -> None:
    _, out, _ = ksched("schedule", "--state", state, "--regret", "pods")
    assert "Best placement\nPRIORITY  ALL  REACHED  BEST  AT MOST\n" in out
    answer = json.loads(ksched("schedule", "--state", state, "--regret", "cpu", "-o", "json")[1])
    assert answer["regret"]["regret"] == answer["regret"]["atMost"] == 4000
    _, out, _ = ksched(
        "compare", "--state", state, "--regret", "pods", "--vs", "--change", "cordon a"
    )
    assert "regret in pods" in out


def test_a_sweep_is_sorted_by_regret(state: Path, tmp_path: Path, ksched: Ksched) -> None:
    packing = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    args = {
        "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    }
    fit = {"name": "NodeResourcesFit", "args": args}
    (tmp_path / "spread.yaml").write_text(yaml.safe_dump(packing))
    packing["profiles"] = [{"pluginConfig": [fit]}]  # type: ignore[assignment]
    (tmp_path / "pack.yaml").write_text(yaml.safe_dump(packing))
    document = {
        "apiVersion": "ksched/v1",
        "kind": "Sweep",
        "states": [str(state)],
        "configurations": ["spread.yaml", "pack.yaml"],
        "regret": "pods",
        "metrics": {"best.regret": "minimize"},
    }
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(document))
    answer = json.loads(ksched("sweep", tmp_path / "sweep.yaml", "-o", "json")[1])
    medians = {
        each["name"]: each["metrics"]["best.regret"]["median"] for each in answer["variants"]
    }
    assert medians == {"spread.yaml": 1, "pack.yaml": 0}


def test_bad_input_gets_one_line(
    state: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = ksched("schedule", "--state", state, "--regret", "example.com/none")
    assert code == 2
    assert "--regret takes pods, or a resource that waiting pods request" in err
    assert (
        "--time-limit requires --regret"
        in ksched("schedule", "--state", state, "--time-limit", "5s")[2]
    )
    monkeypatch.setitem(sys.modules, "ortools", None)
    code, _, err = ksched("schedule", "--state", state, "--regret", "pods")
    assert code == 2
    assert "--regret needs the extra optimum" in err
    assert "pip install '.[optimum]'" in err
