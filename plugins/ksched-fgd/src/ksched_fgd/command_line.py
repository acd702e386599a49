"""`ksched-fgd`: the paper's experiments, from its traces to its tables."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Annotated

import typer

from ksched_fgd.experiment import POLICIES, ExperimentError, configuration, schedule
from ksched_fgd.figures import draw_figures
from ksched_fgd.grid import read_rows, write_grid
from ksched_fgd.measure import Measures, arrivals, measures
from ksched_fgd.results import (
    MEASURES,
    Agreement,
    Run,
    add_results,
    compare_tables,
    read_results,
)
from ksched_fgd.traces import TraceError, read_nodes, read_pods
from ksched_fgd.workload import draw_workload, manifests

app = typer.Typer(
    name="ksched-fgd", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)

Pods = Annotated[Path, typer.Argument(metavar="PODS", help="the trace's pods, CSV")]
Nodes = Annotated[Path, typer.Argument(metavar="NODES", help="the trace's nodes, CSV")]
Tune = Annotated[
    float,
    typer.Option(
        metavar="RATIO",
        min=0,
        help="The GPUs that the pods ask for together, of those that the nodes have: pods of the "
        "trace are added or left out. 0 takes the trace as it is.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the order of pods and nodes.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Default standard output."),
]
PolicyName = Annotated[
    str, typer.Option("--policy", metavar="|".join(POLICIES), help="Whose scores decide.")
]


@app.callback()
def commands() -> None:
    """Fragmentation gradient descent: the paper's experiments with ksched."""


@app.command()
def trace(
    pods: Pods, nodes: Nodes, tune: Tune = 1.3, seed: Seed = 42, output: Output = None
) -> None:
    """Make a trace into a cluster state, as the paper's simulator draws it.

    The pods are pending and in the order they arrive; nodes are named after the order that breaks
    ties; the trace's typical pods are in it too.
    """
    workload = draw_workload(read_pods(pods), read_nodes(nodes), tune, seed)
    text = json.dumps(manifests(workload, pods.stem), separators=(",", ":")) + "\n"
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text)


@app.command()
def config(policy: PolicyName = "FGD", seed: Seed = 42) -> None:
    """Print the KubeSchedulerConfiguration of a policy."""
    print(json.dumps(configuration(POLICIES[_policy(policy)], seed), indent=2))


@app.command()
def run(
    pods: Pods,
    nodes: Nodes,
    results: Annotated[
        Path, typer.Option("--results", metavar="DIR", help="Where the measures go.")
    ],
    policy: PolicyName = "FGD",
    tune: Tune = 1.3,
    seed: Seed = 42,
) -> None:
    """Run one experiment of the paper, and add its measures to the files of a folder."""
    name = _policy(policy)
    workload = draw_workload(read_pods(pods), read_nodes(nodes), tune, seed)
    result = schedule(workload, POLICIES[name], seed)
    measured = measures(workload.nodes, workload.typical, arrivals(workload, result))
    add_results(results, {Run(pods.stem, POLICIES[name].label, tune, seed): measured})
    print(f"{pods.stem} {name} {seed}: {_outcome(measured, result['summary']['placed'])}")


def _outcome(measured: Measures, placed: int) -> str:
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(time.ru_utime + time.ru_stime for time in times)
    return (
        f"{placed:,} pods placed, {measured.allocated[-1]:.2f} % of GPUs allocated,"
        f" {measured.fragments[-1]:.2f} % of GPUs in fragments; {seconds:.1f} s of CPU"
    )


@app.command()
def grid(
    pods: Annotated[list[Path], typer.Argument(metavar="PODS...", help="traces' pods, CSV")],
    nodes: Annotated[Path, typer.Option(metavar="FILE", help="The nodes of all of them, CSV.")],
    folder: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="A new folder.")],
    policies: Annotated[
        str, typer.Option("--policies", metavar="NAME,...", help="Whose scores decide.")
    ] = ",".join(POLICIES),
    tune: Tune = 1.3,
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="N-M", help="Seeds of the orders of pods and nodes.")
    ] = "42-51",
) -> None:
    """Write a sweep of many experiments: every trace, policy and seed.

    `ksched sweep DIR/sweep.yaml --rows ROWS` makes the runs, `ksched-fgd collect ROWS` reads them.
    """
    names = [_policy(name) for name in policies.split(",")]
    first, _, last = seeds.partition("-")
    try:
        numbers = range(int(first), int(last or first) + 1)
    except ValueError:
        raise typer.BadParameter(f"{seeds} is no range as 42-51", param_hint="--seeds") from None
    path = write_grid(folder, pods, nodes, names, tune, numbers)
    count = len(pods) * len(names) * len(numbers)
    print(f"{count:,} runs: ksched sweep {path} --rows rows.jsonl")


@app.command()
def collect(
    rows: Annotated[Path, typer.Argument(metavar="ROWS", help="what ksched sweep wrote")],
    results: Annotated[
        Path, typer.Option("--results", metavar="DIR", help="Where the measures go.")
    ],
) -> None:
    """Add the measures of a sweep's rows to the files of a folder, as `run` does."""
    measured, failed = read_rows(rows)
    if measured:
        add_results(results, measured)
    print(f"{len(measured):,} runs added to {results}")
    if failed:
        print(f"ksched-fgd: {failed:,} rows of runs that failed are left out", file=sys.stderr)
        raise typer.Exit(1)


@app.command()
def compare(
    ours: Annotated[Path, typer.Argument(metavar="OURS", help="a folder that run wrote")],
    papers: Annotated[
        Path,
        typer.Argument(metavar="PAPERS", help="the paper's experiments/analysis/expected_results"),
    ],
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="Draw our results too; needs matplotlib."),
    ] = None,
) -> None:
    """How many values equal the paper's, and the greatest difference.

    Exit code 1 where a value differs or there is nothing to compare.
    """
    tables = {measure: read_results(ours, measure) for measure in MEASURES}
    compared = {
        measure: compare_tables(table, read_results(papers, measure))
        for measure, table in tables.items()
    }
    total = Agreement(0, 0, 0, 0.0)
    for key in sorted(compared[MEASURES[0]]):
        for measure in MEASURES:
            agreed = compared[measure][key]
            total += agreed
            print(f"{' '.join(key):<45} {measure.title:<24} {_agreed(agreed)}")
    print(f"all: {_agreed(total)}")
    if figures is not None:
        for workload in sorted({run.workload for run in tables[MEASURES[0]]}):
            for path in draw_figures(figures, workload, tables.items()):
                print(f"drew {path}")
    if total.equal < total.values or not total.values:
        raise typer.Exit(1)


def _agreed(agreed: Agreement) -> str:
    difference = f", greatest difference {agreed.difference:.2f}" if agreed.difference else ""
    return f"{agreed.equal:,} of {agreed.values:,} equal{difference}"


def _policy(name: str) -> str:
    if name not in POLICIES:
        raise typer.BadParameter(f"{name} is none of {', '.join(POLICIES)}", param_hint="--policy")
    return name


def main() -> None:
    """Exit code 2 where a file cannot be read or written, or ksched cannot answer."""
    try:
        app()
    except (TraceError, ExperimentError, OSError) as error:
        print(f"ksched-fgd: {error}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        print(f"ksched-fgd: {error}: pip install 'ksched-fgd[figures]'", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
