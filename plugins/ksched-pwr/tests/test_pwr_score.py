"""The paper's power and scores, as its authors' code computes them."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest
from ksched_fgd.gpu_requests import GPU_COUNT, GPU_INDEX, GPU_MILLI, GPU_MODEL
from ksched_fgd.open_gpu_share import OpenGpuShare
from ksched_pwr import PLUGINS, ksched_plugins
from ksched_pwr.power import Power
from ksched_pwr.power_columns import PowerColumns
from ksched_pwr.power_model import CPU_MODEL
from ksched_pwr.pwr_score import PwrScore, least_power

from ksched_cli.api import Nodes
from ksched_cli.testing import (
    Manifest,
    cluster,
    explanation,
    node,
    pod,
    scores,
    simulate,
    simulation,
)

Case = dict[str, str]


def cases() -> list[Case]:
    """Those of tests/data; of the file that KSCHED_PWR_ORACLE names, if it names one."""
    path = os.environ.get("KSCHED_PWR_ORACLE") or Path(__file__).parent / "data" / "authors.csv"
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def gpu_node(name: str, gpus: int, *, cpu: str = "64", model: str = "T4") -> Manifest:
    amounts = {GPU_COUNT: gpus, GPU_MILLI: gpus * 1000} if gpus else {}
    manifest = node(name, cpu=cpu, pods=1001, resources=amounts, labels={GPU_MODEL: model})
    manifest["status"]["capacity"] = manifest["status"]["allocatable"]
    return manifest


def gpu_pod(name: str, milli: int, count: int = 1, *, cpu: str = "1", on: str = "") -> Manifest:
    """on: NODE/INDEX, where it runs already."""
    annotations = {GPU_MILLI: str(milli), GPU_COUNT: str(count)} if count else {}
    place, _, index = on.partition("/")
    if index:
        annotations[GPU_INDEX] = index
    return pod(name, cpu=cpu, annotations=annotations, node=place)


def state_of(case: Case, name: str = "n") -> list[Manifest]:
    """A node and the pods that take what the case has not left."""
    left = [int(amount) for amount in case["gpusLeft"].split()]
    there = gpu_node(name, len(left), cpu=case["cpu"] + "m", model=case["gpuModel"])
    labels = there["metadata"]["labels"]
    labels[CPU_MODEL] = case["cpuModel"]
    there["metadata"]["labels"] = {key: value for key, value in labels.items() if value}
    taken = int(case["cpu"]) - int(case["cpuLeft"])
    pods = [gpu_pod(f"{name}-cpu", 0, 0, cpu=f"{taken}m", on=name)]
    pods += [
        gpu_pod(f"{name}-{index}", 1000 - amount, cpu="0", on=f"{name}/{index}")
        for index, amount in enumerate(left)
        if amount < 1000
    ]
    return [there, *pods]


def test_the_power_of_nodes_is_the_authors() -> None:
    listed = {f"n{number:05}": case for number, case in enumerate(cases())}
    states = [manifest for name, case in listed.items() for manifest in state_of(case, name)]
    run = simulation(cluster(*states), with_plugin("Power", "postBind"), plugins=[Power])
    columns = run.handle.service(PowerColumns)
    nodes = Nodes(run.snapshot)
    load = columns.load(nodes)
    cpu, gpu = columns.cpu_watts(load, nodes), columns.gpu_watts(load, nodes)
    assert dict(zip(run.snapshot.names, zip(cpu, gpu, strict=True), strict=True)) == {
        name: (float(case["cpuWatts"]), float(case["gpuWatts"])) for name, case in listed.items()
    }


def test_the_raw_scores_are_the_authors() -> None:
    for case in cases():
        pending = pod("p", cpu=f"{case['podCpu']}m")
        if case["podGpus"] != "0":
            amounts = {GPU_MILLI: case["podMilli"], GPU_COUNT: case["podGpus"]}
            pending["metadata"]["annotations"] = amounts
        state = cluster(*state_of(case), pending)
        assert scores(PwrScore, state, pod="p", normalized=False) == {"n": int(case["score"])}, case


def test_the_gpu_of_a_node_is_the_authors() -> None:
    shared = [case for case in cases() if case["podGpus"] == "1" and case["podMilli"] != "1000"]
    assert shared
    for case in shared:
        left = [int(amount) for amount in case["gpusLeft"].split()]
        assert least_power(left, int(case["podMilli"])) == int(case["gpu"]), case


def with_plugin(name: str, point: str, **args: str) -> Manifest:
    plugins = {point: {"enabled": [{"name": name}]}}
    return {"profiles": [{"plugins": plugins, "pluginConfig": [{"name": name, "args": args}]}]}


def test_scores_are_normalised_by_the_lowest_and_the_highest() -> None:
    """A GPU in use costs nothing more, a free T4 60 W, a free P100 225 W; the processor that has to
    work for the pod costs 105 W everywhere but on the node that is in use: 0, -165 and -330."""
    objects = [
        gpu_node("used", 1),
        gpu_pod("a", 400, on="used/0"),
        gpu_node("t4", 1),
        gpu_node("p100", 1, model="P100"),
    ]
    answers = scores(PwrScore, cluster(*objects, gpu_pod("p", 500)), pod="p")
    assert answers == {"used": 100, "t4": 50, "p100": 0}


def test_equal_scores_are_100() -> None:
    state = cluster(gpu_node("a", 1), gpu_node("b", 1), gpu_pod("p", 500))
    assert scores(PwrScore, state, pod="p") == {"a": 100, "b": 100}


def test_a_pod_goes_to_the_gpu_that_is_in_use() -> None:
    """`best` would take GPU 1, which has less left, and FGDScore, too."""
    shares: Manifest = {"name": "Open-Gpu-Share", "args": {"gpuSelMethod": "PWRScore"}}
    profile = {
        "plugins": {
            "multiPoint": {"enabled": [{"name": "Open-Gpu-Share"}]},
            "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "PWRScore"}]},
        },
        "pluginConfig": [shares],
    }
    objects = [gpu_node("n", 3), gpu_pod("a", 100, on="n/1"), gpu_pod("b", 400, on="n/2")]
    state = cluster(*objects, gpu_pod("p", 500))
    run = simulate(state, {"profiles": [profile]}, plugins=[OpenGpuShare, PwrScore])
    assert run.last["default/p"].notes == {"GPU": [1]}


def test_explain_tells_the_watts() -> None:
    state = cluster(gpu_node("n", 1), gpu_pod("p", 500))
    text = str(explanation(state, with_plugin("PWRScore", "score"), plugins=[PwrScore], pod="p"))
    assert "it consumes 40.0 W, and 205.0 W with the pod" in text


@pytest.mark.parametrize("plugin", PLUGINS)
def test_every_plugin_is_registered_by_its_name(plugin: type) -> None:
    assert dict(ksched_plugins())[plugin.name] is plugin  # type: ignore[attr-defined]
