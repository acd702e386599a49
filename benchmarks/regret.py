#!/usr/bin/env python3
"""The regret of placement policies on the openb trace: how many more GPUs the best placement of the
same pods requests.

    regret.py CHECKOUT FOLDER [--loads 80 100 120] [--seeds 10] [--workers N]

CHECKOUT is as of openb.py. FOLDER gets a state per load and seed, the configurations, and the sweep
that is run: sweep.yaml, with rows.jsonl, which resumes. A state has the nodes of the trace and pods
in an order of the seed, until they request the load's share of all GPUs; a pod that shares a GPU
requests a whole one. The policies FGD and PWR need plugins/ksched-fgd and plugins/ksched-pwr.
"""

import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

from openb import GPU, MODEL, NODES, PODS, Manifest, node, pod, rows

ANNOTATION = "alibabacloud.com/gpu"
WEIGHTS = [{"name": name, "weight": 1} for name in ("cpu", "memory", GPU)]
PACKING = {"scoringStrategy": {"type": "MostAllocated", "resources": WEIGHTS}}


def scored_by(plugin: str) -> Manifest:
    """A profile of the paper's experiments, in which one plugin scores nodes and chooses GPUs."""
    return {
        "plugins": {
            "multiPoint": {"enabled": [{"name": "Open-Gpu-Share"}]},
            "score": {"disabled": [{"name": "*"}], "enabled": [{"name": plugin, "weight": 1000}]},
        },
        "pluginConfig": [{"name": "Open-Gpu-Share", "args": {"gpuSelMethod": plugin}}],
    }


PROFILES = {
    "default": {},
    "most-allocated": {"pluginConfig": [{"name": "NodeResourcesFit", "args": PACKING}]},
    "fgd": scored_by("FGDScore"),
    "pwr": scored_by("PWRScore"),
}


def state_of(checkout: Path, load: int, seed: int) -> Manifest:
    folder, draw = checkout / "data" / "csv", random.Random(seed)
    nodes = [with_gpus(node(row), int(row["gpu"])) for row in rows(folder / NODES)]
    trace = [*rows(folder / PODS)]
    limit = sum(int(row["gpu"]) for row in rows(folder / NODES)) * load / 100
    pods: list[Manifest] = []
    requested = 0
    while requested < limit:
        for row in draw.sample(trace, len(trace)):
            requested += int(row["num_gpu"])
            if requested >= limit:
                break
            pods.append(drawn(pod(row), row, len(pods)))
    return {"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}


def with_gpus(manifest: Manifest, gpus: int) -> Manifest:
    """Add what Open-Gpu-Share reads of a node."""
    if gpus:
        manifest["status"]["allocatable"][f"{ANNOTATION}-count"] = str(gpus)
        model = manifest["metadata"]["labels"][MODEL]
        manifest["metadata"]["labels"][f"{ANNOTATION}-card-model"] = model
    return manifest


def drawn(manifest: Manifest, row: dict[str, str], number: int) -> Manifest:
    """Name a pod by its place in the queue, and add what Open-Gpu-Share reads of it."""
    metadata = manifest["metadata"]
    metadata |= {"name": f"pod-{number:05}", "uid": str(number)}
    hours, seconds = divmod(number, 3600)
    metadata["creationTimestamp"] = f"2026-01-01T{hours:02}:{seconds // 60:02}:{seconds % 60:02}Z"
    if row["num_gpu"] != "0":
        metadata["annotations"] = {
            f"{ANNOTATION}-count": row["num_gpu"],
            f"{ANNOTATION}-milli": "1000",
            **({f"{ANNOTATION}-card-model": row["gpu_spec"]} if row["gpu_spec"] else {}),
        }
    return manifest


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--loads", type=int, nargs="+", default=[80, 100, 120])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--policies", nargs="+", default=[*PROFILES], choices=[*PROFILES])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    states = [
        f"openb-{load}-{seed}.json" for load in options.loads for seed in range(options.seeds)
    ]
    for name in states:
        _, load, seed = name.removesuffix(".json").split("-")
        state = state_of(options.checkout, int(load), int(seed))
        (options.folder / name).write_text(json.dumps(state))
    for name in options.policies:
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [PROFILES[name]],
        }
        (options.folder / f"{name}.yaml").write_text(json.dumps(document))
    sweep = {
        "apiVersion": "ksched/v1",
        "kind": "Sweep",
        "states": states,
        "configurations": [f"{name}.yaml" for name in options.policies],
        "regret": GPU,
        "metrics": {"best.regret": "minimize", "best.atMost": "minimize"},
    }
    (options.folder / "sweep.yaml").write_text(json.dumps(sweep))
    command = ["sweep", "sweep.yaml", "--rows", "rows.jsonl"]
    command += ["--workers", str(options.workers)] if options.workers else []
    ksched = [sys.executable, "-m", "ksched_cli"]
    raise SystemExit(
        subprocess.run([*ksched, *command], cwd=options.folder, check=False).returncode
    )


if __name__ == "__main__":
    main()
