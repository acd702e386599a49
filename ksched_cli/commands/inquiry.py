"""From the options that all commands share to a simulation that answers questions."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ksched_cli.cluster.load import load_state
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.commands.configuration import read_configuration
from ksched_cli.commands.discovered import registry
from ksched_cli.commands.output import warn
from ksched_cli.engine.cycle import TieBreak, first_by_name
from ksched_cli.engine.run import Options, Simulation
from ksched_cli.errors import UsageError
from ksched_cli.plugins.not_simulated import missed_by


def open_simulation(
    states: Sequence[str],
    config: str | None,
    options: Options | None = None,
) -> Simulation:
    """Reads what the options name; warnings go to standard error, a line each."""
    known = registry()
    state = load_state(states)
    simulation = Simulation(state, read_configuration(config, known), known, options or Options())
    if state.skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(state.skipped.items()))
        warn(f"skipped what no plugin reads: {kinds}")
    for line in state.warnings:
        warn(line)
    missed = missed_by(simulation.pending())
    for plugin, pods in sorted(missed.items()):
        warn(f"{plugin} is not simulated yet; {pods} pending pods would need it")
    return simulation


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
