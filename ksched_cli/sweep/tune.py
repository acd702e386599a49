"""A whole search: the trials, and how the best of them does where no trial has looked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksched_cli.run.run import Patch
from ksched_cli.sweep.execution import Result
from ksched_cli.sweep.run_process import Executor
from ksched_cli.sweep.summary import MAXIMIZE, MINIMIZE, Summary, summarize
from ksched_cli.sweep.tune_file import Constraint
from ksched_cli.sweep.tuning import (
    Problem,
    Search,
    TrialResult,
    excesses,
    means,
    nearest_to_ideal,
)

BASELINE, TUNED = "baseline", "tuned"
OnTrial = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Tuning:
    """front: the trials that no other is better than in every objective; best: of these the one
    that the configuration is of
    held_out: baseline and best, on runs that no trial made
    constrained: by variant there, the means of the constraints' metrics
    configuration: of the best trial, as plain data
    """

    problem: Problem
    complete: int
    failed: int
    resumed: int
    front: tuple[TrialResult, ...]
    best: TrialResult
    held_out: Summary
    constrained: Mapping[str, tuple[float, ...]]
    configuration: Any

    @property
    def is_better(self) -> bool:
        """Whether the best keeps the constraints where it was held out, and is better than the
        baseline there: that breaks one, or by the median of the first objective."""
        if self.broken(TUNED):
            return False
        if self.broken(BASELINE):
            return True
        objective = self.problem.file.objectives[0]
        metric = self.held_out.variants[-1].metrics.get(objective.metric)
        if metric is None or metric.difference is None:
            return False
        sign = 1 if objective.goal == MAXIMIZE else -1
        return sign * metric.difference.median > 0

    def broken(self, variant: str) -> list[Constraint]:
        """The constraints that a variant breaks where it was held out."""
        constraints = self.problem.file.constraints
        over = excesses(self.constrained[variant], constraints)
        return [each for each, excess in zip(constraints, over, strict=True) if excess > 0]


def search_and_judge(
    problem: Problem, search: Search, executor: Executor, on_trial: OnTrial | None = None
) -> Tuning:
    """Raises TuningError where no trial came to its end."""
    file = problem.file
    for task, outcome in executor(search.tasks(), search.missing * len(file.plan)):
        search.take(task, outcome)
        if on_trial is not None:
            on_trial(search.ended, file.trials)
    front = search.front()
    best = nearest_to_ideal(front, file.objectives)
    patches = problem.patches(best.parameters)
    held_out, constrained = _judge(problem, patches, executor)
    return Tuning(
        problem,
        search.complete,
        search.ended - search.complete,
        search.resumed,
        tuple(front),
        best,
        held_out,
        constrained,
        problem.shared.opener().configuration_data(problem.tasks(file.plan, patches)[0].run),
    )


def _judge(
    problem: Problem, patches: Sequence[Patch], executor: Executor
) -> tuple[Summary, Mapping[str, tuple[float, ...]]]:
    """Baseline and best where they were held out. Raises TuningError where the constraints are of
    runs that failed."""
    plan = problem.file.held_out
    tasks = {
        task.id: (variant, task)
        for variant, changed in ((TUNED, patches), (BASELINE, ()))
        for task in problem.tasks(plan, changed)
    }
    results = []
    for task, outcome in executor((task for _, task in tasks.values()), len(tasks)):
        indexes = plan.at(task.number)
        parameters = plan.parameters(indexes)
        results.append(Result(task.id, tasks[task.id][0], indexes, parameters, outcome))
    metrics = {
        **{
            each.metric: MAXIMIZE if each.at_most is None else MINIMIZE
            for each in problem.file.constraints
        },
        **{objective.metric: objective.goal for objective in problem.file.objectives},
    }
    names = [each.metric for each in problem.file.constraints]
    constrained: dict[str, tuple[float, ...]] = dict.fromkeys((BASELINE, TUNED), ())
    for variant in constrained if names else ():
        outcomes = [each.outcome for each in results if each.variant == variant]
        constrained[variant] = means(outcomes, names)
    return summarize(results, (BASELINE, TUNED), metrics), constrained
