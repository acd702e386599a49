"""Small sweeps for tests: a file, its states, and what the file is read to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ksched_cli.sweep.plan import Plan
from ksched_cli.sweep.preparation import Settings, plan_of
from ksched_cli.sweep.sweep_file import SweepFile, read_sweep
from ksched_cli.testing import node, pod

# Two nodes alike: which of them a pod takes is a draw. The third is nearly full.
OBJECTS = (
    node("a", cpu="4", memory="8Gi"),
    node("b", cpu="4", memory="8Gi"),
    node("c", cpu="8", memory="16Gi"),
    pod("r", node="c", cpu="6", memory="12Gi"),
    *(pod(f"p-{number}", cpu="1", memory="1Gi") for number in range(3)),
)
STRATEGY = "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type"
WEIGHT = "profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight"


def write_state(path: Path, *objects: dict[str, Any]) -> Path:
    items = list(objects or OBJECTS)
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return path


def write_sweep(folder: Path, kind: str = "Sweep", **fields: Any) -> Path:
    """A file in the folder, beside the state that it names unless told otherwise."""
    if "states" not in fields:
        write_state(folder / "cluster.json")
        fields["states"] = ["cluster.json"]
    path = folder / f"{kind.lower()}.yaml"
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": kind, **fields}))
    return path


def sweep_file(folder: Path, **fields: Any) -> SweepFile:
    return read_sweep(str(write_sweep(folder, **fields)))


def plan(folder: Path, settings: Settings | None = None, **fields: Any) -> Plan:
    return plan_of(sweep_file(folder, **fields), settings or Settings(minors=("1.34",)))[0]
