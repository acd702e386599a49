"""`ksched drift`: every running pod, where it is and where it would go today."""

from __future__ import annotations

from ksched_cli.commands import progress, runs
from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import ShownOptions


def drift(options: ShownOptions) -> ExitCode:
    """Every running pod: where it is, and where it would go today.

    Removes each pod from its node, leaves all else as it is, and places it as if it came now, on
    any node. Pods of DaemonSets count; static pods and those of other schedulers do not. -o wide
    shows every pod that is not on a best node, -o name their names. Exit code 0 when every pod is
    on a best node, 1 when some would go elsewhere or are no longer allowed where they are, 3 when a
    plugin failed.

    Examples:
        ksched drift --live
        ksched drift --owner deployment/web -o wide
        ksched drift --config new.yaml
    """
    from ksched_cli.analysis import drift as analysis
    from ksched_cli.report import drift as renderer

    simulation = runs.open_simulation(options)
    chosen = runs.chosen_pods(simulation, options)
    with progress.of_pods("pods asked about") as on_progress:
        answer = analysis.drift(simulation, on_progress, chosen)
    leaving = answer.summary.worse + answer.summary.not_allowed
    code = ExitCode.of(not leaving, bool(simulation.caller.defects))
    return runs.conclude(simulation, options, answer, renderer, code)
