"""Small sweeps for tests: a file, its states, and what the file is read to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksched_cli.analysis.run_figures import Outcome
from ksched_cli.run.run import Run
from ksched_cli.sweep.outcome import Performer, Task
from ksched_cli.sweep.plan import StudyPlan
from ksched_cli.sweep.preparation import Prepared, Shared, prepare
from ksched_cli.sweep.run_process import Executor
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
BASE = Run(kubernetes_version="1.34")


def write_state(path: Path, *objects: dict[str, Any]) -> Path:
    items = list(objects or OBJECTS)
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return path


def write_sweep(folder: Path, kind: str = "Sweep", **fields: Any) -> Path:
    """A file in the folder, beside the state that it names by default."""
    if "states" not in fields:
        write_state(folder / "cluster.json")
        fields["states"] = ["cluster.json"]
    path = folder / f"{kind.lower()}.yaml"
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": kind, **fields}))
    return path


def sweep_file(folder: Path, base: Run = BASE, **fields: Any) -> SweepFile:
    return read_sweep(str(write_sweep(folder, **fields)), base)


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep whose files have been read."""

    plan: StudyPlan
    prepared: Prepared

    @property
    def shared(self) -> Shared:
        return self.prepared.shared

    def tasks(self) -> list[Task]:
        runs = enumerate(self.plan.runs())
        return [Task(self.shared.id_of(run), run, number) for number, run in runs]

    def outcomes(self) -> list[Outcome]:
        """The rows of all runs, made in this process."""
        performer = Performer(self.shared)
        return [performer.perform(task) for task in self.tasks()]


def sweep(folder: Path, base: Run = BASE, metrics: tuple[str, ...] = (), **fields: Any) -> Sweep:
    file = sweep_file(folder, base, **fields)
    return Sweep(file.plan, prepare(file.document, [file.plan], metrics))


def in_this_process(shared: Shared, performed: list[Task] | None = None) -> Executor:
    """Other processes take long to start. performed: where the tasks go to"""
    performer = Performer(shared)

    def execute(tasks: Iterator[Task], count: int) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            if performed is not None:
                performed.append(task)
            yield task, performer.perform(task)

    return execute
