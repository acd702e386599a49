#!/usr/bin/env python3
"""The experiment of the PWR paper (CCGrid 2025) on the openb trace: how much less power placement
policies need than FGD, and which share of the requested GPUs pods get, as the cluster fills.

    power.py CHECKOUT FOLDER [--trace default] [--policies …] [--seeds 10] [--workers N]

CHECKOUT is as of openb.py. FOLDER gets a state per seed, the configurations, and the sweep that is
run: sweep.yaml, with rows.jsonl, which resumes. Seeds are 42, 43, …, as in the paper: each draws
pods of the trace until they request 1.3 times the GPUs of the 1,213 nodes that have some. Needs
plugins/ksched-fgd and plugins/ksched-pwr. Prints the means over the seeds with 95 % intervals, in
Markdown, beside the values of the authors' figures.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from interval_text import interval_text
from ksched_fgd.experiment import POLICIES, configuration
from ksched_fgd.traces import read_nodes, read_pods
from ksched_fgd.workload import draw_workload, manifests
from ksched_pwr.pwr_measures import PwrMeasures

NODES, TUNE, FIRST_SEED = "openb_node_list_gpu_node.csv", 1.3, 42
LOADS = (20, 40, 60, 80, 100)
BASELINE = "FGD"
# The weights of PWRScore and FGDScore; the paper names its policies after them.
MIXES = {
    "PWR": (1000, 0),
    "PWR 500 FGD 500": (500, 500),
    "PWR 200 FGD 800": (200, 800),
    "PWR 100 FGD 900": (100, 900),
    "PWR 50 FGD 950": (50, 950),
}
DEFAULT = "default"
NAMES = [DEFAULT, *(name for name in POLICIES if name != "Random"), *MIXES]
# Read from the figures of slides 15, 17 and 18 of the authors' talk (CCGrid_2025 of their
# repository), to about 0.2 per cent and 0.001: savings at LOADS, and the share of requested GPUs
# that pods got at 100 %.
FIGURES = {
    "BestFit": ((2.0, 3.4, 4.4, 5.0, 2.7), None),
    "DotProd": ((3.4, 2.2, 1.6, 1.6, 4.9), None),
    "FGD": ((0.0,) * 5, 0.952),
    "PWR": ((15.8, 14.4, 13.6, 13.4, 7.6), 0.904),
    "PWR 500 FGD 500": ((15.7, 14.4, 13.6, 13.3, 5.5), 0.919),
    "PWR 200 FGD 800": ((15.1, 13.7, 13.2, 13.1, 4.8), 0.927),
    "PWR 100 FGD 900": ((14.5, 13.7, 13.1, 13.0, 4.8), 0.928),
    "PWR 50 FGD 950": ((14.5, 13.6, 13.1, 13.0, 5.1), 0.926),
}


def configuration_of(policy: str) -> dict[str, Any]:
    """One or two of the paper's plugins score; with `default`, those of kube-scheduler."""
    document = configuration(POLICIES.get(policy, POLICIES["FGD"]), FIRST_SEED)
    profile = document["profiles"][0]
    profile["plugins"]["multiPoint"]["enabled"].append({"name": PwrMeasures.name})
    if policy in MIXES:
        pwr, fgd = MIXES[policy]
        scorers = [{"name": "PWRScore", "weight": pwr}, {"name": "FGDScore", "weight": fgd}]
        profile["plugins"]["score"] = {"enabled": [each for each in scorers if each["weight"]]}
        # The paper's combinations choose GPUs as FGD does.
        profile["pluginConfig"] = [
            {"name": "Open-Gpu-Share", "args": {"gpuSelMethod": scorers[bool(fgd)]["name"]}}
        ]
    elif policy == DEFAULT:
        names = ("Open-Gpu-Share", PwrMeasures.name)
        profile["plugins"] = {"multiPoint": {"enabled": [{"name": name} for name in names]}}
        del profile["pluginConfig"]
    return document


def write_sweep(options: argparse.Namespace) -> None:
    folder = options.checkout / "data" / "csv"
    pods, nodes = (
        read_pods(folder / f"openb_pod_list_{options.trace}.csv"),
        read_nodes(folder / NODES),
    )
    options.folder.mkdir(parents=True, exist_ok=True)
    states = []
    for seed in range(FIRST_SEED, FIRST_SEED + options.seeds):
        workload = draw_workload(pods, nodes, TUNE, seed)
        states.append(f"{options.trace}-{seed}.json")
        (options.folder / states[-1]).write_text(json.dumps(manifests(workload, options.trace)))
    for policy in options.policies:
        text = json.dumps(configuration_of(policy), indent=2)
        (options.folder / f"{policy}.json").write_text(text)
    sweep = {
        "apiVersion": "ksched/v1",
        "kind": "Sweep",
        "states": states,
        "configurations": [{"name": name, "file": f"{name}.json"} for name in options.policies],
        "noRetries": True,
        "metrics": {f"{PwrMeasures.name}.watts.50": "minimize"},
    }
    (options.folder / "sweep.yaml").write_text(json.dumps(sweep, indent=2))


def figures_of(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Policy → state → the paper's measures."""
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for line in (folder / "rows.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["status"] == "ok":
            figures.setdefault(row["configuration"], {})[row["state"]] = row["metrics"]
    return figures


def print_table(folder: Path) -> None:
    figures = figures_of(folder)
    loads = " | ".join(f"{load} %" for load in LOADS)
    print(f"| policy | seeds | {loads} | GPUs got at 100 % |")
    print(f"| --- | --: |{' --: |' * (len(LOADS) + 1)}")
    for policy in (name for name in NAMES if name in figures):
        runs, base = figures[policy], figures.get(BASELINE, {})
        pairs = [(base[state], runs[state]) for state in sorted(runs) if state in base]
        cells = []
        for load in LOADS:
            name = f"{PwrMeasures.name}.watts.{load}"
            savings = [100 * (1 - own[name] / fgds[name]) for fgds, own in pairs]
            cells.append(interval_text(savings, 1))
        name = f"{PwrMeasures.name}.allocation.100"
        cells.append(interval_text([runs[state][name] for state in sorted(runs)], 3))
        print(f"| {policy} | {len(pairs)} | {' | '.join(cells)} |")
        if policy in FIGURES:
            read, share = FIGURES[policy]
            cells = [f"{saving:.1f}" for saving in read]
            cells.append("" if share is None else f"{share:.3f}")
            print(f"| … the authors | 10 | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trace", default="default")
    parser.add_argument("--policies", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    write_sweep(options)
    command = ["sweep", "sweep.yaml", "--rows", "rows.jsonl"]
    command += ["--workers", str(options.workers)] if options.workers else []
    ksched = [sys.executable, "-m", "ksched_cli"]
    done = subprocess.run([*ksched, *command], cwd=options.folder, check=False)
    print_table(options.folder)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
