"""The plugins' answers to the requests that kube-scheduler sends an extender.

Upstream: pkg/scheduler/extender.go, and k8s.io/kube-scheduler/extender/v1/types.go.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.effective import Configuration, Profile
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.engine.engine import Options
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.extender_runner import SCALE
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.errors import UsageError
from ksched_cli.extenders import wire
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.preemption_trial import PreemptionTrial
from ksched_cli.framework.registry import Registry
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import Code
from ksched_cli.kube.shown_yaml import block_yaml
from ksched_cli.serve.listening import Listening
from ksched_cli.serve.objects import PodReader

# The points whose plugins an extender can speak for, and the one that every profile has.
FILTERS, SCORES = ("preFilter", "filter"), ("preScore", "score")
_QUEUE_SORT = "queueSort"
UNHEARD_OF = "node(s) that the extender does not know yet"
# Other objects than pods count after so long at the latest: to take them in takes a moment.
RENEW_SECONDS = 1.0
# So many pods are decoded before what is remembered of their templates is given up.
MOST_PODS = 50_000


def _ignore(uid: str) -> None:
    """Wait for nothing."""


class PluginFailureError(Exception):
    """A plugin failed, or its answer is invalid."""


def served(configuration: Configuration, registry: Registry) -> Configuration:
    """Return the configuration with nothing but the Filter and Score plugins that are not in-tree:
    those that are, kube-scheduler runs itself. Raises UsageError where none is left."""
    profiles = []
    for profile in configuration.profiles:
        plugins = {
            point: tuple(
                ref for ref in profile.plugins.get(point, ()) if registry[ref.name].is_foreign
            )
            for point in (*FILTERS, *SCORES)
        }
        own = {_QUEUE_SORT: profile.plugins[_QUEUE_SORT], **plugins}
        profiles.append(structs.replace(profile, plugins=own))
    if not any(verbs(profile) for profile in profiles):
        raise UsageError(
            "no plugin filters or scores: name one with --plugin, or enable an installed one in "
            "--config"
        )
    return structs.replace(configuration, profiles=tuple(profiles), extenders=())


def verbs(profile: Profile) -> tuple[str, ...]:
    """Return the verbs that an extender with the profile's plugins must answer."""
    filters = any(profile.plugins[point] for point in FILTERS)
    scores = bool(profile.plugins["score"])
    return (*(("filter", "preempt") if filters else ()), *(("prioritize",) if scores else ()))


def weight_of(configuration: Configuration) -> int:
    """Return the weight of the extender, whose 10 is a score of 100 by every plugin of a profile; 0
    where no plugin scores."""
    return max(
        sum(profile.weights[ref.name] for ref in profile.plugins["score"])
        for profile in configuration.profiles
    )


