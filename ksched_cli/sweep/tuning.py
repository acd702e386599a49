"""The search for values that serve some objectives best: Optuna says what to try, the runs say what
comes of it; and how the best of the trials does where no trial has looked."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean
from typing import Any

from msgspec import structs

from ksched_cli.analysis.run_figures import Failed, Outcome
from ksched_cli.errors import KschedError, MissingExtraError, UsageError
from ksched_cli.kube.near_names import near_hint
from ksched_cli.kube.streams import LIMIT
from ksched_cli.run.inputs import digest
from ksched_cli.run.run import Patch
from ksched_cli.sweep.execution import Result
from ksched_cli.sweep.outcome import Task, is_evicting
from ksched_cli.sweep.plan import StudyPlan
from ksched_cli.sweep.preparation import Shared
from ksched_cli.sweep.run_process import Executor
from ksched_cli.sweep.summary import MAXIMIZE, MINIMIZE, Summary, summarize
from ksched_cli.sweep.tune_file import Dimension, MetricConstraint, Objective, TuneFile

STUDY = "ksched"
# User attributes: of a study, and of a trial whose runs failed.
_IDENTITY, _ERROR, _CONSTRAINED = "ksched-problem", "ksched-error", "ksched-constrained"
_BEGIN = b'{"op_code":'  # of every line of a study


class TuningError(KschedError):
    """The trials lead to nothing, as where each of them fails."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """parameters: by name of the dimension; values: of the objectives, in their order;
    constrained: of the constraints' metrics, in their order"""

    number: int
    parameters: Mapping[str, Any]
    values: tuple[float, ...]
    constrained: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """What is tuned. shared: what its runs are made from"""

    file: TuneFile
    shared: Shared

    def tasks(self, plan: StudyPlan, patches: Sequence[Patch] = ()) -> list[Task]:
        """The runs of a plan with these patches."""
        tasks = []
        for number, run in enumerate(plan.runs()):
            run = structs.replace(run, patches=(*run.patches, *patches))
            tasks.append(Task(self.shared.id_of(run), run, number))
        return tasks

    def patches(self, parameters: Mapping[str, Any]) -> list[Patch]:
        """parameters: by name of the dimension"""
        return [item.patch(parameters[item.name]) for item in self.file.dimensions]

    @property
    def identity(self) -> str:
        """Return a digest of all that decides a trial's result."""
        objectives = [[item.metric, item.goal] for item in self.file.objectives]
        space = [[item.name, item.path, item.values, item.low, item.high, item.is_log]
                 for item in self.file.dimensions]  # fmt: skip
        constraints = [[each.metric, each.at_most, each.at_least] for each in self.file.constraints]
        return digest(
            objectives, constraints, space, [task.id for task in self.tasks(self.file.plan)]
        )


@dataclass(slots=True)
class _OpenTrial:
    """A trial that has been asked for. outcomes: of its runs so far, by id"""

    trial: Any
    ids: tuple[str, ...]
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        return len(self.outcomes) == len(self.ids)


