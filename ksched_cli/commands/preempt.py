"""`ksched preempt POD`: whom it would evict, where, and why there."""

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


def preempt(
    pod: PodName,
    state: State = None,
    config: Config = None,
    plugin: Plugin = None,
    output: Output = Form.TABLE,
    all_candidates: Annotated[
        bool,
        typer.Option(
            "--all-candidates", help="Look at every node, also where there are candidates enough."
        ),
    ] = False,
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
    """Whom this pod would evict, where, and why there. Nobody is evicted.

    Every candidate node is shown with the pods that would have to leave it, those that may stay,
    and the disruption budgets violated; every other node with the reason why evictions there do
    not help. Exit code 0 when the pod fits or would after evictions, 1 when it would not.
    """
    from ksched_cli.analysis import preempt as engine
    from ksched_cli.commands import session as inquiry
    from ksched_cli.commands.output import limit, show
    from ksched_cli.engine.simulation import Options
    from ksched_cli.report import preemption as report
    from ksched_cli.report.forms import Report

    extenders = inquiry.extender_options(no_extenders, record_extenders, replay_extenders)
    options = Options(extenders=extenders)
    simulation = inquiry.open_simulation(state or (), config, options, plugin, debug)
    wanted = inquiry.find_pod(simulation, pod)
    if in_turn:
        simulation.run(leave_out=wanted)
    else:
        simulation.queue()
    found = engine.preempt(simulation, wanted, everything=all_candidates)
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
    raise typer.Exit(0 if found.is_yes else 1)
