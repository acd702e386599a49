"""`ksched status`: a cluster at a glance."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.commands.options import StateOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.errors import ExitCode


@dataclass(frozen=True, slots=True)
class StatusOptions(StateOptions):
    """The options of `status`.

    by LABEL: Show pools by this label of nodes; default the provider's.
    """

    by: str = ""


def status(options: StatusOptions) -> ExitCode:
    """The cluster at a glance: how full, why pods wait, blocked drains.

    Shows the nodes that take no pods, how full the others are by resource and pool, the pods that
    stay pending with the cause and what helps, gated pods, the disruption budgets that block every
    drain, and kinds that the state lacks. The pods are placed as `schedule` would; how full the
    nodes are is as it is now. Exit code 0, also when pods stay pending; 3 when a plugin failed.

    Examples:
        ksched status --live
        ksched status --state cluster.json --by topology.kubernetes.io/zone
    """
    from ksched_cli.analysis.status import ShowStatus

    return show(answered(ShowStatus(by=options.by), run_of(options)), options)
