"""`ksched capacity`: how many more copies of a pod fit; how many more nodes all pods need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli.analysis.search import MAX_COPIES
from ksched_cli.commands.command_line import option, time_limit, whole_number
from ksched_cli.commands.completion import complete_node, complete_pod
from ksched_cli.commands.forms import COMMON_FORMS
from ksched_cli.commands.options import POD_HELP, Alone, StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, pod_or_manifest, run_of
from ksched_cli.errors import ExitCode, UsageError

MOST_COPIES = 1_000_000_000
MAX_LIKE = 3


@dataclass(frozen=True, slots=True)
class CapacityOptions(StateOptions):
    """The options of `capacity`.

    manifest FILE: Whether the pods of this file fit: workloads, a whole release; - is stdin.
    maximum N: Stop at so many copies.
    by LABEL: Without a POD: show pools by this label of nodes; default the provider's.
    pending: How many copies of the nodes of --like all pending pods need.
    like NODE: A node to copy, or KEY=VALUE for a pool; up to three of them are mixed.
    time_limit DURATION: With --pending: end with the best answer after so long, such as 30s.
    """

    manifest: Annotated[str | None, option(name="--filename", short="-f")] = None
    maximum: Annotated[int, option(name="--max", parser=whole_number("--max", 1, MOST_COPIES))] = (
        MAX_COPIES
    )
    by: str = ""
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
    """Whether it fits, how many more, what stops the next; how full.

    -f FILE applies manifests as if now, and says how many of their pods get a node, without
    evictions and after which ones, and how many more would. POD places copies as `schedule` would,
    when the pod's turn comes; copies of a running pod or of a workload come after the pending pods.
    No pod is evicted for copies. --pending --like NODE finds the fewest copies of that node with
    which no pod stays pending and none is evicted; several --like are mixed, the cheapest by
    --price. Nodes that differ in their zone only are one pool. Ctrl-C ends that search with its
    best answer. Exit code 0 when all of FILE fits without evictions, a copy fits or some number of
    nodes is enough, else 1; 3 when a plugin's failure leaves it open.

    Examples:
        ksched capacity -f web.yaml
        helm template web ./chart | ksched capacity -f - --live
        ksched capacity deployment/web
        ksched capacity --by topology.kubernetes.io/zone
        ksched capacity --pending --like node-1 --like node-7
    """
    from ksched_cli.analysis.capacity import Capacity
    from ksched_cli.analysis.fits import Fits
    from ksched_cli.analysis.more_nodes import MoreNodes
    from ksched_cli.analysis.status import ShowFullness

    _check(options, pod)
    run = run_of(options)
    if options.like:
        likes = tuple(dict.fromkeys(options.like))
        more = answered(MoreNodes(like=likes, time_limit=options.time_limit), run)
        return show(more, options)
    if options.manifest is not None:
        manifests = pod_or_manifest("", options.manifest, run)
        question = Fits(manifests=manifests, maximum=options.maximum, alone=options.alone)
        return show(answered(question, run), options)
    if pod is None:
        return show(answered(ShowFullness(by=options.by), run), options)
    copies = Capacity(pod=pod, maximum=options.maximum, alone=options.alone)
    return show(answered(copies, run), options)


def _check(options: CapacityOptions, pod: str | None) -> None:
    """Check options that exclude or require each other. Raises UsageError."""
    is_of_pods = pod is not None or options.manifest is not None
    if [pod is not None, options.manifest is not None, options.pending].count(True) > 1:
        raise UsageError("capacity takes one of POD, -f FILE, and --pending --like NODE")
    if options.pending != bool(options.like):
        raise UsageError("--pending and --like NODE require each other")
    if options.given["price"] and is_of_pods and not options.given["timeline"]:
        raise UsageError("--price cannot be combined with POD or -f without a timeline")
    if options.by and (is_of_pods or options.like):
        raise UsageError("--by cannot be combined with POD, -f or --pending")
    counts = options.alone or options.maximum != MAX_COPIES
    if options.like and len(set(options.like)) > MAX_LIKE:
        raise UsageError(f"--like takes at most {MAX_LIKE} nodes")
    if options.like and (counts or options.output not in COMMON_FORMS):
        raise UsageError("--pending cannot be combined with --alone, --max, -o wide or -o name")
    if counts and not is_of_pods:
        raise UsageError("--alone and --max require a POD or -f FILE")
    if options.time_limit and not options.like:
        raise UsageError("--time-limit requires --pending --like NODE")
