"""`--seeds N` of `compare` and `replay`: runs with one seed after the other."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.commands import progress
from ksched_cli.commands.output import warn
from ksched_cli.run.differences import NamedRun
from ksched_cli.run.open import Opener
from ksched_cli.sweep import draws


def draws_of(sides: Sequence[NamedRun], opener: Opener, count: int) -> draws.Draws:
    """The results of each side, draw by draw; warns of budgets that the state lacks where pods were
    evicted. Raises UsageError, PluginDefectError."""
    with progress.of_runs("draws") as on_progress:
        result = draws.draws_of(sides, opener, count, on_progress)
    for line in draws.eviction_warnings(sides, opener, result.figures):
        warn(line)
    return result
