"""Replays of short timelines, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.defaults import profile_with_plugins
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.replay.records import Recreation
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.framework.interface import Plugin
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.scenario.node_groups import AutoscalerSettings, read_autoscaler
from ksched_cli.scenario.prices import read_prices
from ksched_cli.scenario.timeline import read_timeline

Plain = dict[str, Any]


def node(name: str, cpu: str = "1", **metadata: Any) -> Plain:
    capacity = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **metadata},
        "status": {"capacity": capacity},
    }


def pod(name: str, cpu: str = "1", **spec: Any) -> Plain:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }


CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}


def state_of(folder: Path, *objects: Plain) -> ClusterState:
    path = folder / "state.json"
    path.write_bytes(msgspec.json.encode(list(objects)))
    return load_state([str(path)], reads=POD_GROUP_KINDS)


def cluster_of(
    state: ClusterState,
    gates: str = "",
    options: Options | None = None,
    extenders: list[Plain] | None = None,
    plugins: Sequence[type[Plugin]] = (),
    minor: str = "1.34",
    **config: Any,
) -> ReplayCluster:
    """plugins: beside the default ones. config: fields of the configuration"""
    entries = [PluginEntry.of(plugin, "the test") for plugin in plugins]
    registry = registry_of(release_of(minor, gates), entries)
    data = {**CONFIGURATION, **(profile_with_plugins(entries) if entries else {}), **config}
    text = json.dumps({**data, "extenders": extenders or []})
    configuration = load_configuration(text, "", registry)
    return ReplayCluster(state, configuration, registry, options or Options())


def autoscaler_of(folder: Path, state: ClusterState, document: Plain) -> AutoscalerSettings:
    path = folder / "autoscaler.json"
    header = {"apiVersion": "ksched/v1", "kind": "Autoscaler"}
    path.write_bytes(msgspec.json.encode({**header, **document}))
    return read_autoscaler(str(path), state)


def replay(folder: Path, objects: list[Plain], events: list[Plain], **options: Any) -> Replay:
    """As `replay_of`, to its end."""
    run = replay_of(folder, objects, events, **options)
    run.run()
    return run


def replay_of(  # what a test may say of a replay
    folder: Path,
    objects: list[Plain],
    events: list[Plain],
    *,
    gates: str = "",
    minor: str = "1.34",
    autoscaler: Plain | None = None,
    extenders: list[Plain] | None = None,
    plugins: Sequence[type[Plugin]] = (),
    **header: Any,
) -> Replay:
    """The events on a cluster of the objects, not begun yet, with its attempts traced.

    autoscaler: the content of a file of that kind; header: fields of the timeline, `prices` as
    --price has them, and the labels of ReplayOptions
    """
    state, prices = state_of(folder, *objects), read_prices(header.pop("prices", ()))
    labels = {name: header.pop(name, "") for name in ("job_label", "user_label")}
    scaling = None if autoscaler is None else autoscaler_of(folder, state, autoscaler)
    path = folder / "timeline.json"
    document = {"apiVersion": "ksched/v1", "kind": "Timeline", **header, "events": events}
    path.write_bytes(msgspec.json.encode(document))
    timeline = read_timeline(str(path), state, reads=POD_GROUP_KINDS)
    options = ReplayOptions(
        timeline.start,
        timeline.until,
        **labels,
        traces=True,
        keeps_records=True,
        autoscaler=scaling,
        prices=prices,
        recreation=Recreation(header.get("evicted", Recreation.GONE)),
    )
    cluster = cluster_of(state, gates, extenders=extenders, plugins=plugins, minor=minor)
    return Replay(cluster, timeline.events(), options, share_read=timeline.share_read)


def tries(run: Replay) -> list[tuple[float, str, str]]:
    """Each attempt's seconds, the pod's name, and its node or what came of it."""
    return [
        (attempt.at / 1e6, attempt.pod.partition("/")[2], attempt.node or attempt.result)
        for attempt in run.log.attempts
    ]
