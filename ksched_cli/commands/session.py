"""From the options that all commands share to a simulation that answers questions."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.commands.output import warn
from ksched_cli.commands.session_configuration import read_configuration
from ksched_cli.commands.session_plugins import registry
from ksched_cli.engine.extender_runner import ExtenderOptions
from ksched_cli.engine.scheduling_cycle import TieBreak, first_by_name
from ksched_cli.engine.simulation import Options, Simulation
from ksched_cli.errors import PluginDefectError, UsageError

HOW_TO_SEE = "--debug prints the traceback"


def open_simulation(
    states: Sequence[str],
    config: str | None,
    options: Options | None = None,
    plugins: Sequence[str] | None = None,
    debug: bool = False,
) -> Simulation:
    """Reads what the options name; warnings go to standard error, a line each.

    plugins: what --plugin names; debug: print the traceback of a plugin that cannot be made
    """
    known = registry(plugins)
    state = load_state(states, reads=known.reads)
    configuration = read_configuration(config, known, plugins)
    try:
        simulation = Simulation(state, configuration, known, options or Options())
    except PluginDefectError as defect:
        raise _with_traceback(defect, debug) from None
    if state.skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(state.skipped.items()))
        warn(f"skipped what no plugin reads: {kinds}")
    for line in state.warnings:
        warn(line)
    for line in _device_faults(simulation):
        warn(line)
    return simulation


def _device_faults(simulation: Simulation) -> list[str]:
    """Only where somebody wants devices: looking at selectors takes the CEL library."""
    if not any(pod.spec.resource_claims for pod in simulation.pending()):
        return []
    from ksched_cli.plugins.dynamic_resources.object_checks import device_faults

    return device_faults(simulation.state)


def _with_traceback(defect: PluginDefectError, debug: bool) -> PluginDefectError:
    """Says how to get the traceback, or has it."""
    more = f"\n{defect.detail}" if debug else f"\n  {HOW_TO_SEE}"
    return PluginDefectError(f"{defect}{more}", defect.detail)


def report_defects(simulation: Simulation, debug: bool) -> None:
    """What plugins did wrong, a line each; with `debug` the tracebacks."""
    defects = simulation.guard.defects.values()
    for defect in defects:
        warn(f"plugin {defect.plugin} failed in {defect.point}: {defect.problem}")
        if debug:
            print(defect.detail, file=sys.stderr)
    if defects and not debug:
        print(f"  {HOW_TO_SEE}", file=sys.stderr)


def extender_options(none: bool, record: str, replay: str, bind: bool = False) -> ExtenderOptions:
    """What the options about extenders come to. Raises UsageError where they contradict."""
    if record and replay:
        raise UsageError("--record-extenders and --replay-extenders exclude each other")
    if none and (record or replay or bind):
        raise UsageError("--no-extenders leaves nothing to record, replay or bind")
    if replay and bind:
        raise UsageError("--replay-extenders calls nobody, so that --extender-bind cannot bind")
    return ExtenderOptions(not none, bind, record, replay, warn)


def tie_break(name: str, seed: int | None) -> TieBreak:
    """`name`: the first by name; `random`: a draw, the same one for the same seed."""
    if name == "name":
        return first_by_name
    if name != "random":
        raise UsageError(f'--tie-break is "{name}"; it takes name or random')
    draw = random.Random(seed)

    def drawn(ties: Rows) -> int:
        return int(ties[draw.randrange(len(ties))])

    return drawn


def find_pod(simulation: Simulation, wanted: str) -> PodInfo:
    """By `name` or `namespace/name`. Raises UsageError where there is none, or more than one."""
    found = [pod for pod in simulation.state.pods if wanted in (pod.key, pod.metadata.name)]
    exact = [pod for pod in found if pod.key == wanted]
    found = exact or found
    if len(found) > 1:
        keys = ", ".join(sorted(pod.key for pod in found))
        raise UsageError(f'several pods are named "{wanted}": {keys}; give the namespace too')
    if not found:
        raise UsageError(_no_such_pod(simulation, wanted))
    pod = simulation.catalog.info(found[0])
    if pod.spec.scheduler_name not in simulation.frameworks:
        names = ", ".join(sorted(simulation.frameworks))
        raise UsageError(
            f'{pod.key} is for the scheduler "{pod.spec.scheduler_name}", which is not in the '
            f"configuration (it has {names})"
        )
    return pod


def _no_such_pod(simulation: Simulation, wanted: str) -> str:
    from difflib import get_close_matches

    keys = [pod.key for pod in simulation.state.pods]
    names = {key.rpartition("/")[2]: key for key in keys}
    near = get_close_matches(wanted, [*keys, *names], n=3)
    shown = ", ".join(dict.fromkeys(names.get(name, name) for name in near))
    text = f'no pod "{wanted}" in the state ({len(keys)} pods)'
    return f"{text}; did you mean {shown}?" if shown else text
