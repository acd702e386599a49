#!/usr/bin/env python3
"""The experiment of the FGD paper (USENIX ATC 2023) on the openb trace: how many GPUs placement
policies allocate, and how many they leave in fragments, when pods have requested 130 % of them.

    fragmentation.py CHECKOUT FOLDER [--trace default] [--policies …] [--seeds 10] [--workers N]

CHECKOUT is of hkust-adsl/kubernetes-scheduler-simulator, which has the trace and the paper's
results. FOLDER gets what `ksched-fgd grid` writes, and rows.jsonl, with which the sweep resumes.
Seeds are 42, 43, …, as in the paper. Needs plugins/ksched-fgd. Prints in Markdown the
means in per cent over the seeds with 95 % intervals, beside those of the paper's files, and how
many of all values over the 131 loads are equal.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from interval_text import interval_text
from ksched_fgd.experiment import POLICIES
from ksched_fgd.grid import read_rows, write_grid
from ksched_fgd.results import MEASURES, Table, agreement, read_results

NODES, TUNE, FIRST_SEED = "openb_node_list_gpu_node.csv", 1.3, 42


def print_table(folder: Path, results: Path) -> None:
    measured, failed = read_rows(folder / "rows.jsonl")
    papers: list[Table] = [read_results(results, measure) for measure in MEASURES]
    print(f"| policy | seeds | {' | '.join(each.title for each in MEASURES)} | equal values |")
    print(f"| --- | --: |{' --: |' * (len(MEASURES) + 1)}")
    for name, policy in POLICIES.items():
        runs = sorted(run for run in measured if run.policy == policy.label)
        if not runs:
            continue
        ours = [
            {run: getattr(measured[run], measure.attribute) for run in runs} for measure in MEASURES
        ]
        pairs = [
            (own[run], paper[run])
            for own, paper in zip(ours, papers, strict=True)
            for run in runs
            if run in paper
        ]
        agreements = [agreement(own, paper) for own, paper in pairs]
        equal = f"{sum(a.equal for a in agreements):,} of {sum(a.values for a in agreements):,}"
        cells = " | ".join(
            interval_text([values[-1] for values in table.values()], 2) for table in ours
        )
        print(f"| {name} | {len(runs)} | {cells} | {equal} |")
        cells = " | ".join(
            interval_text([table[run][-1] for run in runs if run in table], 2) for table in papers
        )
        print(f"| … the paper | {len(runs)} | {cells} | |")
    if failed:
        print(f"\n{failed:,} runs failed")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trace", default="default")
    parser.add_argument("--policies", nargs="+", default=[*POLICIES], choices=[*POLICIES])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    csv = options.checkout / "data" / "csv"
    if not options.folder.exists():
        seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
        traces = [csv / f"openb_pod_list_{options.trace}.csv"]
        write_grid(options.folder, traces, csv / NODES, options.policies, TUNE, seeds)
    command = ["sweep", "sweep.yaml", "--rows", "rows.jsonl"]
    command += ["--workers", str(options.workers)] if options.workers else []
    ksched = [sys.executable, "-m", "ksched_cli"]
    done = subprocess.run(
        [*ksched, *command], cwd=options.folder, stdout=subprocess.DEVNULL, check=False
    )
    results = options.checkout / "experiments" / "analysis" / "expected_results"
    print_table(options.folder, results)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