class TrialSearch:
    """Asks for trials as long as runs are asked for, and tells what came of those that are done.

    on_trial: called after each trial with how many are done, and of how many
    """

    def __init__(self, problem: Problem, study: str = "") -> None:
        """study: a file to keep the trials in. Raises UsageError for one of something else,
        MissingExtraError without Optuna."""
        self.problem = problem
        self._study = _open_study(problem, study)
        self._open: dict[str, list[_OpenTrial]] = {}
        self._outcomes: dict[str, Outcome] = {}
        self.resumed = self.ended
        self.errors: list[str] = []

    @property
    def ended(self) -> int:
        """How many trials are done, failed ones among them."""
        failed = [trial for trial in self._in_state("FAIL") if _ERROR in trial.user_attrs]
        return self.complete + len(failed)

    @property
    def complete(self) -> int:
        return len(self._in_state("COMPLETE"))

    @property
    def missing(self) -> int:
        under_way = len(self._in_state("RUNNING"))
        return max(self.problem.file.trials - self.ended - under_way, 0)

    @property
    def evicts(self) -> bool:
        """Return whether a run evicted pods."""
        return any(map(is_evicting, self._outcomes.values()))

    def _in_state(self, name: str) -> list[Any]:
        return [t for t in self._study.get_trials(deepcopy=False) if t.state.name == name]

    def tasks(self) -> Iterator[Task]:
        """The runs of one trial after the other, each asked for when those before have been
        taken."""
        while self.missing:
            trial = self._study.ask()
            parameters = {item.name: _suggest(trial, item) for item in self.problem.file.dimensions}
            patches = self.problem.patches(parameters)
            tasks = {task.id: task for task in self.problem.tasks(self.problem.file.plan, patches)}
            opened = _OpenTrial(trial, tuple(tasks))
            opened.outcomes |= {id: self._outcomes[id] for id in tasks if id in self._outcomes}
            if opened.is_complete:
                self._tell(opened)
                continue
            missing = [task for task in tasks.values() if task.id not in opened.outcomes]
            unasked = [task for task in missing if task.id not in self._open]
            for task in missing:
                self._open.setdefault(task.id, []).append(opened)
            yield from unasked

    def take(self, task: Task, outcome: Outcome) -> None:
        """What came of a run."""
        self._outcomes[task.id] = outcome
        for opened in self._open.pop(task.id, ()):
            opened.outcomes[task.id] = outcome
            if opened.is_complete:
                self._tell(opened)

    def _tell(self, opened: _OpenTrial) -> None:
        from optuna.trial import TrialState

        file = self.problem.file
        try:
            values = means([opened.outcomes[identity] for identity in opened.ids], file.metrics)
        except TuningError as error:
            self.errors.append(str(error))
            opened.trial.set_user_attr(_ERROR, str(error))
            self._study.tell(opened.trial, state=TrialState.FAIL)
        else:
            count = len(file.objectives)
            opened.trial.set_user_attr(_CONSTRAINED, list(values[count:]))
            for index, excess in enumerate(excesses(values[count:], file.constraints)):
                opened.trial.set_constraint(str(index), excess)
            self._study.tell(opened.trial, list(values[:count]))

    def front(self) -> list[TrialResult]:
        """Return the trials that no other is better than in every objective, of those that keep the
        constraints; the best by the first objective first. Raises TuningError where no trial came
        to its end, or none keeps the constraints."""
        if not self.complete:
            raise TuningError(f"no trial finished: {(self.errors or ['none was made'])[0]}")
        if not self._study.best_trials:
            raise TuningError(self._why_none_keeps())
        results: dict[str, TrialResult] = {}
        for trial in self._study.best_trials:
            parameters = _parameters(trial, self.problem.file.dimensions)
            key = json.dumps(parameters, sort_keys=True)
            constrained = tuple(trial.user_attrs[_CONSTRAINED])
            values = tuple(trial.values)
            results.setdefault(key, TrialResult(trial.number, parameters, values, constrained))
        sign = 1 if self.problem.file.objectives[0].goal == "minimize" else -1
        return sorted(results.values(), key=lambda result: (sign * result.values[0], result.number))

    def _why_none_keeps(self) -> str:
        """By the trial that breaks the constraints least: the first that it breaks."""
        constraints = self.problem.file.constraints

        def by_trial(trial: Any) -> tuple[float, ...]:
            return excesses(trial.user_attrs[_CONSTRAINED], constraints)

        nearest = min(self._in_state("COMPLETE"), key=lambda trial: max(by_trial(trial)))
        first = next(n for n, excess in enumerate(by_trial(nearest)) if excess > 0)
        value = nearest.user_attrs[_CONSTRAINED][first]
        return (
            f"no trial keeps {constraints[first].text}; the nearest, trial {nearest.number}, has "
            f"{value:g}"
        )


def excesses(values: Sequence[float], constraints: Sequence[MetricConstraint]) -> tuple[float, ...]:
    """By how much each value is beyond its constraint; 0 or less where it keeps it."""
    return tuple(each.excess(value) for each, value in zip(constraints, values, strict=True))


def means(outcomes: Sequence[Outcome], metrics: Sequence[str]) -> tuple[float, ...]:
    """The mean of each metric. Raises TuningError where a run failed, or has no such metric."""
    figures = []
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            raise TuningError(f"{outcome.status}: {outcome.error}")
        figures.append(outcome.figures())
    for metric in metrics:
        if any(metric not in each for each in figures):
            hint = near_hint(metric, figures[0]) or "; ksched sweep -o csv lists the metrics"
            raise TuningError(f'no run has the metric "{metric}"{hint}')
    return tuple(fmean(item[metric] for item in figures) for metric in metrics)


def nearest_to_ideal(front: Sequence[TrialResult], objectives: Sequence[Objective]) -> TrialResult:
    """Return the trial on the front that is nearest to the best value of each objective, each
    scaled to its range there."""
    columns = list(zip(*(result.values for result in front), strict=True))

    def distance(result: TrialResult) -> float:
        total = 0.0
        for value, column, objective in zip(result.values, columns, objectives, strict=True):
            width = max(column) - min(column)
            best = min(column) if objective.goal == "minimize" else max(column)
            total += ((value - best) / width) ** 2 if width else 0.0
        return total

    return min(front, key=lambda result: (distance(result), result.number))


# -- Optuna ---------------------------------------------------------------------------------------


