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
Plugin = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE:NAME|FILE.py",
        help="A plugin that is not installed; repeatable. Without a configuration it joins the "
        "default profile at every point it extends.",
    ),
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Print the tracebacks of plugins that failed.")
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
NoExtenders = Annotated[
    bool, typer.Option("--no-extenders", help="Decide without calling the extenders.")
]
ExtenderBind = Annotated[
    bool,
    typer.Option(
        "--extender-bind",
        help="Really send the bind calls of extenders: on a live cluster they bind pods. "
        "Without it they are only shown.",
    ),
]
RecordExtenders = Annotated[
    str,
    typer.Option(
        "--record-extenders",
        metavar="FILE",
        help="Keep every request to extenders and its answer in FILE (.gz: packed).",
        show_default=False,
    ),
]
ReplayExtenders = Annotated[
    str,
    typer.Option(
        "--replay-extenders",
        metavar="FILE",
        help="Take the extenders' answers from FILE, and call nobody.",
        show_default=False,
    ),
]
