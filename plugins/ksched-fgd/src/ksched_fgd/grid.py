"""Many experiments as one sweep: the files that `ksched sweep` reads, and the rows that it writes.

The paper's own grid is 17 traces, six policies and ten seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ksched_fgd.experiment import POLICIES, configuration
from ksched_fgd.fgd_measures import FgdMeasures
from ksched_fgd.measure import BINS, Measures
from ksched_fgd.results import MEASURES, Run
from ksched_fgd.traces import TraceError, read_nodes, read_pods
from ksched_fgd.workload import draw_workload, manifests


def write_grid(
    folder: Path,
    traces: Sequence[Path],
    nodes: Path,
    policies: Iterable[str],
    tune: float,
    seeds: Iterable[int],
) -> Path:
    """A state per trace and seed, a configuration per policy, and the sweep, whose path is
    returned. Raises TraceError, and OSError where the folder is there already."""
    folder.mkdir(parents=True)
    cluster = read_nodes(nodes)
    states, configurations = [], []
    for trace in traces:
        pods = read_pods(trace)
        for seed in seeds:
            file = f"{trace.stem}-{seed}.json"
            workload = draw_workload(pods, cluster, tune, seed)
            (folder / file).write_text(json.dumps(manifests(workload, trace.stem)))
            states.append({"name": f"{trace.stem} {tune} {seed}", "files": [file]})
    for name in policies:
        plain = configuration(POLICIES[name], 42, is_measured=True)
        (folder / f"{name}.json").write_text(json.dumps(plain, indent=2))
        configurations.append({"name": name, "file": f"{name}.json"})
    last = f"{FgdMeasures.name}.allocated.{BINS - 1}"
    sweep = {
        "apiVersion": "ksched/v1",
        "kind": "Sweep",
        "states": states,
        "configurations": configurations,
        "noRetries": True,
        "metrics": {last: "maximize"},
    }
    path = folder / "sweep.yaml"
    path.write_text(json.dumps(sweep, indent=2) + "\n")
    return path


def read_rows(path: Path) -> tuple[dict[Run, Measures], int]:
    """The measures of the runs that went well, and how many did not. Raises TraceError."""
    measured: dict[Run, Measures] = {}
    failed = 0
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            if row.get("status") == "ok":
                measured[_run(row)] = _measures(row["metrics"])
            else:
                failed += 1
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise TraceError(f"{path}, line {number}: no row of a grid: {error}") from None
    return measured, failed


def _run(row: Mapping[str, Any]) -> Run:
    trace, tune, seed = row["state"].rsplit(" ", 2)
    return Run(trace, POLICIES[row["configuration"]].label, float(tune), int(seed))


def _measures(metrics: Mapping[str, Any]) -> Measures:
    values = {
        measure.attribute: [
            float(metrics.get(f"{FgdMeasures.name}.{measure.attribute}.{number}", math.nan))
            for number in range(BINS)
        ]
        for measure in MEASURES
    }
    return Measures(int(metrics[f"{FgdMeasures.name}.gpus"]), **values)