def _open_study(problem: Problem, path: str) -> Any:
    try:
        import optuna
        from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise MissingExtraError("tune", "tune") from None
    optuna.logging.set_verbosity(logging.ERROR)
    # Trials whose outcome is not there yet are taken for bad ones, so that the next are elsewhere.
    sampler = optuna.samplers.TPESampler(
        seed=problem.file.sampler_seed,
        constant_liar=True,
        multivariate=True,
    )
    try:
        storage: BaseStorage = InMemoryStorage()
        if path:
            _drop_partial_line(path)
            storage = JournalStorage(JournalFileBackend(path, _Held()))
        study = optuna.create_study(
            study_name=STUDY,
            storage=storage,
            sampler=sampler,
            directions=[objective.goal for objective in problem.file.objectives],
            load_if_exists=True,
        )
        _check_trials(study, problem.file)
    except Exception as error:  # Optuna raises whatever another file leads it to
        raise UsageError(f"--study {path}: the study cannot be read or written: {error}") from None
    identity = study.user_attrs.get(_IDENTITY)
    if identity is None:
        study.set_user_attr(_IDENTITY, problem.identity)
    elif identity != problem.identity:
        raise UsageError(
            f"--study {path}: its trials have other states, seeds, objectives or another "
            "space; name a new file"
        )
    for trial in study.trials:
        if trial.state.name == "RUNNING":  # when the search was ended
            study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    return study


class _Held:
    """The lock of a study that no other process uses, see kube/file_lock. Optuna's own outlives a
    process that is killed, and the next one would wait for it for 30 s."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _drop_partial_line(path: str) -> None:
    """A search that was killed may have written a part of a line, which the next one would add to.
    Raises ValueError for a file of other things, which stays as it is, and OSError."""
    if not os.path.exists(path):
        return
    if not os.path.isfile(path):
        raise ValueError("expected a plain file")
    with open(path, "r+b") as file:
        *lines, part = LIMIT.read(file, path).split(b"\n")
        number = next((n for n, line in enumerate(lines, 1) if not _is_log(line)), 0)
        if not number and part[: len(_BEGIN)] != _BEGIN[: len(part)]:
            number = len(lines) + 1
        if number:
            raise ValueError(f"line {number} is not a line of a study")
        file.truncate(sum(len(line) + 1 for line in lines))


def _is_log(line: bytes) -> bool:
    try:
        log = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(log, dict) and "op_code" in log


def _check_trials(study: Any, file: TuneFile) -> None:
    """Check the trials of a study's file. Raises ValueError where a trial lacks its values, because
    the file was changed."""
    goals = [direction.name.lower() for direction in study.directions]
    if goals != [objective.goal for objective in file.objectives]:
        raise ValueError(f"its goals are {', '.join(goals) or 'none'}")
    for trial in study.trials:
        if trial.state.name != "COMPLETE":
            continue
        parameters = _parameters(trial, file.dimensions)
        values = [value for value in trial.values if isinstance(value, float) and isfinite(value)]
        is_whole = len(values) == len(trial.values) == len(file.objectives)
        constrained = trial.user_attrs.get(_CONSTRAINED)
        is_whole &= isinstance(constrained, list) and len(constrained) == len(file.constraints)
        if not is_whole or len(parameters) != len(file.dimensions):
            raise ValueError(f"trial {trial.number} was edited")


def _suggest(trial: Any, dimension: Dimension) -> Any:
    """Values of any shape are known to Optuna by their index."""
    if dimension.values:
        index = trial.suggest_categorical(dimension.name, range(len(dimension.values)))
        return dimension.values[index]
    if dimension.is_whole:
        return trial.suggest_int(
            dimension.name, int(dimension.low), int(dimension.high), log=dimension.is_log
        )
    return trial.suggest_float(dimension.name, dimension.low, dimension.high, log=dimension.is_log)


def _parameters(trial: Any, dimensions: Sequence[Dimension]) -> dict[str, Any]:
    return {
        item.name: item.values[trial.params[item.name]] if item.values else trial.params[item.name]
        for item in dimensions
    }


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
        """Return whether the best keeps the constraints where it was held out, and is better than
        the baseline there: that breaks one, or by the median of the first objective."""
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

    def broken(self, variant: str) -> list[MetricConstraint]:
        """Return the constraints that a variant breaks where it was held out."""
        constraints = self.problem.file.constraints
        over = excesses(self.constrained[variant], constraints)
        return [each for each, excess in zip(constraints, over, strict=True) if excess > 0]


def search_and_judge(
    problem: Problem, search: TrialSearch, executor: Executor, on_trial: OnTrial | None = None
) -> Tuning:
    """Search, and judge the best trials on all states and seeds. Raises TuningError where no trial
    came to its end, or the constraints are of runs that failed."""
    file = problem.file
    for task, outcome in executor(search.tasks(), search.missing * len(file.plan)):
        search.take(task, outcome)
        if on_trial is not None:
            on_trial(search.ended, file.trials)
    front = search.front()
    best = nearest_to_ideal(front, file.objectives)
    patches = problem.patches(best.parameters)
    # Baseline and best are judged on what was held out.
    plan = file.held_out
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
            each.metric: MAXIMIZE if each.at_most is None else MINIMIZE for each in file.constraints
        },
        **{objective.metric: objective.goal for objective in file.objectives},
    }
    names = [each.metric for each in file.constraints]
    constrained: dict[str, tuple[float, ...]] = dict.fromkeys((BASELINE, TUNED), ())
    for variant in constrained if names else ():
        outcomes = [each.outcome for each in results if each.variant == variant]
        constrained[variant] = means(outcomes, names)
    held_out = summarize(results, (BASELINE, TUNED), metrics)
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
