"""`--seeds N` of `compare` and `replay`: runs with one seed after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksched_cli.commands import progress
from ksched_cli.commands.output import warn
from ksched_cli.run.differences import NamedRun
from ksched_cli.run.open import Opener
from ksched_cli.sweep import draws


def figures_of_draws(
    sides: Sequence[NamedRun], opener: Opener, count: int
) -> Sequence[Sequence[Mapping[str, float]]]:
    """The figures of each side, draw by draw; warns of budgets that the state lacks where pods were
    evicted. Raises UsageError, PluginDefectError."""
    with progress.of_runs("draws") as on_progress:
        figures = draws.figures_of_draws(sides, opener, count, on_progress)
    for line in draws.eviction_warnings(sides, opener, figures):
        warn(line)
    return figures
