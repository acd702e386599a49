"""`ksched explain POD`: why this pod goes where it goes, or why nowhere."""

from __future__ import annotations

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import Alone, InTurn, PodName, StateOptions


def explain(
    pod: PodName, options: StateOptions, alone: Alone = False, in_turn: InTurn = False
) -> ExitCode:
    """Why this pod goes where `schedule` puts it, or why nowhere.

    The other pending pods are placed too, each in its turn. Every node is shown: what rejected it,
    by every plugin, or its scores. Of a pod that runs already, how its node ranks. Exit code 0 when
    the pod gets a node, 1 when it does not or the scheduler never looks at it, 3 when a plugin's
    failure leaves it undecided.
    """
    from ksched_cli.analysis import explain as analysis
    from ksched_cli.commands import session
    from ksched_cli.commands.output import limit, show
    from ksched_cli.report import explanation as renderer
    from ksched_cli.report.changes import with_changes
    from ksched_cli.report.forms import Report

    simulation = session.open_simulation(options)
    info = session.find_pod(simulation, pod)
    explanation = analysis.explain(simulation, info, alone=session.is_alone(alone, in_turn))
    session.report_defects(simulation, options.debug)
    show(
        with_changes(
            Report(
                document=lambda: renderer.document(explanation),
                table=lambda: renderer.table(explanation, limit(options.everything)),
            ),
            simulation.state.changes,
            limit(options.everything),
        ),
        options.output,
    )
    if explanation.undecided:
        return ExitCode.DEFECT
    return ExitCode.YES if explanation.node else ExitCode.NO
