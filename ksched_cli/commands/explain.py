"""`ksched explain POD`: why this pod goes where it goes, or why nowhere."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.commands.options import (
    All,
    Config,
    Debug,
    NoExtenders,
    Output,
    Plugin,
    PodName,
    RecordExtenders,
    ReplayExtenders,
    State,
)
from ksched_cli.report.forms import Form


def explain(
    pod: PodName,
    state: State = None,
    config: Config = None,
    plugin: Plugin = None,
    output: Output = Form.TABLE,
    in_turn: Annotated[
        bool,
        typer.Option("--in-turn", help="First place the other pending pods, as schedule would."),
    ] = False,
    no_extenders: NoExtenders = False,
    record_extenders: RecordExtenders = "",
    replay_extenders: ReplayExtenders = "",
    everything: All = False,
    debug: Debug = False,
) -> None:
    """Why this pod goes where it goes, or why nowhere.

    Every node is shown: what rejected it, by every plugin, or its scores. Of a pod that runs
    already, how its node ranks. Exit code 0 when the pod fits somewhere, 1 when it does not.
    """
    from ksched_cli.analysis import explain as engine
    from ksched_cli.commands import session as inquiry
    from ksched_cli.commands.output import limit, show
    from ksched_cli.engine.simulation import Options
    from ksched_cli.report import explanation as report
    from ksched_cli.report.forms import Report

    extenders = inquiry.extender_options(no_extenders, record_extenders, replay_extenders)
    options = Options(extenders=extenders)
    simulation = inquiry.open_simulation(state or (), config, options, plugin, debug)
    wanted = inquiry.find_pod(simulation, pod)
    if in_turn:
        simulation.run(leave_out=wanted)
    else:
        simulation.queue()
    found = engine.explain(simulation, wanted)
    inquiry.report_defects(simulation, debug)
    show(
        Report(
            document=lambda: report.document(found),
            table=lambda: report.table(found, limit(everything)),
        ),
        output,
    )
    if found.error and simulation.guard.defects:
        raise typer.Exit(3)
    raise typer.Exit(0 if found.node else 1)
