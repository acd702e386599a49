"""The paper's figures: a measure by how many GPUs the pods asked for, a line per policy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from statistics import median

from ksched_fgd.experiment import POLICIES
from ksched_fgd.measure import BINS
from ksched_fgd.results import Measure, Run, Table

SIZE = (8, 5)  # inches


def draw_figures(
    folder: Path, workload: str, tables: Iterable[tuple[Measure, Table]]
) -> list[Path]:
    """A PNG file per measure. Raises ModuleNotFoundError without matplotlib."""
    import_module("matplotlib").use("Agg")
    pyplot = import_module("matplotlib.pyplot")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for measure, table in tables:
        figure, axes = pyplot.subplots(figsize=SIZE)
        for name, policy in POLICIES.items():
            runs = [run for run in table if (run.workload, run.policy) == (workload, policy.label)]
            if runs:
                axes.plot(range(BINS), _medians(runs, table), label=f"{name}, seeds: {len(runs)}")
        axes.set_xlabel("GPUs that pods asked for, % of the cluster's")
        axes.set_ylabel(f"{measure.title}, %")
        axes.set_title(workload)
        axes.legend()
        path = folder / f"{workload}-{measure.attribute}.png"
        figure.savefig(path)
        pyplot.close(figure)
        paths.append(path)
    return paths


def _medians(runs: Iterable[Run], table: Table) -> list[float]:
    """Over the seeds, NaN where none has a value."""
    columns = zip(*(table[run] for run in runs), strict=True)
    present = ([value for value in column if not math.isnan(value)] for column in columns)
    return [median(values) if values else math.nan for values in present]
