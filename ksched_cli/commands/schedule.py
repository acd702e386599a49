"""`ksched schedule`: place the pending pods of a cluster state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli.commands.completion import complete_pod
from ksched_cli.commands.options import ShownOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.report.forms import Form


@dataclass(frozen=True, slots=True)
class ScheduleOptions(ShownOptions):
    """The options of `schedule`.

    trace: With -o json or yaml: add all attempts; --trace POD: those of this pod.
    nodes: List every node with requested of allocatable, and its pods.
    by LABEL: Show utilization by this label of nodes.
    metric FILE.py:FUNCTION: Show this function of the snapshot and the record; repeatable.
    """

    trace: bool = False
    nodes: bool = False
    by: str = ""
    metric: list[str] | None = None


def schedule(
    options: ScheduleOptions,
    traced: Annotated[
        list[str] | None,
        # An option takes a value or none, not either; so the pods after --trace are arguments.
        typer.Argument(metavar="--trace POD", hidden=True, autocompletion=complete_pod),
    ] = None,
) -> ExitCode:
    """Place the pending pods of a cluster state.

    Places one pod after another, as kube-scheduler does. -o wide shows every pod with its node and
    score, -o name the pods that stay pending. Exit code 0 when every pod that is not gated finds a
    node, 1 when some stay pending, 2 when the state or configuration is broken, 3 when a plugin's
    failure leaves a pod undecided.

    Examples:
        ksched schedule --state cluster.json
        ksched snapshot - | ksched schedule --state -
        ksched schedule --change 'drain node-3' -o wide
        ksched schedule --plugin packing.py:Packing -o json
    """
    from ksched_cli.analysis.schedule import Schedule

    as_data = options.output in (Form.JSON, Form.YAML)
    if options.trace and not as_data:
        raise UsageError("--trace has no effect without -o json or -o yaml")
    if options.by and options.output is Form.NAME:
        raise UsageError("--by has no effect with -o name")
    if options.nodes and (as_data or options.output in (Form.NAME, Form.HTML)):
        raise UsageError(f"--nodes has no effect with -o {options.output.value}")
    question = Schedule(
        trace=options.trace,
        traced=tuple(traced or ()),
        by=options.by,
        shows=options.shows,
        is_shown=options.output not in (Form.JSON, Form.YAML, Form.NAME),
        is_mapped=options.output is Form.HTML,
        lists_nodes=options.nodes,
        metrics=tuple(options.metric or ()),
    )
    return show(answered(question, run_of(options)), options)
