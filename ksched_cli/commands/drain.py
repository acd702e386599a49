"""`ksched drain NODE...`: whether nodes can be drained, and what keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli.commands.command_line import option
from ksched_cli.commands.completion import complete_node
from ksched_cli.commands.options import StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.errors import ExitCode, UsageError


@dataclass(frozen=True, slots=True)
class DrainOptions(StateOptions):
    """The options of `drain`.

    selector SELECTOR: Drain all nodes with these labels.
    each LABEL: Each zone, pool, node or value of a label, for itself.
    failed: The nodes are lost at once; no budget is asked.
    force: Also evict pods without a controller, which are gone for good.
    ignore_daemonsets: As kubectl's; pods of DaemonSets stay in any case.
    delete_emptydir: As kubectl's; pods with emptyDir volumes leave in any case.
    """

    selector: Annotated[str, option(short="-l")] = ""
    each: str = ""
    failed: bool = False
    force: bool = False
    ignore_daemonsets: bool = False
    delete_emptydir: Annotated[bool, option(name="--delete-emptydir-data")] = False


def drain(
    options: DrainOptions,
    nodes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NODE...", help="names of nodes to drain", autocompletion=complete_node
        ),
    ] = None,
) -> ExitCode:
    """Yes or no: can these nodes be drained or fail; what blocks that.

    Evicts the pods that `kubectl drain` evicts, as the disruption budgets allow, and places each on
    a node that stays, as `schedule` would. Several nodes are all cordoned first, and drained one
    after the other in an order in which that works. Pods that are evicted for those that move have
    to find a node, too. --each zone tries each zone while the others are there, and says how many
    nodes more would do. The answer has kubectl's command, or what lifts each blocker; a change that
    it names has been tried in a run. -o wide shows where every pod goes, -o name the nodes in
    order. Exit code 0 when all can go, 1 when not, 3 when a plugin's failure leaves it undecided.

    Examples:
        ksched drain node-3
        ksched drain -l pool=blue --live
        ksched drain --each zone --failed
    """
    from ksched_cli.analysis.drain import DrainNodes
    from ksched_cli.analysis.drain_each import DrainEach

    selector, force, failed = options.selector, options.force, options.failed
    if options.each:
        if nodes:
            raise UsageError("--each cannot be combined with names of nodes; -l SELECTOR can")
        each = DrainEach(each=options.each, selector=selector, force=force, failed=failed)
        return show(answered(each, run_of(options)), options)
    question = DrainNodes(nodes=tuple(nodes or ()), selector=selector, force=force, failed=failed)
    return show(answered(question, run_of(options)), options)
