#!/usr/bin/env python3
"""Gavel's static trace (OSDI 2020), 100 jobs on three types of GPU: how much a scheduler gains that
knows how fast a job runs on each type.

    makespan.py CHECKOUT FOLDER [--seeds 10]

CHECKOUT is of stanford-futuredata/gavel, which has the trace and the throughputs. FOLDER gets the
timeline, the nodes and the answer. Prints the makespan and the mean completion time of jobs in
hours, with 95 % intervals over the seeds, beside those of the authors' simulator in Markdown.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "plugins" / "examples"
TRACE = "scheduler/traces/physical_cluster/minimize_makespan.trace"
UNAWARE = "profiles[0].pluginConfig[EarliestEnd].args.aware=false"
HOUR = 3600
LEAST = 0.05  # hours; less is no digit of the table
# What `simulate_scheduler_with_trace.py -c 8:16:24 --num_gpus_per_server 4:4:4` of the checkout
# printed on 2026-11-29: hours, and half of the interval where seeds change anything.
AUTHORS = (
    ("Gavel, FIFO", "no", "70.4", "47.2"),
    ("Gavel, FIFO", "yes", "24.3", "10.7"),
    ("Gavel, Gandiva's policy", "no", "20.9 ± 0.1", "9.8"),
    ("Gavel, makespan policy", "no", "20.7 ± 0.1", "19.1"),
    ("Gavel, makespan policy", "yes", "17.4", "17.0"),
)


def ksched(*arguments: object) -> str:
    """Run ksched; exit with its message where it fails."""
    command = [sys.executable, "-m", "ksched_cli", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(done.returncode)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    jobs, nodes = options.folder / "jobs.jsonl", options.folder / "nodes.json"
    trace = options.checkout / TRACE
    ksched("timeline", "from-csv", trace, "--recipe", "gavel", "--to", jobs, "--state-to", nodes)
    plugin = ("--plugin", EXAMPLES / "earliest_end.py")
    aware = ("--config", EXAMPLES / "earliest_end.yaml", *plugin)
    sides = ("--vs", *aware, "--patch", UNAWARE, "--vs", *aware)
    run = ("--timeline", jobs, "--state", nodes, "--seeds", options.seeds, "-o", "json")
    text = ksched("compare", *run, *sides)
    (options.folder / "compare.json").write_text(text)
    rows = zip(
        ("kube-scheduler's default", "earliest_end.py, `aware: false`", "earliest_end.py"),
        ("no", "no", "yes"),
        json.loads(text)["sides"],
        strict=True,
    )
    print("| who decides | knows types | makespan | mean completion |")
    print("| --- | --- | --: | --: |")
    for name, knows, side in rows:
        jobs = side["summary"]["jobs"]
        figures = (jobs["makespan"], jobs["completionTime"]["mean"])
        print(f"| {name} | {knows} | {' | '.join(map(_hours, figures))} |")
    for row in AUTHORS:
        print(f"| {' | '.join(row)} |")


def _hours(figure: dict[str, float]) -> str:
    """The mean, and half of its 95 % interval where seeds change it."""
    half = (figure["high"] - figure["low"]) / 2 / HOUR
    return f"{figure['mean'] / HOUR:.1f}" + (f" ± {half:.1f}" if half >= LEAST else "")


if __name__ == "__main__":
    main()