@dataclass(slots=True)
class PluginExtender:
    """Answers requests about a cluster. Not for several threads; plugins' time is limited in the
    main one only.

    state: the objects as they are now; called to begin with, and where they have changed
    settle: called with the uid of the pod of each request, before it is answered
    """

    state: Callable[[], ClusterState]
    configuration: Configuration
    registry: Registry
    options: Options
    settle: Callable[[str], None] = _ignore
    reader: PodReader = field(default_factory=PodReader)
    _cluster: ReplayCluster = field(init=False)
    _renewed: float = 0.0
    _decoded: int = 0

    def __post_init__(self) -> None:
        self._cluster = ReplayCluster(self.state(), self.configuration, self.registry, self.options)
        self._nominate_all()

    # -- the cluster ------------------------------------------------------------------------------

    @property
    def counts(self) -> tuple[int, int]:
        """Return how many nodes there are, and how many pods on them."""
        return len(self._cluster.snapshot), len(self._cluster.bound)

    def renew(self, now: float | None = None) -> bool:
        """Load all objects again, unless that was a moment ago. Return whether it did."""
        now = time.monotonic() if now is None else now
        if now - self._renewed < RENEW_SECONDS:
            return False
        self._cluster.renew(self.state())
        self._nominate_all()
        self._renewed, self._decoded = now, 0
        return True

    def _nominate_all(self) -> None:
        for pod in self._cluster.objects.pods:
            self._nominate(pod)

    def _nominate(self, pod: Pod) -> None:
        node = "" if pod.node_name or pod.finished else pod.status.nominated_node_name
        self._cluster.engine.nominator.renew(self._cluster.info(pod), node)

    def change_pod(self, before: Pod | None, after: Pod | None) -> None:
        """Apply a change of a pod; None where there was or is no pod."""
        cluster = self._cluster
        if before is not None:
            cluster.strays.pop(before.key, None)
            cluster.remove(before.key)
            info = cluster.info(before)
            cluster.engine.nominator.clear(info)
            if after is None or after.uid != before.uid:
                cluster.note_departure(info)
        if after is None:
            return
        self._decoded += 1
        info = cluster.info(after)
        cluster.note_arrival(info)
        if after.node_name and not after.finished:
            cluster.add(info)
        self._nominate(after)

    # -- requests ---------------------------------------------------------------------------------

    def filter(self, body: bytes) -> tuple[str, bytes]:
        """Return the uid of the pod where a node may take it, else ""; and the answer. Raises
        msgspec.DecodeError, PluginFailureError."""
        received = wire.received_nodes(body)
        framework, pod = self._about(received.pod, received.names)
        rows, failed = self._rows(received.names)
        pipeline = self._cluster.engine.pipeline
        pipeline.placement = rows
        try:
            evaluation = pipeline.filter(framework, pod, Mode.ALL_NODES)
        finally:
            pipeline.placement = None
        self._check(evaluation.error)
        snapshot = self._cluster.snapshot
        passing = set(evaluation.feasible.names())
        unresolvable: dict[str, str] = {}
        for row in rows.tolist():
            name = snapshot.names[row]
            if name not in passing:
                status = evaluation.statuses.at(row)
                final = status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
                (unresolvable if final else failed)[name] = status.message
        return pod.uid if passing else "", wire.filter_answer(
            received, passing, failed, unresolvable
        )

    def prioritize(self, body: bytes) -> tuple[str, bytes]:
        """Prioritize as `filter` does. An unknown node has the score 0."""
        received = wire.received_nodes(body)
        framework, pod = self._about(received.pod, received.names)
        rows, unknown = self._rows(received.names)
        state, statuses = CycleState(), NodeStatuses(self._cluster.snapshot)
        scores = dict.fromkeys(unknown, 0)
        if self._pre_filter(framework, state, pod):
            nodes = Nodes(self._cluster.snapshot, rows)
            evaluation = Evaluation(framework, pod, Mode.ALL_NODES, state, statuses, nodes)
            self._cluster.engine.pipeline.score(evaluation)
            self._check(evaluation.error)
            totals = evaluation.totals
            assert totals is not None, "there is no error"
            scale = SCALE * max(weight_of(self.configuration), 1)
            # Halves are rounded up, in whole numbers.
            tens = (2 * totals + scale) // (2 * scale)
            scores |= zip(nodes.names(), tens.tolist(), strict=True)
        else:
            scores |= dict.fromkeys(received.names, 0)
        return pod.uid, wire.priorities_answer(scores.items())

    def preempt(self, body: bytes) -> tuple[str, bytes]:
        """Return the candidates that Filter accepts once their victims are gone, unchanged."""
        received = wire.received_victims(body)
        framework, pod = self._about(received.pod, received.victims)
        snapshot, state = self._cluster.snapshot, CycleState()
        accepted: dict[str, wire.MetaVictims] = {}
        if self._pre_filter(framework, state, pod):
            trial = PreemptionTrial(framework.handle, state, pod, NodeStatuses(snapshot))
            for node, victims in received.victims.items():
                row = snapshot.row.get(node)
                if row is None:
                    continue
                leaving = [other for other in snapshot.pods[row] if other.uid in victims.uids]
                status = trial.status(node, without=leaving)
                if status.is_success:
                    accepted[node] = victims
                elif not status.is_rejected:
                    self._check(status.message)
        self._check("")
        return "", wire.preemption_answer(accepted)

    # -- what the requests have in common ---------------------------------------------------------

    def _about(self, text: msgspec.Raw, nodes: Iterable[str]) -> tuple[Framework, PodInfo]:
        """The profile and the pod of a request; the cluster has its nodes, where there are such."""
        self._cluster.engine.caller.defects.clear()
        self._decoded += 1
        pod = structs.replace(self.reader.read(text), node_name="")
        self.settle(pod.uid)
        rows = self._cluster.snapshot.row
        if self._decoded > MOST_PODS or not all(name in rows for name in nodes):
            self.renew()
        frameworks = self._cluster.engine.frameworks
        framework = frameworks.get(pod.spec.scheduler_name) or next(iter(frameworks.values()))
        return framework, self._cluster.info(pod)

    def _rows(self, names: Iterable[str]) -> tuple[Rows, dict[str, str]]:
        """The rows of the nodes, and why the others fail, which are not known."""
        row_of = self._cluster.snapshot.row
        rows, failed = [], {}
        for name in names:
            row = row_of.get(name)
            if row is None:
                failed[name] = UNHEARD_OF
            else:
                rows.append(row)
        return np.array(rows, dtype=np.intp), failed

    def _pre_filter(self, framework: Framework, state: CycleState, pod: PodInfo) -> bool:
        """Return whether the pod passes PreFilter, which hands `state` on to what follows."""
        status = framework.pre_filtering.run(state, pod).status
        if not status.is_success and not status.is_rejected:
            self._check(status.message)
        return status.is_success

    def _check(self, error: str) -> None:
        """Check that no plugin failed. Raises PluginFailureError for an error, and where a plugin
        failed aside."""
        defects = self.defects()
        if error or defects:
            raise PluginFailureError(error or next(iter(defects)))

    def defects(self) -> Mapping[str, str]:
        """Return the defects of plugins in the last request → the traceback."""
        return {
            f"plugin {each.plugin} failed in {each.point}: {each.problem}": each.detail
            for each in self._cluster.engine.caller.defects.values()
        }


TOKEN = "TOKEN"  # nosec B105  # stands for the token, which is not printed


def fragment(configuration: Configuration, listening: Listening, token_file: str) -> str:
    """YAML of a KubeSchedulerConfiguration with nothing but the extender."""
    offered = {verb for profile in configuration.profiles for verb in verbs(profile)}
    url = listening.url(listening.port)
    if listening.token:
        url = url.replace("://", f"://ksched:{TOKEN}@")
    extender: dict[str, Any] = {"urlPrefix": url}
    extender |= {
        f"{verb}Verb": verb for verb in ("filter", "prioritize", "preempt") if verb in offered
    }
    if "prioritize" in offered:
        extender["weight"] = weight_of(configuration)
    extender |= {"nodeCacheCapable": True, "httpTimeout": "5s", "ignorable": False}
    if listening.certificate:
        extender |= {"enableHTTPS": True, "tlsConfig": {"caFile": listening.certificate}}
    document = {"apiVersion": API_VERSION, "kind": KIND, "extenders": [extender]}
    text = block_yaml(document)
    if listening.token:
        text = f"# {TOKEN} stands for what {token_file} holds.\n{text}"
    return text.rstrip("\n")
