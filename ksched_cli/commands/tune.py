"""`ksched tune`: the values in a configuration that serve some objectives best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli.commands.output import show
from ksched_cli.commands.run_options import (
    ManyRunsOptions,
    executor_options,
)
from ksched_cli.commands.runs import answered, in_project, run_of
from ksched_cli.errors import ExitCode


@dataclass(frozen=True, slots=True)
class TuneOptions(ManyRunsOptions):
    """Options of `tune`: a field per option.

    study FILE: Save trials to this file; resume if it exists.
    best FILE: Write the tuned configuration to this file instead of printing it.
    """

    study: str = ""
    best: str = ""


def tune(
    options: TuneOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File of kind Tune.")],
) -> ExitCode:
    """The weights, args and sampling that serve a goal best.

    FILE lists the states, timelines and seeds of the trials, the space, the objectives, and
    held-out states, timelines or seeds that no trial uses. The result is compared there with the
    untuned configuration. Needs the extra tune. Exit code 0 when the result is better there, 1 when
    it is not.

    Examples:
        ksched tune tune.yaml --study study.db --best best.yaml
        ksched tune tune.yaml --workers 2 -o json
    """
    from ksched_cli.commands.observer import ResumedTerminal
    from ksched_cli.kube.shown_yaml import block_yaml
    from ksched_cli.live.snapshot_file import check_writable, written_aside
    from ksched_cli.sweep.execution import open_executor
    from ksched_cli.sweep.preparation import prepare
    from ksched_cli.sweep.questions import Tune
    from ksched_cli.sweep.tune_file import read_tune

    cluster = executor_options(options)
    if options.best:
        check_writable(options.best)
    tune_file = read_tune(file, in_project(run_of(options), file))
    plans = (tune_file.plan, tune_file.held_out, tune_file.bounds)
    prepared = prepare(tune_file.document, plans, options.metric or ())
    question = Tune(
        file=tune_file,
        prepared=prepared,
        executor=lambda: open_executor(prepared.shared, cluster),
        study=options.study,
        best=options.best,
    )
    answer = answered(question, observer=ResumedTerminal(options.study, "--study"))
    if options.best:
        with written_aside(options.best) as best:
            best.write(block_yaml(answer.configuration).encode())
    return show(answer, options)
