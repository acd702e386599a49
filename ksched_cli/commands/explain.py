"""`ksched explain POD`: why this pod goes where it goes, or nowhere; `--pending`: all that stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ksched_cli.commands import runs
from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.command_line import option, whole_number
from ksched_cli.commands.completion import complete_node
from ksched_cli.commands.options import (
    Alone,
    Manifest,
    PodName,
    ShownOptions,
)
from ksched_cli.errors import UsageError
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.analysis.named_objects import GroupName
    from ksched_cli.engine.simulation import Simulation


@dataclass(frozen=True, slots=True)
class ExplainOptions(ShownOptions):
    """The options of `explain`.

    pending: All pods that stay pending, in groups.
    node NODE: Show this node beside the chosen one; repeatable.
    top N: Show the N best nodes.
    """

    pending: bool = False
    node: Annotated[list[str] | None, option(autocompletion=complete_node)] = None
    top: Annotated[int | None, option(parser=whole_number("--top", 1))] = None
    manifest: Manifest = None
    alone: Alone = False


def explain(
    options: ExplainOptions,
    pod: PodName = "",
) -> ExitCode:
    """Why this pod goes where `schedule` puts it, or why nowhere.

    ksched places the other pending pods too, each in its turn. The result shows every node with the
    plugins that reject it, or with its scores. For a running pod, it shows how its current node
    ranks. -f asks about a manifest as if it were applied now. Exit code 0 when the pod gets a node,
    1 when it does not or the scheduler never looks at it, 3 when a plugin's failure leaves it
    undecided.

    For podgroup/NAME or compositepodgroup/NAME, it shows the member, the topology domain or the
    part that blocks the group. Exit code 0 when all of its pods get a node.

    With --autoscaler, it shows which node group would grow for a pod without a node, or why none
    would.

    With --pending, it shows all pods that stay pending, by owner and message. Exit code 0 when
    there are none, 1 when there are some, 3 when a plugin's failure leaves some undecided.

    Examples:
        ksched explain web-2
        ksched explain shop/web-2 --node node-3 --top 5
        ksched explain deployment/web --live
        ksched explain --pending -n shop
        ksched explain -f pod.yaml -o html --open
    """
    if [bool(pod), options.manifest is not None, options.pending].count(True) != 1:
        raise UsageError("explain takes one of POD, -f FILE, and --pending for all pending pods")
    if not options.pending:
        if options.selector or options.owner:
            raise UsageError("-l and --owner choose among the pods of --pending")
        return _explain_pod(options, pod)
    if options.node or options.top or options.alone:
        raise UsageError("--pending cannot be combined with --node, --top or --alone")
    return _explain_pending(options)


def _explain_pod(options: ExplainOptions, name: str) -> ExitCode:
    from ksched_cli.analysis.explain import explain_subject
    from ksched_cli.analysis.named_objects import find_group
    from ksched_cli.run.run import NEEDS_NO_TIMELINE

    nodes, top = options.node or (), options.top or 0
    if options.given["autoscaler"] and options.alone:
        raise UsageError(
            "--autoscaler looks at all pending pods and cannot be combined with --alone"
        )
    subject = runs.open_subject(options, name, options.manifest, NEEDS_NO_TIMELINE)
    group = find_group(subject.simulation, subject.name, subject.namespace)
    if group is not None:
        return _explain_group(options, subject.simulation, group)
    is_table = options.output in (Form.TABLE, Form.WIDE, Form.NAME, Form.MARKDOWN)
    explanation = explain_subject(
        subject,
        runs.find_pod(subject),
        nodes=nodes,
        top=top,
        alone=options.alone,
        all_details=bool(nodes or top) or not is_table,
    )
    code = ExitCode.of(bool(explanation.node), explanation.undecided)
    return runs.conclude(subject.simulation, options, explanation, None, code)


def _explain_group(options: ExplainOptions, simulation: Simulation, group: GroupName) -> ExitCode:
    from ksched_cli.analysis.explain import explain_group

    if options.node or options.top or options.alone or options.given["autoscaler"]:
        raise UsageError(
            "a PodGroup cannot be combined with --node, --top, --alone or --autoscaler; ask about"
            " one of its pods"
        )
    explanation = explain_group(simulation, group)
    code = ExitCode.of(not explanation.pending, explanation.undecided)
    return runs.conclude(simulation, options, explanation, None, code)


def _explain_pending(options: ShownOptions) -> ExitCode:
    from ksched_cli.analysis.diagnosis import pending_report

    simulation = runs.open_simulation(options)
    report = pending_report(simulation, runs.chosen_pods(simulation, options))
    code = ExitCode.of(not report.groups, any(group.undecided for group in report.groups))
    return runs.conclude(simulation, options, report, None, code)
