"""Warnings about an open Run, at one instant or over time, besides its answer: lines, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ksched_cli.cluster.loading.state_warnings import budget_warnings, skipped_warnings
from ksched_cli.engine.engine import Engine
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.resource_claims import may_allocate_devices
from ksched_cli.framework.status import Defect

if TYPE_CHECKING:
    from ksched_cli.engine.replay.replay import Replay

MAX_PODS = 3  # that the line about a plugin's failure names


def engine_of(opened: Simulation | Replay) -> Engine:
    return opened if isinstance(opened, Simulation) else opened.cluster.engine


def lines_before(*opened: Simulation | Replay) -> list[str]:
    """Return the warnings before any of these runs: what the states lack, and what of them is never
    read."""
    lines: dict[str, None] = {}
    for engine in map(engine_of, opened):
        state = engine.state
        lines |= dict.fromkeys(skipped_warnings(state.skipped))
        lines |= dict.fromkeys(state.warnings)
        # Those about devices come only where a pending pod may get some: checking selectors takes
        # time.
        if any(may_allocate_devices(pod, engine.handle) for pod in engine.pending()):
            from ksched_cli.plugins.dynamic_resources.features import features_of
            from ksched_cli.plugins.dynamic_resources.object_checks import device_problems

            release = engine.configuration.release
            problems = device_problems(state, features_of(release), release.rules)
            lines |= dict.fromkeys(problems)
        if engine.pod_groups is not None:
            lines |= dict.fromkeys(engine.pod_groups.warnings)
    return list(lines)


def lines_after(opened: Simulation | Replay) -> list[str]:
    """Return the warnings after a run: missing budgets, and the plugins that failed."""
    defects = engine_of(opened).caller.defects.values()
    return [*budget_lines(opened), *map(defect_line, defects)]


def budget_lines(opened: Simulation | Replay) -> list[str]:
    """After a run: budgets that the state lacks and that might have saved pods, where some were
    evicted."""
    if isinstance(opened, Simulation):
        evicts = bool(opened.scheduler.evicted)
    else:
        evicts = bool(opened.log.counts.evicted)
    return [*budget_warnings(engine_of(opened).state)] if evicts else []


def defect_line(defect: Defect) -> str:
    """Return a plugin's failure, and the first of the pods that it touched."""
    pods = list(defect.pods)
    more = f" and {len(pods) - MAX_PODS:,} more" if len(pods) > MAX_PODS else ""
    touched = f" (of {', '.join(pods[:MAX_PODS])}{more})" if pods else ""
    return f"plugin {defect.plugin} failed in {defect.point}: {defect.problem}{touched}"
