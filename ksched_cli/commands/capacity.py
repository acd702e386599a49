"""`ksched capacity`: how many more copies of a pod fit; how many more nodes all pods need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.command_line import whole_number
from ksched_cli.commands.completion import complete_node, complete_pod
from ksched_cli.commands.forms import COMMON_FORMS
from ksched_cli.commands.options import POD_HELP, Alone, StateOptions
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.analysis.capacity import Capacity, NodesNeeded
    from ksched_cli.cluster.objects import Pod
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.engine.simulation import Simulation
    from ksched_cli.scenario.targets import Target

MAXIMUM = 10_000


@dataclass(frozen=True, slots=True)
class CapacityOptions(StateOptions):
    """Of `capacity`: a field per option."""

    file: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--filename",
            metavar="FILE",
            help="A pod or a workload that need not be in the state; - is standard input.",
        ),
    ] = None
    maximum: Annotated[
        int,
        typer.Option(
            "--max", metavar="N", parser=whole_number("--max", 1), help="Stop at so many copies."
        ),
    ] = MAXIMUM
    pending: Annotated[
        bool,
        typer.Option(
            "--pending", help="How many copies of the node of --like all pending pods need."
        ),
    ] = False
    like: Annotated[
        str | None,
        typer.Option(
            "--like", metavar="NODE", help="The node to copy.", autocompletion=complete_node
        ),
    ] = None
    alone: Alone = False


def capacity(
    options: CapacityOptions,
    pod: Annotated[
        str | None,
        typer.Argument(
            metavar="POD",
            help=f"{POD_HELP}; or a workload, as deployment/web",
            autocompletion=complete_pod,
        ),
    ] = None,
) -> ExitCode:
    """How many more copies of a pod fit, or replicas of a workload, and what stops the next one.

    Each copy is placed as `schedule` would place it, when the pod's turn comes; those of a pod that
    runs, of a workload, or of a file, come after the pending pods. Nobody is evicted for them.
    With --pending --like NODE: the fewest copies of that node with which no pod stays pending and
    none is evicted.
    -o wide shows every node, -o name the names of those that take any.
    Exit code 0 when a copy fits, or some number of nodes is enough, 1 when not, 3 when a plugin's
    failure leaves it undecided.
    """
    if [pod is not None, options.file is not None, options.pending].count(True) != 1:
        raise UsageError("capacity takes one of POD, -f FILE, and --pending --like NODE")
    if options.pending != (options.like is not None):
        raise UsageError("--pending and --like NODE go together")
    if options.like is not None:
        if options.alone or options.maximum != MAXIMUM or options.output not in COMMON_FORMS:
            raise UsageError(
                "--pending is about all pods: it takes no --alone, --max, -o wide or name"
            )
        return _nodes_needed(options, options.like)
    return _copies(options, pod, options.file, options.maximum, options.alone)


def _copies(
    options: StateOptions, name: str | None, file: str | None, maximum: int, alone: bool
) -> ExitCode:
    """Of the pod or workload of this name, or else of that in a file."""
    from ksched_cli.analysis import capacity as analysis
    from ksched_cli.commands import session
    from ksched_cli.scenario.replicas import next_replicas
    from ksched_cli.scenario.targets import Target

    simulation = session.open_simulation(options)
    if name is None:
        state, subject = _of_file(simulation, file or "")
    else:
        state, subject = simulation.state, _of_name(simulation, name, options.namespace)
    workload = ""
    replicas: tuple[Pod, ...] = ()
    if isinstance(subject, Target):
        state, own, replicas = next_replicas(state, subject, maximum)
        workload, pod = own.text, replicas[0]
    else:
        pod = subject
    if state is not simulation.state:
        simulation = _of_state(options, simulation, state)
    answer = analysis.capacity(
        simulation,
        pod,
        maximum=maximum,
        alone=alone,
        replicas=replicas if len(replicas) > 1 else (),
    )
    answer = replace(answer, workload=workload)
    session.report_defects(simulation, options.debug)
    _show(simulation, options, answer)
    if answer.undecided:
        return ExitCode.DEFECT
    return ExitCode.YES if answer.count else ExitCode.NO


def _of_name(simulation: Simulation, name: str, namespace: str) -> Pod | Target:
    """A workload of KIND/NAME, unless a pod has that namespace and name; else a pod."""
    from ksched_cli.commands import named_objects
    from ksched_cli.scenario.replicas import workload_target

    target = workload_target(name, namespace)
    if target is None or any(pod.key == name for pod in simulation.state.pods):
        return named_objects.find_pod(simulation, name, namespace).pod
    return target


def _of_file(simulation: Simulation, path: str) -> tuple[ClusterState, Pod | Target]:
    """The pod or the workload of a file, and the state with what else the file has."""
    from ksched_cli.cluster.loading.load import load_beside
    from ksched_cli.scenario.replicas import pod_or_workload

    state = simulation.state
    return pod_or_workload(state, load_beside(path, state), path)


def _of_state(options: StateOptions, simulation: Simulation, state: ClusterState) -> Simulation:
    """As the simulation, of another state."""
    from ksched_cli.commands import session

    simulation.close()
    return session.make_simulation(
        options, state, simulation.configuration, simulation.registry, simulation.options
    )


def _nodes_needed(options: StateOptions, like: str) -> ExitCode:
    from ksched_cli.analysis import capacity as analysis
    from ksched_cli.commands import session
    from ksched_cli.engine.records import RunRecord
    from ksched_cli.scenario.change import apply_changes
    from ksched_cli.scenario.nodes import AddNodes

    simulation = session.open_simulation(options)

    def run_with(nodes: int) -> RunRecord:
        change = AddNodes(f"--like {like}", f"{like}-copy", like, nodes)
        state, _ = apply_changes(simulation.state, [change])
        run = session.make_simulation(
            options, state, simulation.configuration, simulation.registry, simulation.options
        )
        record = run.run()
        run.close()
        simulation.caller.defects.update(run.caller.defects)
        return record

    answer = analysis.nodes_needed(like, run_with)
    session.report_defects(simulation, options.debug)
    _show(simulation, options, answer)
    if answer.undecided:
        return ExitCode.DEFECT
    return ExitCode.NO if answer.count is None else ExitCode.YES


def _show(simulation: Simulation, options: StateOptions, answer: Capacity | NodesNeeded) -> None:
    from ksched_cli.analysis.capacity import NodesNeeded
    from ksched_cli.commands.output import limit, show_of_state
    from ksched_cli.report import capacity as renderer
    from ksched_cli.report.forms import Form, Report

    report = Report(
        document=lambda: renderer.document(answer),
        table=lambda: renderer.table(
            answer, limit(options.everything), wide=options.output is Form.WIDE
        ),
        names=lambda: () if isinstance(answer, NodesNeeded) else tuple(answer.nodes),
        headline=lambda: renderer.headline(answer),
    )
    show_of_state(report, options, simulation.state.changes)
