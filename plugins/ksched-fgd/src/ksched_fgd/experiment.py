"""An experiment of the paper: a workload under a policy, by `ksched schedule`.

Upstream: experiments/run_scripts/generate_run_scripts.py, scripts/generate_config_and_run.py.
"""

from __future__ import annotations

import json
import subprocess  # nosec B404  # starts ksched
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ksched_fgd.fgd_measures import FgdMeasures
from ksched_fgd.workload import Workload, manifests

WEIGHT = 1000


class ExperimentError(RuntimeError):
    """A run of ksched that failed; its text is what ksched printed."""


@dataclass(frozen=True, slots=True)
class Policy:
    """label: as the paper's results name it; args: of the scorer."""

    label: str
    scorer: str
    gpu_choice: str = "best"
    args: Mapping[str, Any] = field(default_factory=dict)


POLICIES: Mapping[str, Policy] = {
    "Random": Policy("01-Random", "RandomScore", "random"),
    "DotProd": Policy("02-DotProd", "DotProductScore", args={"dimExtMethod": "merge"}),
    "Clustering": Policy("03-GpuClustering", "GpuClusteringScore"),
    "Packing": Policy("04-GpuPacking", "GpuPackingScore"),
    "BestFit": Policy("05-BestFit", "BestFitScore"),
    "FGD": Policy("06-FGD", "FGDScore", "FGDScore"),
}


def configuration(policy: Policy, seed: int, *, is_measured: bool = False) -> dict[str, Any]:
    """A KubeSchedulerConfiguration.

    seed:        of the random policy's draws
    is_measured: whether a sweep's rows are to have the paper's measures
    """
    gpu_args: dict[str, Any] = {"gpuSelMethod": policy.gpu_choice}
    scorer_args = dict(policy.args)
    if policy.gpu_choice == "random":
        gpu_args["seed"] = scorer_args["seed"] = seed
    multi_point = ["PrioritySort", "Open-Gpu-Share", "DefaultBinder"]
    if is_measured:
        multi_point.append(FgdMeasures.name)
    fits = {"enabled": [{"name": "NodeResourcesFit"}]}
    plugins: dict[str, Any] = {
        "multiPoint": {
            "enabled": [{"name": name} for name in multi_point],
            "disabled": [{"name": "*"}],
        },
        "preFilter": fits,
        "filter": fits,
        "score": {"enabled": [{"name": policy.scorer, "weight": WEIGHT}]},
    }
    if policy.gpu_choice == "random":
        plugins["preScore"] = {"enabled": [{"name": policy.scorer}]}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 100,
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                "plugins": plugins,
                "pluginConfig": [
                    {"name": "Open-Gpu-Share", "args": gpu_args},
                    {"name": policy.scorer, "args": scorer_args},
                ],
            }
        ],
    }


def schedule(workload: Workload, policy: Policy, seed: int) -> dict[str, Any]:
    """What `ksched schedule -o json` prints; each pod is tried once. Raises ExperimentError."""
    with tempfile.TemporaryDirectory() as folder:
        state, config = Path(folder, "state.json"), Path(folder, "config.json")
        state.write_text(json.dumps(manifests(workload, "trace")))
        config.write_text(json.dumps(configuration(policy, seed)))
        command = [sys.executable, "-P", "-m", "ksched_cli", "schedule", "--no-retries"]
        done = subprocess.run(  # nosec B603  # constants, and names of own files
            [*command, "-o", "json", "--state", str(state), "--config", str(config)],
            capture_output=True,
            check=False,
            text=True,
        )
    if done.returncode not in (0, 1):
        raise ExperimentError(done.stderr.strip())
    result: dict[str, Any] = json.loads(done.stdout)
    return result
