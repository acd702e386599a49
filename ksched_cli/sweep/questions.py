"""The questions that many runs answer: `sweep`, what it would run, and `tune`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from time import perf_counter
from typing import TypeAlias

from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.run_figures import Ended
from ksched_cli.kube.file_lock import locked
from ksched_cli.kube.near_names import near_hint
from ksched_cli.run.run import Run
from ksched_cli.sweep.answers import SweepPlan, SweepResult, TuneResult
from ksched_cli.sweep.execution import Execution
from ksched_cli.sweep.outcome import RowsFile, is_evicting
from ksched_cli.sweep.plan import StudyPlan
from ksched_cli.sweep.preparation import Prepared, every
from ksched_cli.sweep.run_process import Executor, serially
from ksched_cli.sweep.summary import effects_of, summarize
from ksched_cli.sweep.tune_file import TuneFile
from ksched_cli.sweep.tuning import Problem, TrialSearch, search_and_judge

# Opens what makes runs, and says how many workers it has.
OpenExecutor: TypeAlias = Callable[[], AbstractContextManager[tuple[Executor, int]]]


class Sweep(Question[SweepResult], frozen=True, kw_only=True):
    """Make the runs of a plan that have no rows, and compare its variants.

    metrics: what the variants are compared by: name → minimize or maximize; the usual ones if empty
    rows:    the file that keeps the rows; "" for none
    with_rows: whether the answer has the row of each run
    """

    plan: StudyPlan
    prepared: Prepared
    executor: OpenExecutor
    metrics: Mapping[str, str] = {}
    rows: str = ""
    with_rows: bool = False

    def answer(self, opened: Opened) -> SweepResult:
        prepared, plan = self.prepared, self.plan
        _introduce(prepared, opened)
        with locked(self.rows, "--rows"), RowsFile(self.rows) as rows_file:
            execution = Execution.of(plan, prepared.shared, rows_file)
            planned, resumed = execution.planned, execution.resumed
            workers, begin = 1, perf_counter()
            if resumed < planned:
                with (
                    opened.observer.progress("runs") as on_row,
                    self.executor() as (executor, workers),
                ):
                    begin = perf_counter()
                    if on_row is not None:
                        on_row(resumed, planned)
                    execution.execute(executor, on_row)
            took = perf_counter() - begin
            summary = summarize(
                execution.results(), plan.variants, self.metrics, is_over_time=plan.is_over_time
            )
            if any(is_evicting(result.outcome) for result in execution.results()):
                opened.warn(*prepared.eviction_warnings)
            missing = [name for name in self.metrics if name not in summary.metrics]
            if missing and summary.statuses.get("ok"):
                outcomes = (result.outcome for result in execution.results())
                figures = next(each.figures() for each in outcomes if isinstance(each, Ended))
                for name in missing:
                    hint = near_hint(name, figures) or "; -o csv lists the metrics"
                    opened.warn(f'no run has the metric "{name}"{hint}')
            return SweepResult.of(
                summary,
                planned,
                resumed=resumed,
                seconds=took,
                workers=workers,
                file=self.rows,
                rows=execution.all_rows() if self.with_rows else (),
                effects=effects_of(execution.results(), plan, summary.metrics),
            )


class PlanSweep(Question[SweepPlan], frozen=True, kw_only=True):
    """Say what a sweep would run, and make one of its runs to say how long that takes.

    timeout: of that run, in seconds
    may_import: whether the plugins of a Run may be imported
    """

    plan: StudyPlan
    prepared: Prepared
    workers: int
    timeout: float
    rows: str = ""
    may_import: Callable[[Run], bool] = every

    def answer(self, opened: Opened) -> SweepPlan:
        _introduce(self.prepared, opened)
        shared = self.prepared.shared
        with RowsFile(self.rows, dry_run=True) as rows_file:
            execution = Execution.of(self.plan, shared, rows_file)
            sample = execution.sample(serially(shared, self.timeout), self.may_import)
            return SweepPlan.of(execution, sample, self.workers)


class Tune(Question[TuneResult], frozen=True, kw_only=True):
    """Search for the values that serve the objectives of a file best, and judge them where no
    trial has looked.

    study: the file that keeps the trials; "" for none
    best:  the file that the configuration is written to; "" for none
    """

    file: TuneFile
    prepared: Prepared
    executor: OpenExecutor
    study: str = ""
    best: str = ""

    def answer(self, opened: Opened) -> TuneResult:
        _introduce(self.prepared, opened)
        problem = Problem(self.file, self.prepared.shared)
        with locked(self.study, "--study"):
            search = TrialSearch(problem, self.study)
            with (
                opened.observer.progress("trials") as on_trial,
                self.executor() as (executor, _),
            ):
                if on_trial is not None:
                    on_trial(search.ended, self.file.trials)
                tuning = search_and_judge(problem, search, executor, on_trial)
        if search.evicts:
            opened.warn(*self.prepared.eviction_warnings)
        return TuneResult.of(tuning, self.best)


def _introduce(prepared: Prepared, opened: Opened) -> None:
    opened.follow(prepared.release)
    opened.warn(*prepared.warnings)
    opened.observer.opened(prepared.release, prepared.configurations)
