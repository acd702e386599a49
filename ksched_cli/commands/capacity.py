"""`ksched capacity`: how many more copies of a pod fit; how many more nodes all pods need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli.commands.command_line import option, time_limit, whole_number
from ksched_cli.commands.completion import complete_node, complete_pod
from ksched_cli.commands.forms import COMMON_FORMS
from ksched_cli.commands.options import POD_HELP, Alone, StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.report.forms import Form

MAXIMUM, MOST_COPIES = 10_000, 1_000_000_000
MAX_LIKE = 3


@dataclass(frozen=True, slots=True)
class CapacityOptions(StateOptions):
    """The options of `capacity`.

    file FILE: A pod or a workload that need not be in the state; - is standard input.
    maximum N: Stop at so many copies.
    pending: How many copies of the nodes of --like all pending pods need.
    like NODE: A node to copy, or KEY=VALUE for a pool; up to three of them are mixed.
    time_limit DURATION: With --pending: end with the best answer after so long, such as 30s.
    """

    file: Annotated[str | None, option(name="--filename", short="-f")] = None
    maximum: Annotated[int, option(name="--max", parser=whole_number("--max", 1, MOST_COPIES))] = (
        MAXIMUM
    )
    pending: bool = False
    like: Annotated[list[str] | None, option(autocompletion=complete_node)] = None
    alone: Alone = False
    time_limit: Annotated[float, option(metavar="DURATION", parser=time_limit)] = 0


def capacity(
    options: CapacityOptions,
    pod: Annotated[
        str | None,
        typer.Argument(
            metavar="POD",
            help=POD_HELP,
            autocompletion=complete_pod,
        ),
    ] = None,
) -> ExitCode:
    """How many more of a pod or a workload fit, and what stops the next.

    Places copies as `schedule` would, when the pod's turn comes. Copies of a running pod, of a
    workload or of a file come after the pending pods. No pod is evicted for them. --pending --like
    NODE finds the fewest copies of that node with which no pod stays pending and none is evicted;
    several --like are combined, and --price finds the cheapest mix. Nodes that differ in their zone
    only are one pool over its zones. Ctrl-C ends that search with the best answer so far. -o wide
    shows every node, -o name those that take a copy. Exit code 0 when a copy fits or some number of
    nodes is enough, 1 when not, 3 when a plugin's failure leaves it undecided.

    Examples:
        ksched capacity deployment/web
        ksched capacity -f pod.yaml --max 500
        ksched capacity --pending --like node-1 --like node-7
    """
    from ksched_cli.analysis.capacity import Capacity
    from ksched_cli.analysis.more_nodes import MoreNodes

    if [pod is not None, options.file is not None, options.pending].count(True) != 1:
        raise UsageError("capacity takes one of POD, -f FILE, and --pending --like NODE")
    if options.pending != bool(options.like):
        raise UsageError("--pending and --like NODE require each other")
    if options.given["price"] and not (options.like or options.given["timeline"]):
        raise UsageError("--price requires --pending --like NODE")
    run = run_of(options)
    if options.like:
        if len(set(options.like)) > MAX_LIKE:
            raise UsageError(f"--like takes at most {MAX_LIKE} nodes")
        if (
            options.alone
            or options.maximum != MAXIMUM
            or options.output not in (*COMMON_FORMS, Form.MARKDOWN)
        ):
            raise UsageError("--pending cannot be combined with --alone, --max, -o wide or -o name")
        likes = tuple(dict.fromkeys(options.like))
        more = answered(MoreNodes(like=likes, time_limit=options.time_limit), run)
        return show(more, options)
    if options.time_limit:
        raise UsageError("--time-limit requires --pending --like NODE")
    question = Capacity(
        pod=pod or "", file=options.file or "", maximum=options.maximum, alone=options.alone
    )
    return show(answered(question, run), options)
