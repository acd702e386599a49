"""Watts and energy of runs, by the model of the state or the paper's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ksched_fgd.gpu_requests import GPU_COUNT, GPU_MILLI, GPU_MODEL
from ksched_pwr.power import Power
from ksched_pwr.power_columns import PowerColumns
from ksched_pwr.pwr_measures import GRID, on_grid
from numpy.testing import assert_allclose

from ksched_cli.api import Nodes
from ksched_cli.errors import UsageError
from ksched_cli.testing import Manifest, cluster, node, pod, simulation

GPU = "nvidia.com/gpu"


def model(*nodes: Manifest) -> Manifest:
    return {
        "apiVersion": "power.ksched/v1",
        "kind": "PowerModel",
        "metadata": {"name": "ours"},
        "nodes": [*nodes],
    }


SMALL = {"labels": {"size": "small"}, "idleWatts": 50, "wattsPerCpu": 4}
OTHERS = {"idleWatts": 200, "wattsPerCpu": 3, "gpu": {"idleWatts": 10, "fullWatts": 70}}


def watts(*objects: Manifest) -> dict[str, float]:
    """Node → what it consumes after the run."""
    enabled: Manifest = {"profiles": [{"plugins": {"postBind": {"enabled": [{"name": "Power"}]}}}]}
    run = simulation(cluster(*objects), enabled, plugins=[Power])
    run.run()
    nodes = Nodes(run.snapshot)
    columns = run.handle.service(PowerColumns)
    consumed = columns.watts(columns.load(nodes), nodes).tolist()
    return dict(zip(run.snapshot.names, consumed, strict=True))


def test_the_first_entry_with_a_field_decides() -> None:
    objects = [node("a", labels={"size": "small"}), node("b", resources={GPU: 4})]
    assert watts(*objects, model(SMALL, OTHERS)) == {"a": 50, "b": 200 + 4 * 10}
    also = {"labels": {"size": "small"}, "wattsPerCpu": 9}
    objects = [node("a", labels={"size": "small"}), pod("p", cpu="500m", node="a")]
    assert watts(*objects, model(also, SMALL, OTHERS)) == {"a": 50 + 4.5}


def test_pods_that_are_placed_use_cpus_and_gpus() -> None:
    uses_two = pod("p", cpu=2, requests={"cpu": 2, GPU: 2})
    assert watts(node("n", resources={GPU: 4}), uses_two, model(OTHERS)) == {
        "n": 200 + 2 * 3 + 2 * 70 + 2 * 10
    }


def test_processors_are_idle_or_work() -> None:
    """Two processors of 8 cores with 2 cpus each; 17 cpus are a core of the second."""
    package = {"cores": 8, "idleWatts": 20, "fullWatts": 100}
    objects = [node("n", cpu=32), node("m", cpu=32), node("o", cpu=32)]
    pods = [pod("p", cpu=16, node="m"), pod("q", cpu=17, node="o")]
    assert watts(*objects, *pods, model({"cpuPackage": package})) == {"m": 120, "n": 40, "o": 200}


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([model(SMALL)], "no entry of the PowerModel matches node n: add one for its labels, or "),
        (
            [model({"idleWatts": 5})],
            "node n has nvidia.com/gpu, and no entry of the PowerModel that matches it has gpu",
        ),
        ([model(SMALL), model(SMALL)], "the state has 2 PowerModels; leave out all but one"),
        (
            [model({"idleWatts": "much"})],
            "PowerModel ours: Expected `float | null`, got `str` - at `$.nodes[0].idleWatts`",
        ),
        (
            [model({"gpu": {"idleWatts": 80, "fullWatts": 70}})],
            "PowerModel ours: fullWatts 70 is less than idleWatts 80 - at `$.nodes[0].gpu`",
        ),
        ([model({"idle": 5})], "PowerModel ours: Object contains unknown field `idle`"),
    ],
)
def test_a_model_that_cannot_be_used_is_refused(models: list[Manifest], message: str) -> None:
    with pytest.raises(UsageError) as error:
        watts(node("n", resources={GPU: 1}), *models)
    assert message in str(error.value)


def sweep_row(folder: Path, state: list[Manifest], plugin: str, **sweep: Any) -> dict[str, float]:
    """The metrics of the plugin in the only row."""
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"plugins": {"multiPoint": {"enabled": [{"name": "Open-Gpu-Share"}, {"name": plugin}]}}}
        ],
    }
    (folder / "state.json").write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": state})
    )
    (folder / "config.json").write_text(json.dumps(config))
    document = {
        "apiVersion": "ksched/v1",
        "kind": "Sweep",
        "states": ["state.json"],
        "configurations": ["config.json"],
        **sweep,
    }
    (folder / "sweep.yaml").write_text(json.dumps(document))
    command = [sys.executable, "-m", "ksched_cli", "sweep", "sweep.yaml", "--rows", "rows.jsonl"]
    subprocess.run(command, cwd=folder, check=False, capture_output=True)
    row = json.loads((folder / "rows.jsonl").read_text())
    assert row["status"] == "ok", row["error"]
    prefix = f"{plugin}."
    return {
        name.removeprefix(prefix): value
        for name, value in row["metrics"].items()
        if name.startswith(prefix)
    }


def test_a_replay_has_the_energy(tmp_path: Path) -> None:
    """A node of 100 W and 10 W per cpu; one of 50 W joins after 10 minutes. A pod of 2 cpus runs
    for half an hour of the hour."""
    timeline = {
        "apiVersion": "ksched/v1",
        "kind": "Timeline",
        "until": 3600,
        "events": [
            {"at": 0, "pod": pod("p", cpu=2), "runsFor": 1800},
            {"at": 600, "put": node("small", cpu=1, labels={"size": "small"})},
        ],
    }
    (tmp_path / "hour.json").write_text(json.dumps(timeline))
    power = model(SMALL, {"idleWatts": 100, "wattsPerCpu": 10})
    figures = sweep_row(tmp_path, [node("n"), power], "Power", timelines=["hour.json"])
    hours = 0.1 + 0.01 + 0.05 * 5 / 6
    assert figures == {
        "watts": 150,
        "cpuWatts": 150,
        "gpuWatts": 0,
        "kilowattHours": pytest.approx(hours),
        "meanWatts": pytest.approx(1000 * hours),
        "peakWatts": 170,
    }


def test_a_schedule_has_watts_alone(tmp_path: Path) -> None:
    figures = sweep_row(tmp_path, [node("n"), pod("p", cpu=2), model(OTHERS)], "Power")
    assert figures == {"watts": 206, "cpuWatts": 206, "gpuWatts": 0}


def test_the_papers_measures_follow_the_pods(tmp_path: Path) -> None:
    """Two P100 and 32 cpus, a quarter of the GPUs per pod. The third pod wants another model, so
    half of what is requested is allocated when three quarters are."""
    there = node("n", cpu=32, resources={GPU_COUNT: 2, GPU_MILLI: 2000}, labels={GPU_MODEL: "P100"})
    there["status"]["capacity"] = there["status"]["allocatable"]
    amounts = {GPU_COUNT: "1", GPU_MILLI: "500"}
    pods = [pod(name, cpu=1, annotations=amounts) for name in ("a", "b", "d")]
    other = pod("c", cpu=1, annotations=amounts | {GPU_MODEL: "T4"})
    state = [there, *pods[:2], other, pods[2]]
    figures = sweep_row(tmp_path, state, "PwrMeasures", noRetries=True)
    # A processor works for the first pod, a GPU for two pods.
    assert (figures["watts.0"], figures["watts.50"], figures["watts.100"]) == (395, 395, 620)
    assert figures["allocation.50"] == 1
    assert figures["allocation.100"] == pytest.approx(0.75)


def test_a_curve_is_interpolated_by_place() -> None:
    """Half of the requests come with the second pod; the first value of a share counts."""
    shares, values = [0.0, 0.0, 0.5, 1.0], [10.0, 99.0, 20.0, 40.0]
    curve = on_grid(np.array(shares), np.array(values))
    assert len(curve) == len(GRID)
    assert_allclose(curve[[0, 50, 100, 150, 200]], [10, 15, 20, 30, 40])


def test_the_measures_need_shared_gpus(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no node has shared GPUs"):
        sweep_row(tmp_path, [node("n"), pod("p")], "PwrMeasures")
