"""`ksched drift`: every running pod, where it is and where it would go today."""

from __future__ import annotations

from ksched_cli.commands.options import ShownOptions
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, run_of
from ksched_cli.errors import ExitCode


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
    from ksched_cli.analysis.drift import Drift

    return show(answered(Drift(shows=options.shows), run_of(options)), options)
