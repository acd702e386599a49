"""Helpers for tests, of ksched and of plugins: small clusters, and runs of plugins on them.

    from ksched_cli.testing import cluster, node, pod, scores, simulate, verdicts

    state = cluster(node("small", cpu="1"), node("large", cpu="8"), pod("web", cpu="2"))
    assert simulate(state).placements == {"default/web": "large"}
    assert not verdicts("NodeResourcesFit", state)["small"].is_success
    assert scores(MyPlugin, state, args={"weight": 3}) == {"large": 100, "small": 0}

`node` and `pod` make manifests, plain mappings as a state file has them, and you can mix them
with any other manifest. `cluster` reads them like a file, with all the API server's defaults. A
state may be the path of a file or a folder, or a list of manifests, too:

    assert simulate("examples/first-cluster/cluster.yaml").placements["default/web-1"] == "birch"
    assert simulate([node("n", cpu="1"), pod("web", cpu="1")]).placements == {"default/web": "n"}

Defaults are the command line's: the newest kubelet of the nodes says whose rules decide, else the
newest minor that ksched knows; the pods that workloads of a path or a list lack are made. A state
of `cluster` is taken as it is. An unexpected exception in a plugin fails the test, with its
traceback.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, TypeAlias

from ksched_cli.analysis import explain
from ksched_cli.cluster.loading.collector import Collector
from ksched_cli.cluster.loading.sources import Source, documents
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.defaults import profile_with_plugins
from ksched_cli.config.load import load_configuration
from ksched_cli.config.types import API_VERSION, DEFAULT_SCHEDULER_NAME, KIND
from ksched_cli.engine.engine import Options
from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.discovery import entry_of
from ksched_cli.framework.interface import Plugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import PluginError, Status
from ksched_cli.kube.versions import Release, inferred_release, release_of
from ksched_cli.plugins import registry_of
from ksched_cli.run.inputs import Inputs
from ksched_cli.scenario.workloads import with_workloads

Manifest: TypeAlias = dict[str, Any]
PluginClass: TypeAlias = type[Plugin]
Config: TypeAlias = str | Mapping[str, Any]
State: TypeAlias = ClusterState | str | PathLike[str] | Sequence[Mapping[str, Any]]

# The origin shown for plugins that a test passes in.
ORIGIN = "the test"

# Every profile needs these two.
_REQUIRED_PLUGINS = ("PrioritySort", "DefaultBinder")


class _EveryKind(Container[str]):
    """Contains every kind: a test's state keeps all objects, whatever plugins read."""

    def __contains__(self, kind: object) -> bool:
        return True


class DefectError(AssertionError):
    """Plugins raised unexpected exceptions. The text is their tracebacks."""


# -- a cluster ------------------------------------------------------------------------------------


def node(
    name: str,
    cpu: str | int = "4",
    memory: str | int = "16Gi",
    pods: int = 110,
    *,
    resources: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[str | Mapping[str, Any]] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Manifest:
    """Return a Node.

    resources: allocatable besides cpu, memory and pods, as {"example.com/gpu": 2}
    taints:    as kubectl writes them, "key=value:NoSchedule" or "key:NoExecute"; or as in manifests
    images:    image name → size in bytes
    status:    replaces the fields given here
    """
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})}
    image_list = [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()]
    spec: Manifest = {"taints": [_taint(taint) for taint in taints]}
    if unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": spec,
        "status": {
            "allocatable": {key: str(amount) for key, amount in allocatable.items()},
            "images": image_list,
            **(status or {}),
        },
    }


def pod(
    name: str = "p",
    namespace: str = "default",
    *,
    cpu: str | int | None = None,
    memory: str | int | None = None,
    requests: Mapping[str, str | int] | None = None,
    image: str = "img",
    ports: Iterable[int | Mapping[str, Any]] = (),
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node: str = "",
    priority: int | None = None,
    tolerations: Iterable[str | Mapping[str, Any]] = (),
    node_selector: Mapping[str, str] | None = None,
    affinity: Mapping[str, Any] | None = None,
    gates: Iterable[str] = (),
    profile: str = DEFAULT_SCHEDULER_NAME,
    metadata: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Manifest:
    """Return a Pod of one container: pending, or running where `node` is given.

    requests:    of the container, besides cpu and memory
    ports:       host ports; a number, or a container port as in a manifest
    tolerations: "key=value:Effect", "key:Effect" or "key", of any value; "" for all; or as in a
                 manifest
    affinity:    as in a manifest
    profile:     the schedulerName
    metadata, spec, status: replace the fields given here
    """
    amounts = {"cpu": cpu, "memory": memory, **(requests or {})}
    container = {
        "name": "c",
        "image": image,
        "ports": [_port(port) for port in ports],
        "resources": {"requests": {k: str(v) for k, v in amounts.items() if v is not None}},
    }
    fields: Manifest = {
        "nodeName": node,
        "priority": priority,
        "tolerations": [_toleration(toleration) for toleration in tolerations],
        "nodeSelector": dict(node_selector or {}),
        "affinity": affinity,
        "schedulingGates": [{"name": gate} for gate in gates],
        "schedulerName": profile,
    }
    meta = {"labels": labels, "annotations": annotations}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            **_without_empty(meta),
            **(metadata or {}),
        },
        "spec": {"containers": [container], **_without_empty(fields), **(spec or {})},
        "status": {"phase": "Running" if node else "Pending", **(status or {})},
    }


