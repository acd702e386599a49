"""Questions about several Runs: which sides differ and how, and summaries of many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from ksched_cli.errors import UsageError
from ksched_cli.library.given import Progress
from ksched_cli.library.run import Run
from ksched_cli.run import run as described

if TYPE_CHECKING:
    from ksched_cli.analysis.compare import Comparison, DrawnComparison, ReplayComparison
    from ksched_cli.analysis.replay_result import ReplayResult
    from ksched_cli.library.given import Timeline
    from ksched_cli.library.question import Question
    from ksched_cli.sweep.answers import SweepReport, SweepResult
    from ksched_cli.sweep.execution import Execution
    from ksched_cli.sweep.outcome import Outcome, Task
    from ksched_cli.sweep.preparation import Shared
    from ksched_cli.sweep.run_process import Executor

    AnyComparison: TypeAlias = Comparison | ReplayComparison | DrawnComparison


def replay(run: Run, timeline: Timeline, *, progress: Progress | None = None) -> ReplayResult:
    """Replay a Run over a timeline; see `Run.replay`."""
    return run.replay(timeline, progress=progress)


def compare(*runs: Run, seeds: int = 0, progress: Progress | None = None) -> AnyComparison:
    """Compare two or more Runs with the first, as `ksched compare` does. Runs with timelines are
    replayed.

    seeds:    the number of draws of each Run, whose means are compared
    progress: called after each attempt of a side, or after each draw
    Raises KschedError
    """
    from ksched_cli.library.question import Question

    if len(runs) < 2:
        raise UsageError("compare takes two Runs or more")
    if seeds:
        runs = tuple(run.with_(tie_break="random", seed=run.seed or 0) for run in runs)
    question = Question(runs)
    if len({bool(run.timeline) for run in question.runs}) > 1:
        raise UsageError("only some Runs have a timeline: give all of them one, or none")
    if seeds:
        return _compare_draws(question, seeds, progress)
    if question.runs[0].timeline:
        return _compare_replays(question)
    return _compare_runs(question, progress)


def _compare_runs(question: Question, progress: Progress | None) -> Comparison:
    from ksched_cli.analysis import compare as analysis
    from ksched_cli.run.open import Watch

    sides = analysis.sides_of(question.opener, question.runs, Watch(on_progress=progress))
    simulations = [side.simulation for side in sides]
    question.introduce(*simulations)
    answer = analysis.with_usages(analysis.compare(sides), sides)
    question.conclude(*simulations)
    return question.complete(answer, [simulation.state for simulation in simulations])


def _compare_replays(question: Question) -> ReplayComparison:
    from ksched_cli.analysis.compare import ReplaySide, compare_replays, with_curves
    from ksched_cli.analysis.replay_result import replay_warnings
    from ksched_cli.run.differences import named

    sides = []
    for each in named(question.runs, question.inputs):
        ended, departed = question.replay(each.run)
        sides.append(ReplaySide.of(each, ended, departed))
    answer = with_curves(compare_replays(sides), sides)
    for side in sides:
        question.conclude(side.replay.cluster.engine, evicts=bool(side.replay.log.counts.evicted))
        question.warn(*(f"{side.named.name}: {line}" for line in replay_warnings(side.replay)))
    return question.complete(answer, question.states())


def _compare_draws(question: Question, count: int, progress: Progress | None) -> DrawnComparison:
    from ksched_cli.analysis.compare import compare_draws
    from ksched_cli.run.differences import named
    from ksched_cli.sweep.draws import draws_of, eviction_warnings

    opener, runs = question.opener, question.runs
    question.introduce(
        *(
            opener.replay(run).cluster.engine if run.timeline else opener.simulation(run)
            for run in runs
        )
    )
    sides = named(runs, question.inputs)
    draws = draws_of(sides, opener, count, progress)
    question.warn(*eviction_warnings(sides, opener, draws.figures))
    seeds = [(runs[0].seed or 0) + index for index in range(count)]
    return question.complete(
        compare_draws(sides, draws.figures, seeds, draws.curves), question.states()
    )


def sweep(
    runs: Iterable[Run],
    *,
    workers: int = 0,
    metrics: Mapping[str, str] | None = None,
    timeout: float = 600.0,
    progress: Progress | None = None,
) -> SweepResult:
    """Make many Runs and summarize how they differ from the first. Runs of one state, timeline
    and seed are compared in pairs. `to_frame()` has a row per Run.

    workers:  number of local worker processes (the extra `sweep`); 0: this process
    metrics:  to compare: name → "minimize" or "maximize"; the usual ones by default
    timeout:  seconds that a Run may take in a worker
    progress: called after each Run
    Raises KschedError; a Run that fails is a row that says why
    """
    from ksched_cli.library.question import Question
    from ksched_cli.sweep.answers import SweepReport
    from ksched_cli.sweep.execution import Execution, open_executor
    from ksched_cli.sweep.listed_runs import ListedRuns
    from ksched_cli.sweep.preparation import prepare_runs
    from ksched_cli.sweep.rows import RowsFile
    from ksched_cli.sweep.run_process import ExecutorOptions
    from ksched_cli.sweep.summary import summarize

    question = Question(runs)
    if not question.runs:
        raise UsageError("sweep takes one Run or more")
    plan = ListedRuns(described.Run(), (), listed=tuple(question.runs))
    prepared = prepare_runs(plan, question.inputs)
    question.warn(*prepared.warnings)
    question.release = prepared.release
    begin = perf_counter()
    with RowsFile() as rows_file:
        execution = Execution.of(plan, prepared.shared, rows_file)
        if workers:
            options = ExecutorOptions(workers, timeout=timeout)
            with open_executor(prepared.shared, options) as (executor, _):
                execution.execute(executor, progress)
        else:
            execution.execute(_in_process(prepared.shared), progress)
        summary = summarize(
            execution.results(), plan.variants, metrics, is_over_time=plan.is_over_time
        )
        took = perf_counter() - begin
        report = SweepReport(summary, execution.planned, 0, took, max(workers, 1))
        return _sweep_answer(question, report, execution, prepared.eviction_warnings)


def _in_process(shared: Shared) -> Executor:
    from ksched_cli.sweep.outcome import SERIAL, Performer

    performer = Performer(shared)

    def execute(tasks: Iterator[Task], count: int) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            yield task, structs.replace(performer.perform(task), worker=SERIAL)

    return execute


def _sweep_answer(
    question: Question,
    report: SweepReport,
    execution: Execution,
    eviction_warnings: Sequence[str],
) -> SweepResult:
    from ksched_cli.report.sweep import headline
    from ksched_cli.report.table import PAGE
    from ksched_cli.sweep.outcome import is_evicting

    if any(is_evicting(result.outcome) for result in execution.results()):
        question.warn(*eviction_warnings)
    answer = report.answer(headline(report, PAGE))
    rows = tuple(execution.all_rows())
    return question.complete(structs.replace(answer, rows_of_runs=rows), ())
