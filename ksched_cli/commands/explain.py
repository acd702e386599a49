"""`ksched explain POD`: why this pod goes where it goes, or nowhere; `--pending`: all that stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ksched_cli.commands.command_line import option, whole_number
from ksched_cli.commands.completion import complete_node
from ksched_cli.commands.options import (
    Alone,
    Manifest,
    PodName,
    ShownOptions,
)
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, pod_or_manifest, run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.report.forms import Form


@dataclass(frozen=True, slots=True)
class ExplainOptions(ShownOptions):
    """The options of `explain`.

    pending: All pods that stay pending, in groups; the default without POD.
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
    """Why this pod goes there or nowhere; without POD, all that wait.

    ksched places the other pending pods too, each in its turn. The result shows every node with the
    plugins that reject it, or with its scores. For a running pod, it shows how its current node
    ranks. -f asks about a manifest as if it were applied now. Exit code 0 when the pod gets a node,
    1 when it does not or the scheduler never looks at it, 3 when a plugin's failure leaves it
    undecided.

    For podgroup/NAME or compositepodgroup/NAME, it shows the member, the topology domain or the
    part that blocks the group. Exit code 0 when all of its pods get a node.

    With --autoscaler, it shows which node group would grow for a pod without a node, or why none
    would.

    Without POD, or with --pending, it shows all pods that stay pending, a line for each group of
    one owner and cause; --all opens the groups, --owner and -l choose among them. Exit code 0 when
    there are none, 1 when there are some, 3 when a plugin's failure leaves some undecided.

    Examples:
        ksched explain web-2
        ksched explain shop/web-2 --node node-3 --top 5
        ksched explain deployment/web --live
        ksched explain -n shop
        ksched explain -f pod.yaml -o html --open
    """
    from ksched_cli.analysis.diagnosis import ExplainPending
    from ksched_cli.analysis.explain import Explain

    if [bool(pod), options.manifest is not None, options.pending].count(True) > 1:
        raise UsageError("explain takes one of POD, -f FILE, and --pending for all pending pods")
    has_pod = bool(pod) or options.manifest is not None
    if has_pod and (options.selector or options.owner):
        raise UsageError("-l and --owner choose among the pending pods, and cannot have a POD")
    if not has_pod and (options.node or options.top or options.alone):
        raise UsageError("--node, --top and --alone require a POD or -f FILE")
    run = run_of(options)
    if not has_pod:
        return show(answered(ExplainPending(shows=options.shows), run), options)
    nodes, top = tuple(options.node or ()), options.top or 0
    is_table = options.output in (Form.TABLE, Form.WIDE, Form.NAME, Form.MARKDOWN)
    question = Explain(
        pod=pod_or_manifest(pod, options.manifest, run),
        nodes=nodes,
        top=top,
        alone=options.alone,
        all_details=bool(nodes or top) or not is_table,
    )
    return show(answered(question, run), options)
