"""The options and arguments that mean the same in every command."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.report.forms import Form

State = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        metavar="PATH",
        help="Cluster state: a file, a folder of files, or - for standard input; repeatable. "
        "Without it: $KSCHED_STATE, else cluster.yaml, cluster.yml or cluster.json here.",
    ),
]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="PATH",
        envvar="KSCHED_CONFIG",
        help="KubeSchedulerConfiguration. Without it, the default configuration.",
    ),
]
Output = Annotated[
    Form, typer.Option("-o", "--output", help="The form of the result.", show_default=True)
]
Trace = Annotated[
    bool, typer.Option("--trace", help="With -o json or yaml: also every attempt in detail.")
]
TieBreak = Annotated[
    str,
    typer.Option(
        "--tie-break",
        metavar="name|random",
        help="Among equally good nodes: the first by name, or a draw.",
    ),
]
PodName = Annotated[str, typer.Argument(metavar="POD", help="name or namespace/name")]
All = Annotated[
    bool, typer.Option("--all", help="On a terminal: whole lists, not only their beginning.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Makes the draws repeatable.")]
