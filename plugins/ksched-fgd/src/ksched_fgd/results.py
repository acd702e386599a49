"""Results of experiments, as the paper's repository has them: three files of a row per run, with
the measures at 0, 1, 2 … 130 percent of the cluster's GPUs asked for.

Upstream: experiments/analysis/expected_results.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ksched_fgd.measure import BINS, Measures
from ksched_fgd.traces import TraceError


class Run(NamedTuple):
    """policy: as the results name it, as 06-FGD."""

    workload: str
    policy: str
    tune: float
    seed: int


# The values of a measure, NaN where there is none, by run.
Table: TypeAlias = dict[Run, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Measure:
    """attribute: of Measures; title: what it is, for figures and tables."""

    attribute: str
    file: str
    title: str


MEASURES = (
    Measure("allocated", "analysis_allo_discrete.csv", "GPUs allocated"),
    Measure("fragments", "analysis_frag_discrete.csv", "fragments of all GPUs"),
    Measure("idle_fragments", "analysis_frag_ratio_discrete.csv", "fragments of idle GPUs"),
)
KEYS = ("workload", "sc_policy", "tune", "seed")
TOTAL = "total_gpus"


def read_results(folder: Path, measure: Measure) -> Table:
    """Read the results of a folder. Raises TraceError."""
    path = folder / measure.file
    table: Table = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                run = Run(row["workload"], row["sc_policy"], float(row["tune"]), int(row["seed"]))
                table[run] = [_value(row.get(str(number), "")) for number in range(BINS)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"{path} cannot be read: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path} is not a file of results: {error}") from None
    return table


def _value(text: str) -> float:
    return float(text) if text else nan


def add_results(folder: Path, measured: Mapping[Run, Measures]) -> None:
    """Put the measures of runs into the files of the folder, which are made where they lack. A run
    that is there already is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    for measure in MEASURES:
        is_there = (folder / measure.file).exists()
        table = read_results(folder, measure) if is_there else {}
        for run, measures in measured.items():
            table[run] = getattr(measures, measure.attribute)
        gpus = max(measures.gpus for measures in measured.values())
        _write(folder / measure.file, dict(sorted(table.items())), gpus)


def _write(path: Path, table: Table, gpus: int) -> None:
    """By way of another file, so that an interrupt leaves the old one. Only the first of the files
    has the number of GPUs, as upstream's."""
    has_total = path.name == MEASURES[0].file
    partial = path.with_suffix(".part")
    with partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*KEYS, *([TOTAL] if has_total else []), *range(BINS)])
        for run, values in table.items():
            texts = ["" if isnan(value) else repr(value) for value in values]
            writer.writerow([*run, *([gpus] if has_total else []), *texts])
    partial.replace(path)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the values of some runs agree with the paper's. difference: the greatest."""

    runs: int
    values: int
    equal: int
    difference: float

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(
            self.runs + other.runs,
            self.values + other.values,
            self.equal + other.equal,
            max(self.difference, other.difference),
        )


def agreement(ours: Sequence[float], papers: Sequence[float]) -> Agreement:
    """The agreement of one run. Where only one of the two has a value, they differ by infinity."""
    pairs = list(zip(ours, papers, strict=True))
    differences = [0.0 if isnan(our) and isnan(their) else abs(our - their) for our, their in pairs]
    differences = [float("inf") if isnan(value) else value for value in differences]
    return Agreement(1, len(pairs), differences.count(0.0), max(differences))


def compare_tables(ours: Table, papers: Table) -> Mapping[tuple[str, str], Agreement]:
    """By workload and policy, of the runs that both have."""
    by_policy: dict[tuple[str, str], Agreement] = {}
    for run, values in ours.items():
        if run in papers:
            key = run.workload, run.policy
            compared = agreement(values, papers[run])
            by_policy[key] = by_policy[key] + compared if key in by_policy else compared
    return by_policy
