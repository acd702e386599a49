"""`ksched tune` from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra tune is not installed")

from ksched_cli.config.types import API_VERSION, KIND
from tests.commands.runners import Ksched
from tests.commands.test_sweep import here  # noqa: F401  # a fixture
from tests.report.schemas import conforms
from tests.sweep.sweeps import write_sweep
from tests.sweep.test_tune_file import OBJECTIVES, SPACE


def write_tune(folder: Path, **fields: Any) -> Path:
    fields = {"space": SPACE, "objectives": OBJECTIVES, "seeds": 2, "trials": 8} | fields
    return write_sweep(folder, "Tune", **fields)


def test_the_tuned_configuration_is_a_file_that_validate_accepts(
    ksched: Ksched, tmp_path: Path
) -> None:
    best = tmp_path / "best.yaml"
    code, out, err = ksched("tune", write_tune(tmp_path), "--best", best, "-o", "json")
    assert code == 0, err
    result = conforms(json.loads(out), "tune_result")
    assert result["best"]["parameters"]["strategy"] == "MostAllocated"
    assert result["heldOut"]["better"]
    assert (result["file"], result["trials"]["complete"]) == (str(best), 8)
    code, out, _ = ksched("validate", best)
    assert code == 0, out


def test_a_configuration_in_json_is_tuned_as_one_in_yaml(ksched: Ksched, tmp_path: Path) -> None:
    config = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "clientConnection": {"qps": 50.5},
        "profiles": [{}],
    }
    (tmp_path / "c.json").write_text(json.dumps(config))
    (tmp_path / "c.yaml").write_text(f"---\n{json.dumps(config)}")
    texts = []
    for file in ("c.json", "c.yaml"):
        best = tmp_path / "best.yaml"
        path = write_tune(tmp_path, configuration=file, trials=2)
        code, _, err = ksched("tune", path, "--best", best, "-o", "yaml")
        assert code in (0, 1), err
        texts.append(best.read_text())
    assert texts[0] == texts[1]
    assert "qps: 50.5\n" in texts[0]


def test_the_table_has_the_trials_the_judgement_and_the_configuration(
    ksched: Ksched, tmp_path: Path
) -> None:
    objectives = [*OBJECTIVES, {"metric": "utilization.cpu.max", "goal": "minimize"}]
    code, out, _ = ksched("tune", write_tune(tmp_path, objectives=objectives))
    assert code in (0, 1)
    assert "8 trials" in out
    assert "(chosen)" in out
    assert "On the held-out runs" in out
    assert "kind: KubeSchedulerConfiguration" in out


def test_tuning_that_changes_nothing_is_exit_code_1(ksched: Ksched, tmp_path: Path) -> None:
    space = [{"path": "podMaxBackoffSeconds", "between": [10, 12]}]
    code, out, _ = ksched("tune", write_tune(tmp_path, space=space, trials=2))
    assert code == 1
    assert out.startswith("the tuned configuration is no better than the baseline")


def test_a_study_is_gone_on_with(ksched: Ksched, tmp_path: Path) -> None:
    study = tmp_path / "study.log"
    for trials, resumed in ((2, 0), (4, 2)):
        file = write_tune(tmp_path, trials=trials)
        _, out, err = ksched("tune", file, "--study", study, "-o", "json")
        assert json.loads(out)["trials"]["resumed"] == resumed, err


def test_a_file_that_cannot_be_written_is_named_before_the_trials(
    ksched: Ksched, tmp_path: Path
) -> None:
    study, best = tmp_path / "study.log", tmp_path / "no" / "best.yaml"
    command = ("tune", write_tune(tmp_path, trials=2), "--study", study, "--best", best)
    code, out, err = ksched(*command)
    assert (code, out, study.exists()) == (2, "", False)
    assert f"{best} cannot be written" in err


def test_a_metric_that_there_is_not_is_named(ksched: Ksched, tmp_path: Path) -> None:
    objectives = [{"metric": "gaps", "goal": "minimize"}]
    code, out, err = ksched("tune", write_tune(tmp_path, objectives=objectives, trials=2))
    assert (code, out) == (2, "")
    assert 'no run has the metric "gaps"; ksched sweep -o csv lists the metrics' in err