def _without_empty(fields: Mapping[str, Any]) -> Manifest:
    return {key: value for key, value in fields.items() if value not in (None, "", [], {})}


def _port(port: int | Mapping[str, Any]) -> Mapping[str, Any]:
    return {"containerPort": port, "hostPort": port} if isinstance(port, int) else port


def _taint(taint: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(taint, str):
        return taint
    key_and_value, _, effect = taint.rpartition(":")
    key, _, value = key_and_value.partition("=")
    return {"key": key, "value": value, "effect": effect}


def _toleration(toleration: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(toleration, str):
        return toleration
    key_and_value, _, effect = toleration.partition(":")
    key, equals, value = key_and_value.partition("=")
    fields = {"key": key, "operator": "Equal" if equals else "Exists", "effect": effect}
    return fields | ({"value": value} if equals else {})


def cluster(*objects: Mapping[str, Any]) -> ClusterState:
    """Return the manifests as a loaded state. Raises InputError for what no state file may hold."""
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
    collector = Collector(reads=_EveryKind())
    for document in documents(Source("the test's cluster", content)):
        collector.add(document)
    return collector.finish()


# -- whole runs -----------------------------------------------------------------------------------


def simulation(
    state: State,
    config: Config | None = None,
    plugins: Sequence[PluginClass] = (),
    *,
    kubernetes_version: str = "",
    feature_gates: str = "",
    min_compatibility_version: str = "",
) -> Simulation:
    """Return a simulation that records all details.

    state:   of `cluster`, the path of a file or a folder, or manifests
    config:  a KubeSchedulerConfiguration, as text or as plain data, where apiVersion and kind may
             be left out
    plugins: are registered; without a configuration also enabled in the default profile, at every
             point they extend
    kubernetes_version: the minor whose rules are followed, as "1.36"; "" is that of the kubelets
    feature_gates: as those of kube-scheduler, "A=true,B=false"
    min_compatibility_version: as that of kube-scheduler, "1.37"

    Raises InputError where the configuration is wrong, UsageError for gates that are refused,
    UnfitError for a class that is no plugin.
    """
    entries = [entry_of(plugin.name, plugin, ORIGIN) for plugin in plugins]
    if config is None and plugins:
        config = profile_with_plugins(entries)
    state = _loaded(state)
    release = _release(state, kubernetes_version, feature_gates, min_compatibility_version)
    registry = registry_of(release, entries)
    configuration = load_configuration(_text(config), "the test's configuration", registry)
    options = Options(detailed=True, checks_trials=True)
    return Simulation(state, configuration, registry, options)


def _loaded(state: State) -> ClusterState:
    if isinstance(state, ClusterState):
        return state
    if isinstance(state, str | PathLike):
        return with_workloads(Inputs().load((fspath(state),), _EveryKind()))
    return with_workloads(cluster(*state))


def _release(state: ClusterState, minor: str, gates: str, compatibility: str) -> Release:
    if minor:
        return release_of(minor, gates, compatibility=compatibility)
    kubelets = {node.status.node_info.kubelet_version for node in state.nodes}
    return inferred_release(kubelets, gates, compatibility, server=state.server_version)


def simulate(
    state: State,
    config: Config | None = None,
    plugins: Sequence[PluginClass] = (),
    *,
    kubernetes_version: str = "",
    feature_gates: str = "",
    min_compatibility_version: str = "",
) -> RunRecord:
    """Schedule all pending pods; the other arguments as `simulation` takes them."""
    run = simulation(
        state,
        config,
        plugins,
        kubernetes_version=kubernetes_version,
        feature_gates=feature_gates,
        min_compatibility_version=min_compatibility_version,
    )
    record = run.run()
    check(run)
    return record


def run_cycle(
    state: State,
    config: Config | None = None,
    plugins: Sequence[PluginClass] = (),
    *,
    pod: str = "",
    kubernetes_version: str = "",
) -> Attempt:
    """Return one attempt for one pod. pod: name or namespace/name; "" for the only pending one."""
    run = simulation(state, config, plugins, kubernetes_version=kubernetes_version)
    run.queue()  # makes the nominations that the state has
    info = find(run, pod)
    attempt = run.cycle.attempt(run.frameworks[info.spec.scheduler_name], info).attempt
    check(run)
    return attempt


def explanation(
    state: State,
    config: Config | None = None,
    plugins: Sequence[PluginClass] = (),
    *,
    pod: str = "",
    kubernetes_version: str = "",
) -> explain.Explanation:
    """The record of `ksched explain` for one pod; the arguments are those of `run_cycle`."""
    run = simulation(state, config, plugins, kubernetes_version=kubernetes_version)
    record = explain.explain(run, find(run, pod))
    check(run)
    return record


def check(run: Simulation) -> None:
    """Check that no plugin failed in a run. Raises DefectError where a plugin raised an unexpected
    exception."""
    if run.caller.defects:
        raise DefectError("\n".join(defect.detail for defect in run.caller.defects.values()))


def find(run: Simulation, pod: str = "") -> PodInfo:
    """Return a pod of the state, by name or namespace/name; "" for the only one that is pending."""
    named = [other for other in run.state.pods if pod in (other.key, other.name)]
    infos = [run.catalog.info(other) for other in named] if pod else run.pending()
    if len(infos) != 1:
        text = f'"{pod}"' if pod else "to ask about"
        raise LookupError(f"{len(infos)} pods {text} in the state, expected one")
    return infos[0]


# -- one plugin -----------------------------------------------------------------------------------


def verdicts(
    plugin: str | PluginClass,
    state: State,
    *,
    pod: str = "",
    args: Mapping[str, Any] | None = None,
    kubernetes_version: str = "",
) -> dict[str, Status]:
    """Node name → the status of the plugin's PreFilter and Filter, in a profile of its own.

    plugin: a class, or the name of an in-tree one; args: as in a configuration
    """
    run, framework, info = _alone(plugin, state, pod, args, kubernetes_version)
    cycle = CycleState()
    outcome = framework.pre_filtering.run(cycle, info)
    check(run)
    if not outcome.status.is_success:
        return dict.fromkeys(run.snapshot.names, outcome.status)
    nodes = Nodes(run.snapshot)
    result = framework.filtering.run_with_nominated_pods(cycle, info, nodes)
    check(run)
    statuses = {name: result.statuses[i] for name, i in zip(nodes.names(), result.ids, strict=True)}
    if outcome.node_names is not None:
        excluded = Status.unresolvable("left out by PreFilter").by(_name(plugin))
        statuses |= {name: excluded for name in statuses if name not in outcome.node_names}
    return statuses


def scores(
    plugin: str | PluginClass,
    state: State,
    *,
    pod: str = "",
    args: Mapping[str, Any] | None = None,
    normalized: bool = True,
    kubernetes_version: str = "",
) -> dict[str, int]:
    """Node name → the plugin's score, as if every node were feasible; without the plugin's weight.

    Empty where its PreScore skips. plugin, pod and args as `verdicts` takes them. Raises
    PluginError where the plugin fails, or scores outside 0 to 100 after normalising.
    """
    run, framework, info = _alone(plugin, state, pod, args, kubernetes_version)
    cycle = CycleState()
    framework.pre_filtering.run(cycle, info)
    nodes = Nodes(run.snapshot)
    try:
        plugin_scores = framework.scoring.run(cycle, info, nodes)
    except PluginError:
        check(run)
        raise
    if not plugin_scores:
        return {}
    column = plugin_scores[0].normalized if normalized else plugin_scores[0].raw
    return dict(zip(nodes.names(), column.tolist(), strict=True))


def _alone(
    plugin: str | PluginClass,
    state: State,
    pod: str,
    args: Mapping[str, Any] | None,
    kubernetes_version: str,
) -> tuple[Simulation, Framework, PodInfo]:
    """Return the plugin in a profile of its own, whatever profile the pod names."""
    name = _name(plugin)
    enabled = [{"name": enabled_name} for enabled_name in dict.fromkeys((*_REQUIRED_PLUGINS, name))]
    profile: Manifest = {
        "plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
    }
    if args is not None:
        profile["pluginConfig"] = [{"name": name, "args": args}]
    plugins = () if isinstance(plugin, str) else (plugin,)
    config = {"profiles": [profile]}
    run = simulation(state, config, plugins, kubernetes_version=kubernetes_version)
    run.queue()  # makes the nominations that the state has
    return run, run.frameworks[DEFAULT_SCHEDULER_NAME], find(run, pod)


def _name(plugin: str | PluginClass) -> str:
    return plugin if isinstance(plugin, str) else plugin.name


def _text(config: Config | None) -> str | None:
    if config is None or isinstance(config, str):
        return config
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, **config})
