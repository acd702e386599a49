"""`ksched-fgd`: the workloads of the paper's experiments."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

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
Seed = Annotated[int, typer.Option(metavar="N", help="Of the order of pods and nodes.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Standard output unless told."),
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


def main() -> None:
    """Exit code 2 where a file cannot be read or written."""
    try:
        app()
    except (TraceError, OSError) as error:
        print(f"ksched-fgd: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
