"""`ksched shrink`: which nodes could go, and which pods hold the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ksched_cli.commands.command_line import option, share, time_limit, whole_number
from ksched_cli.commands.completion import complete_node
from ksched_cli.commands.options import StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.report.forms import Form


@dataclass(frozen=True, slots=True)
class ShrinkOptions(StateOptions):
    """The options of `shrink`.

    selector SELECTOR: Consider only the nodes with these labels.
    keep SELECTOR: Keep the nodes with these labels.
    maximum N: Stop after N nodes.
    keep_free SHARE: Keep so much of each resource free, such as 20%.
    replace_with NODE: Also add copies of this node where that costs less; requires --price.
    force: Also move pods without a controller, as if somebody recreated them.
    delete_emptydir: Also move pods with emptyDir and hostPath volumes.
    repack: Also count nodes if every pod were placed afresh.
    like NODE: With --repack: onto copies of it, or of KEY=VALUE.
    upgrade: Plan waves that drain and replace the nodes of -l.
    surge N: With --upgrade: number of new nodes per wave.
    time_limit DURATION: End with the best answer after so long, such as 30s.
    """

    selector: Annotated[str, option(short="-l")] = ""
    keep: str = ""
    maximum: Annotated[int | None, option(name="--max", parser=whole_number("--max", 1))] = None
    keep_free: Annotated[float, option(parser=share("--keep-free"))] = 0
    replace_with: str = ""
    force: bool = False
    delete_emptydir: Annotated[bool, option(name="--delete-emptydir-data")] = False
    repack: bool = False
    like: Annotated[list[str] | None, option(autocompletion=complete_node)] = None
    upgrade: bool = False
    surge: Annotated[int, option(parser=whole_number("--surge", 1))] = 1
    time_limit: Annotated[float, option(metavar="DURATION", parser=time_limit)] = 0


def shrink(options: ShrinkOptions) -> ExitCode:
    """Which nodes could go, and which pods hold the others.

    After the pending pods are placed, nodes are cordoned and drained one after the other; each
    drain is a run that places every evicted pod on a node that stays. Budgets are kept, nothing is
    preempted, and annotations of cluster-autoscaler and Karpenter count. Ctrl-C ends the search
    with the best answer so far.
    With --upgrade, nodes that are drained are replaced by copies, in waves of --surge.
    -o wide shows where every pod goes, -o name the nodes that could go.
    Exit code 0 when a node could go, or with --upgrade when all can be replaced, 1 when not, 3 when
    a plugin's failure leaves it undecided.

    Examples:
        ksched shrink
        ksched shrink --price node-*=0.3
        ksched shrink --upgrade -l pool=blue --surge 2
    """
    from ksched_cli.analysis.shrink import Shrink, Upgrade

    if options.upgrade and not options.selector:
        raise UsageError("--upgrade requires -l SELECTOR, the labels of the nodes to replace")
    if options.upgrade and options.maximum is not None:
        raise UsageError("--upgrade replaces all nodes of -l and cannot be combined with --max")
    if options.replace_with and (options.upgrade or not options.given["price"]):
        reason = "replaces nodes itself" if options.upgrade else "requires --price"
        raise UsageError(f"--replace-with {reason}")
    if options.upgrade and options.keep_free:
        raise UsageError("--upgrade replaces nodes and cannot be combined with --keep-free")
    if options.upgrade and options.time_limit:
        raise UsageError("--upgrade cannot be combined with --time-limit")
    if options.upgrade and (options.repack or options.given["price"]):
        raise UsageError("--upgrade cannot be combined with --repack or --price")
    if options.like and not options.repack:
        raise UsageError("--like requires --repack")
    if options.surge != 1 and not options.upgrade:
        raise UsageError("--surge requires --upgrade")
    run = run_of(options)
    if options.upgrade:
        upgrade = Upgrade(
            selector=options.selector,
            keep=options.keep,
            surge=options.surge,
            force=options.force,
            delete_emptydir_data=options.delete_emptydir,
        )
        return show(answered(upgrade, run), options)
    question = Shrink(
        selector=options.selector,
        keep=options.keep,
        maximum=options.maximum,
        keep_free=options.keep_free,
        replace_with=options.replace_with,
        force=options.force,
        delete_emptydir_data=options.delete_emptydir,
        repack=options.repack,
        like=tuple(options.like or ()),
        is_mapped=options.output is Form.HTML,
        time_limit=options.time_limit,
    )
    return show(answered(question, run), options)
