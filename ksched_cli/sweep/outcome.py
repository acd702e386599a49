"""A run, and what comes of it as plain data: the part of a row that is not its parameters."""

from __future__ import annotations

from hashlib import sha256
from time import perf_counter
from typing import Any

from ksched_cli.analysis.usage import nodes_used, utilization
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import KschedError, PluginDefectError
from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.materials import DIGEST_LENGTH, Run
from ksched_cli.sweep.metrics import plugin_figures

Outcome = dict[str, Any]

OK, ERROR, TIMEOUT, LOST = "ok", "error", "timeout", "lost"
DIGITS = 6


def perform(environment: RunEnvironment, run: Run) -> Outcome:
    """Whatever goes wrong in the run is in its outcome."""
    begin = perf_counter()
    try:
        outcome = _figures(environment, run)
    except KschedError as error:
        outcome = failure(str(error), isinstance(error, PluginDefectError))
    except Exception as error:
        outcome = failure(f"{type(error).__name__}: {error}", True)
    outcome["seconds"] = round(perf_counter() - begin, DIGITS)
    return outcome


def failure(message: str, is_defect: bool = False, status: str = ERROR) -> Outcome:
    """is_defect: of a plugin or of ksched, not of what the run is made from"""
    return {"status": status, "error": message, "defect": is_defect}


def _figures(environment: RunEnvironment, run: Run) -> Outcome:
    """Raises KschedError."""
    simulation = environment.simulation(run)
    try:
        record = simulation.run()
    finally:
        simulation.close()
    if record.failed:
        return failure(_defect_of(simulation), True)
    metrics = plugin_figures(simulation)
    for metric in environment.metrics:
        metrics |= metric.figures(simulation, record)
    snapshot = simulation.snapshot
    return {
        "status": OK,
        "placed": len(record.placements),
        "pending": len(record.pending),
        "gated": len(record.gated),
        "evicted": len(record.evicted),
        "nodesUsed": nodes_used(snapshot),
        "utilization": {
            resource: {
                "mean": round(share.mean, DIGITS),
                "max": round(share.max, DIGITS),
                "stddev": round(share.stddev, DIGITS),
            }
            for resource, share in utilization(snapshot).items()
        },
        "placements": placements_digest(record),
        "metrics": metrics,
    }


def _defect_of(simulation: Simulation) -> str:
    defects = simulation.caller.defects.values()
    texts = [f"plugin {item.plugin} failed in {item.point}: {item.problem}" for item in defects]
    return "; ".join(texts) or "a plugin failed"


def placements_digest(record: RunRecord) -> str:
    """The same where the same pods are on the same nodes, and the same ones are evicted."""
    lines = sorted(f"{pod} {node}\n" for pod, node in record.placements.items())
    lines += sorted(f"evicted {eviction.pod}\n" for eviction in record.evicted)
    return sha256("".join(lines).encode()).hexdigest()[:DIGEST_LENGTH]
