#!/usr/bin/env python3
"""How fast ksched's own loop is on one state: pods per second, memory.

    run.py STATE [--kubernetes-version MINOR] [--percentage N] [--no-cache] [--profile]

The time is that of the loop over the pending pods alone, as the oracle's `bench` counts it; reading
the state is reported separately. Prints JSON.
"""

import argparse
import json
import resource
import time
from typing import Any

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.discovery import discover
from ksched_cli.kube.versions import MINORS, NEWEST, release_of
from ksched_cli.plugins import IN_TREE, registry_of

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: {percentage}
"""
MIB = 1024


def measure(
    state: str, percentage: int, cache_answers: bool = True, minor: str = NEWEST
) -> dict[str, Any]:
    """percentage: 0 adapts to the number of nodes, 100 scores them all."""
    foreign = [entry for entry in discover(IN_TREE).registry.values() if entry.is_foreign]
    registry = registry_of(release_of(minor), foreign)
    text = CONFIGURATION.format(percentage=percentage)
    configuration = load_configuration(text, "benchmark", registry)
    start = time.perf_counter()
    cluster = load_state([state])
    loaded = time.perf_counter()
    simulation = Simulation(cluster, configuration, registry, Options(cache_answers=cache_answers))
    pods = len(simulation.pending())
    ready, cpu_ready = time.perf_counter(), time.process_time()
    run = simulation.run()
    seconds, cpu_seconds = time.perf_counter() - ready, time.process_time() - cpu_ready
    return {
        "nodes": len(cluster.nodes),
        "pods": pods,
        "placed": len(run.placements),
        "evicted": len(run.evicted),
        "loadSeconds": round(loaded - start, 3),
        "seconds": round(seconds, 4),
        "cpuSeconds": round(cpu_seconds, 4),
        "podsPerSecond": round(pods / seconds, 1),
        "peakMiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // MIB,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("state")
    parser.add_argument("--percentage", type=int, default=0)
    parser.add_argument("--no-cache", action="store_true", help="ask every plugin every time")
    parser.add_argument(
        "--profile", action="store_true", help="where the time goes, by step and function"
    )
    parser.add_argument("--kubernetes-version", choices=MINORS, default=NEWEST)
    options = parser.parse_args()
    arguments = (
        options.state,
        options.percentage,
        not options.no_cache,
        options.kubernetes_version,
    )
    if not options.profile:
        print(json.dumps(measure(*arguments)))
        return
    import cProfile
    import pstats

    with cProfile.Profile() as profile:
        measure(*arguments)
    stats = pstats.Stats(profile)
    stats.sort_stats("cumulative").print_stats("ksched_cli/(engine|framework)", 40)
    stats.sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    main()
