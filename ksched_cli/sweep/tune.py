"""A whole search: the trials, and how the best of them does where no trial has looked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.execution import Executor
from ksched_cli.sweep.materials import Materials, Run
from ksched_cli.sweep.outcome import Outcome
from ksched_cli.sweep.plan import Variants
from ksched_cli.sweep.preparation import MaterialsReader, Prepared, Settings
from ksched_cli.sweep.rows import Row
from ksched_cli.sweep.summary import MAXIMIZE, Summary, summarize
from ksched_cli.sweep.tune_file import TuneFile
from ksched_cli.sweep.tuning import Problem, Search, TrialResult, nearest_to_ideal

BASELINE, TUNED = "baseline", "tuned"
OnTrial = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TuneResult:
    """front: the trials that no other is better than in every objective; best: of these the one
    that the configuration is of
    held_out: baseline and best, on runs that no trial made
    configuration: of the best trial, as plain data
    """

    problem: Problem
    complete: int
    failed: int
    resumed: int
    front: tuple[TrialResult, ...]
    best: TrialResult
    held_out: Summary
    configuration: Any

    @property
    def is_better(self) -> bool:
        """Whether the best is better than the baseline where it was held out: by the median of the
        first objective."""
        objective = self.problem.file.objectives[0]
        metric = self.held_out.variants[-1].metrics.get(objective.metric)
        if metric is None or metric.difference is None:
            return False
        sign = 1 if objective.goal == MAXIMIZE else -1
        return sign * metric.difference.median > 0


def read_problem(file: TuneFile, settings: Settings) -> tuple[Problem, Prepared]:
    """Reads and checks what the file names. Raises KschedError."""
    reader = MaterialsReader(settings, (settings.plugins,))
    states = (*file.states, *file.held_out_states)
    materials = reader.read(states, (file.configuration,), file.change_sets, file.retries)
    minor = file.minor or (settings.minors[0] if settings.minors else "")
    checked = [
        materials.run(state=state, changes=changes, minor=minor)
        for state in range(len(states))
        for changes in range(len(file.change_sets))
    ]
    for dimension in file.dimensions:
        values = dimension.values or (dimension.low, dimension.high)
        checked += [
            materials.run(patches=((dimension.path, value),), minor=minor) for value in values
        ]
    return Problem(file, materials, minor), reader.checked(materials, checked)


def search_and_judge(
    problem: Problem, search: Search, executor: Executor, on_trial: OnTrial | None = None
) -> TuneResult:
    """Raises TuningError where no trial came to its end."""
    count = search.missing * len(problem.runs())
    for run, outcome in executor(search.runs(), count):
        search.take(run, outcome)
        if on_trial is not None:
            on_trial(search.ended, problem.file.trials)
    front = search.front()
    best = nearest_to_ideal(front, problem.file.objectives)
    patches = problem.patches(best.parameters)
    return TuneResult(
        problem,
        search.complete,
        search.ended - search.complete,
        search.resumed,
        tuple(front),
        best,
        _judge(problem, patches, executor),
        _configuration(problem.materials, problem.runs(patches)[0]),
    )


def _judge(problem: Problem, patches: tuple[Any, ...], executor: Executor) -> Summary:
    """Baseline and best where they were held out."""
    runs = {run.id: (TUNED, run) for run in problem.held_out_runs(patches)}
    runs |= {run.id: (BASELINE, run) for run in problem.held_out_runs()}
    outcomes = executor((run for _, run in runs.values()), len(runs))
    rows = [_row(problem.materials, runs[run.id][0], run, outcome) for run, outcome in outcomes]
    variants = Variants(("configuration",), ("state", "changes", "seed"))
    metrics = {objective.metric: objective.goal for objective in problem.file.objectives}
    return summarize(rows, variants, (BASELINE, TUNED), metrics)


def _row(materials: Materials, variant: str, run: Run, outcome: Outcome) -> Row:
    parameters: Mapping[str, Any] = {
        "id": run.id,
        "state": materials.states[run.state].name,
        "configuration": variant,
        "changes": materials.change_sets[run.changes].name,
        "plugins": [],
        "patches": {path.text: value for path, value in run.patches},
        "kubernetesVersion": run.minor or None,
        "seed": run.seed,
    }
    return {**parameters, **outcome}


def _configuration(materials: Materials, run: Run) -> Any:
    environment = RunEnvironment(materials)
    state = environment.state(run.state, run.changes)
    registry = environment.registry(run.plugins, environment.release(run.minor, state))
    return environment.configuration_data(run, registry)
