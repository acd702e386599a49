"""`ksched schedule`: place the pending pods of a cluster state."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.commands.options import (
    All,
    Config,
    Debug,
    ExtenderBind,
    NoExtenders,
    Output,
    Plugin,
    RecordExtenders,
    ReplayExtenders,
    Seed,
    State,
    TieBreak,
    Trace,
)
from ksched_cli.report.forms import Form


def schedule(
    state: State = None,
    config: Config = None,
    plugin: Plugin = None,
    output: Output = Form.TABLE,
    trace: Trace = False,
    tie_break: TieBreak = "name",
    seed: Seed = None,
    no_preemption: Annotated[
        bool, typer.Option("--no-preemption", help="Evict nobody, only say who could be.")
    ] = False,
    no_memory: Annotated[
        bool,
        typer.Option(
            "--no-memory",
            help="Ask every plugin anew for every pod: slower, and the same, unless a plugin's "
            "scope promises too much.",
        ),
    ] = False,
    no_extenders: NoExtenders = False,
    extender_bind: ExtenderBind = False,
    record_extenders: RecordExtenders = "",
    replay_extenders: ReplayExtenders = "",
    everything: All = False,
    debug: Debug = False,
) -> None:
    """Place the pending pods of a cluster state.

    One after another, as kube-scheduler v1.34.1 would. Exit code 0 when every pod that is not gated
    found a node, 1 when some stay pending, 2 when the state or configuration is broken, 3 when a
    plugin failed on every pod.
    """
    from ksched_cli.commands import progress
    from ksched_cli.commands import session as inquiry
    from ksched_cli.commands.output import limit, show
    from ksched_cli.engine.simulation import Options
    from ksched_cli.report import schedule as report
    from ksched_cli.report.forms import Report

    with progress.of_pods() as on_progress:
        options = Options(
            tie_break=inquiry.tie_break(tie_break, seed),
            detailed=trace and output is not Form.TABLE,
            preempt=not no_preemption,
            remember=not no_memory,
            on_progress=on_progress,
            extenders=inquiry.extender_options(
                no_extenders, record_extenders, replay_extenders, extender_bind
            ),
        )
        simulation = inquiry.open_simulation(state or (), config, options, plugin, debug)
        run = simulation.run()
    inquiry.report_defects(simulation, debug)
    show(
        Report(
            document=lambda: report.document(run, trace=trace),
            table=lambda: report.table(run, limit(everything)),
        ),
        output,
    )
    if run.failed and len(run.failed) == len(run.last):
        raise typer.Exit(3)
    raise typer.Exit(1 if run.pending else 0)
