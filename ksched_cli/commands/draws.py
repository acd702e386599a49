"""`--seeds N` of `compare` and `replay`: runs with one seed after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ksched_cli.commands import progress, runs
from ksched_cli.errors import PluginDefectError, UsageError
from ksched_cli.run.differences import NamedRun
from ksched_cli.run.open import Opener
from ksched_cli.sweep.outcome import Failed, Performer, Task
from ksched_cli.sweep.preparation import Shared


def figures_of_draws(
    sides: Sequence[NamedRun], opener: Opener, count: int
) -> list[list[Mapping[str, float]]]:
    """The figures of each side, draw by draw, with one seed after the other; warns of budgets that
    the state lacks where pods were evicted. Raises UsageError where a draw does not come to its
    end, PluginDefectError where a plugin is to blame."""
    performer = Performer(Shared(opener.inputs), opener)
    figures: list[list[Mapping[str, float]]] = [[] for _ in sides]
    with progress.of_runs("draws") as on_progress:
        for index in range(count):
            for side, own in zip(sides, figures, strict=True):
                run = replace(side.run, seed=(side.run.seed or 0) + index)
                outcome = performer.perform(Task("", run))
                if isinstance(outcome, Failed):
                    message = f"{side.name}, seed {run.seed}: {outcome.error}".removeprefix(", ")
                    if outcome.is_defect:
                        raise PluginDefectError(message, "")
                    raise UsageError(message)
                own.append(outcome.figures())
            if on_progress is not None:
                on_progress(index + 1, count)
    for side, own in zip(sides, figures, strict=True):
        if any(draw["evicted"] for draw in own):
            runs.warn_of_missing_budgets(opener.state(side.run))
    return figures
