"""Workloads made into pods: those that their controllers would make and the state does not hold.

A CronJob makes none: when its time comes, nobody knows. Applying one is one run of it.

Upstream: pkg/controller/{replicaset,statefulset,daemon,job,cronjob,deployment}.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct, field

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.custom_objects import Plain, PodMaker
from ksched_cli.cluster.loading.state_warnings import state_warnings
from ksched_cli.cluster.node_affinity import NODE_NAME_FIELD, required_node_affinity
from ksched_cli.cluster.objects import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    LabelSelector,
    Node,
    Pod,
    ReplicaSet,
    StatefulSet,
    Workload,
)
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import tolerated
from ksched_cli.errors import InputError, PluginDefectError, first_names
from ksched_cli.framework.failures import FAILURES, described, raise_users_interrupt
from ksched_cli.kube.generated_names import SAFE_ALPHABET, generated_names
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.selectors import SelectorError
from ksched_cli.scenario.objects import load_objects, with_objects
from ksched_cli.scenario.owned_pods import HASH_LABEL, OwnedPods
from ksched_cli.scenario.pod_claims import default_class, make_claims
from ksched_cli.scenario.pods import names_in, newest_timestamp

# -- manifests ------------------------------------------------------------------------------------
# Manifests of the pods that the controllers of workloads make.
#
# Upstream: pkg/controller/controller_utils.go (GetPodFromTemplate),
# statefulset/stateful_set_utils.go, daemon/util/daemonset_util.go, job/job_controller.go,
# deployment/sync.go.


Manifest = dict[str, Any]

_DAEMON_TOLERATIONS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_NETWORK_TAINT = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def template_hash(template: Mapping[str, Any], collisions: int = 0) -> str:
    """Return a hash in the form of pod-template-hash. Upstream hashes Go's own dump of the
    template, whose value nothing but the label depends on.

    collisions: how often the hash was taken already
    """
    value = 2166136261
    text = msgspec.json.encode(template, order="sorted")
    for byte in text + (str(collisions).encode() if collisions else b""):
        value = (value ^ byte) * 16777619 % 2**32
    return "".join(SAFE_ALPHABET[ord(char) % len(SAFE_ALPHABET)] for char in str(value))


def owner_reference(version: str, kind: str, name: str, **more: str) -> Manifest:
    """Return an ownerReference to a controller."""
    return {"apiVersion": version, "kind": kind, "name": name, **more, "controller": True}


def pod_manifest(
    template: Mapping[str, Any],
    owner: Workload,
    kind: str,
    name: str,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """Return a pod of the owner's template.

    labels: what the controller adds
    """
    metadata = template.get("metadata") or {}
    version = {"ReplicationController": "v1", "Job": "batch/v1"}.get(kind, "apps/v1")
    uid = owner.uid or f"{owner.namespace}/{owner.name}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": {**(metadata.get("labels") or {}), **(labels or {})},
            "annotations": metadata.get("annotations") or {},
            "ownerReferences": [
                owner_reference(version, kind, owner.name, uid=uid) | {"blockOwnerDeletion": True}
            ],
        },
        "spec": template.get("spec") or {},
        "status": {"phase": "Pending"},
    }


def daemon_template(template: Mapping[str, Any]) -> Manifest:
    """Return the template with the tolerations of daemon pods. Upstream:
    AddOrUpdateDaemonPodTolerations."""
    spec = dict(template.get("spec") or {})
    taints = [*_DAEMON_TOLERATIONS, *([_NETWORK_TAINT] if spec.get("hostNetwork") else [])]
    tolerations = list(spec.get("tolerations") or ())
    keys = ("key", "effect", "operator", "value")  # Toleration.MatchToleration
    for key, effect in taints:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        same = [t for t in tolerations if all(t.get(k, "") == toleration.get(k, "") for k in keys)]
        tolerations = [toleration if t in same else t for t in tolerations]
        tolerations += [] if same else [toleration]
    return {**template, "spec": {**spec, "tolerations": tolerations}}


def on_node(manifest: Manifest, node: str) -> Manifest:
    """Return the daemon pod for one node. Upstream: ReplaceDaemonSetPodNodeNameNodeAffinity."""
    spec = manifest["spec"]
    affinity = spec.get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    field = {"key": NODE_NAME_FIELD, "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    node_affinity = {**node_affinity, "requiredDuringSchedulingIgnoredDuringExecution": required}
    affinity = {**affinity, "nodeAffinity": node_affinity}
    return {**manifest, "spec": {**spec, "affinity": affinity}}


def stateful_manifest(
    plain: Mapping[str, Any], owner: Workload, ordinal: int
) -> tuple[Manifest, list[Manifest]]:
    """Return the pod of an ordinal, and its claims. Upstream: newStatefulSetPod."""
    spec = plain.get("spec") or {}
    name = f"{owner.name}-{ordinal}"
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
    }
    pod = pod_manifest(spec.get("template") or {}, owner, "StatefulSet", name, labels)
    claims, volumes = [], []
    for template in spec.get("volumeClaimTemplates") or ():
        metadata = template.get("metadata") or {}
        claim = f"{metadata.get('name', '')}-{name}"
        claims.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {**metadata, "name": claim, "namespace": owner.namespace},
                "spec": template.get("spec") or {},
            }
        )
        volumes.append(
            {"name": metadata.get("name", ""), "persistentVolumeClaim": {"claimName": claim}}
        )
    names = {volume["name"] for volume in volumes}
    own = [v for v in pod["spec"].get("volumes") or () if v.get("name") not in names]
    pod["spec"] = {**pod["spec"], "hostname": name, "volumes": [*volumes, *own]}
    return pod, claims


def job_labels(owner: Workload) -> dict[str, str]:
    uid = owner.uid or f"{owner.namespace}-{owner.name}"
    return {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": owner.name,
        "controller-uid": uid,
        "job-name": owner.name,
    }


# -- DaemonSets -----------------------------------------------------------------------------------
# The nodes on which a DaemonSet runs its pods. Upstream: pkg/controller/daemon.


def daemon_model(state: ClusterState, daemon_set: DaemonSet) -> Pod | None:
    """Return a pod as the DaemonSet would make it, for no node yet, or None without a template.
    Raises InputError where the template is not valid."""
    plain = plain_json(daemon_set.raw) if bytes(daemon_set.raw) else {}
    template = _template(plain)
    if not template:
        return None
    manifest = pod_manifest(
        daemon_template(template), daemon_set, "DaemonSet", f"{daemon_set.name}-model"
    )
    source = f"the template of DaemonSet {daemon_set.key}"
    return load_objects(state, [manifest], source).pods[0]


def should_run_on(model: Pod, node: Node) -> bool:
    """Return whether a daemon pod should run on the node. Upstream: NodeShouldRunDaemonPod.

    model: a pod of the template, with the tolerations of daemon pods
    """
    return _fits(model, node, ("NoSchedule", "NoExecute"))


def should_continue_on(model: Pod, node: Node) -> bool:
    """Return whether a running daemon pod should stay. Upstream: NodeShouldRunDaemonPod."""
    return _fits(model, node, ("NoExecute",))


def _fits(model: Pod, node: Node, effects: tuple[str, ...]) -> bool:
    """Return whether the node's name, labels and taints allow the daemon pod.

    effects: of the taints that it has to tolerate
    """
    if model.node_name not in ("", node.name):
        return False
    try:
        if not required_node_affinity(model.spec).matches(node.name, node.metadata.labels):
            return False
    except SelectorError:
        return False
    return all(
        tolerated(model.spec.tolerations, taint)
        for taint in node.spec.taints
        if taint.effect in effects
    )


def target_node(pod: Pod) -> str:
    """Return the node of a daemon pod, bound or not. Upstream: GetTargetNodeName."""
    required = pod.spec.required_nodes
    if pod.node_name or required is None:
        return pod.node_name
    for term in required.node_selector_terms:
        for expression in term.match_fields:
            if expression.key == NODE_NAME_FIELD and expression.operator == "In":
                return "".join(expression.values[:1])
    return ""


# -- pods that workloads lack ---------------------------------------------------------------------

# More than the 150,000 pods that Kubernetes is made for; each takes some kilobytes.
MAX_PODS = 200_000
# How many workloads a warning names.
_MAX_LISTED = 3


class _Plan(Struct):
    """What has been made so far. by_owner: pod manifest → the workload it is made for, as text."""

    state: ClusterState
    owned: OwnedPods
    names: dict[str, set[str]] = field(default_factory=dict)
    manifests: list[Manifest] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    others: list[Manifest] = field(default_factory=list)

    def add(self, pods: Iterable[Manifest], owner: str, count: int) -> None:
        """Add pods to make. Raises InputError where they are too many.

        count: of the pods, at most
        """
        if len(self.manifests) + count > MAX_PODS:
            problem = f"{count} pods to create; ksched creates at most {MAX_PODS} for all workloads"
            hint = "--no-workloads reads the state without them."
            raise InputError("the state", problem, subject=owner, hint=hint)
        for pod in pods:
            self.manifests.append(pod)
            self.owners.append(owner)

    def add_replicas(
        self,
        owner: Workload,
        kind: str,
        template: Manifest,
        count: int,
        labels: Mapping[str, str] | None = None,
        text: str = "",
    ) -> None:
        """Add pods of the owner's template with names of their own. Raises InputError as `add`
        does.

        labels: see pod_manifest
        text:   of the workload, by default the owner's
        """
        names = self.fresh_name(owner.namespace, owner.name)
        pods = (pod_manifest(template, owner, kind, next(names), labels) for _ in range(count))
        self.add(pods, text or f"{kind} {owner.key}", count)

    def active(self, kind: str, workload: Workload) -> Sequence[Pod]:
        return self.owned.active.get((workload.namespace, kind, workload.name), ())

    def fresh_name(self, namespace: str, prefix: str) -> Iterator[str]:
        """Yield names of pods that no pod has."""
        if namespace not in self.names:
            self.names[namespace] = names_in(self.state.pods, namespace)
        yield from generated_names(f"{prefix}-", self.names[namespace])

    def load(self) -> ClusterState:
        """Return a state of only what has been made. Raises InputError where a template is not
        valid."""
        source = f"the template of {self.owners[0]}" if self.owners else "a template"
        loaded = load_objects(self.state, (*self.others, *self.manifests), source)
        return replace(loaded, warnings=())


def make_pods(state: ClusterState) -> tuple[ClusterState, list[Effect]]:
    """Return the state with the pods that its workloads lack, last in the queue, and an effect for
    each; and with the claims that pods without a node lack.

    A workload without a template makes none. Nor does a ReplicaSet, StatefulSet or
    ReplicationController that states no replicas: the API server always writes them, so such an
    object is there for its selector alone. Raises InputError where a template is not valid, and for
    too many pods.
    """
    effects: list[Effect] = []
    if state.makes_pods:
        plan = _Plan(state, OwnedPods.of(state.pods))
        _make_all(plan)
        if plan.manifests or plan.others:
            newest = newest_timestamp(state.pods)
            for manifest in plan.manifests if newest else ():
                manifest["metadata"]["creationTimestamp"] = newest
            added = plan.load()
            effects = [
                Effect(pod.key, "pending", f"created for {owner}")
                for pod, owner in zip(added.pods, plan.owners, strict=True)
            ]
            state = with_objects(state, added)
    return make_claims(state)[0], effects


def _make_all(plan: _Plan) -> None:
    state = plan.state
    controlled = {(rs.namespace, *rs.owner) for rs in state.replica_sets.values()}
    for workload in _living(state.replica_sets.values()):
        _make_replicas(plan, workload, "ReplicaSet", workload.spec.selector)
    for controller in _living(state.replication_controllers.values()):
        selector = LabelSelector(match_labels=controller.spec.selector)
        _make_replicas(plan, controller, "ReplicationController", selector)
    for stateful_set in _living(state.stateful_sets.values()):
        _make_stateful(plan, stateful_set)
    for deployment in _living(state.deployments.values()):
        if (deployment.namespace, "Deployment", deployment.name) not in controlled:
            _make_deployment(plan, deployment)
    for daemon_set in _living(state.daemon_sets.values()):
        _make_daemons(plan, daemon_set)
    for kind, make in state.pod_makers.items():
        for custom in state.others.get(kind, ()):
            _make_custom(plan, kind, make, custom)
    for job in _living(state.jobs.values()):
        _make_job(plan, job, plain_json(job.raw))


def _living(workloads: Iterable[Any]) -> Iterator[Any]:
    return (w for w in workloads if bytes(w.raw) and not w.metadata.deletion_timestamp)


def _template(plain: Manifest) -> Manifest:
    """Return the pod template; {} where the object has none."""
    return (plain.get("spec") or {}).get("template") or {}


def replicas_of(replicas: int | None) -> int:
    """Return the replicas that a spec asks for, by default 1."""
    return 1 if replicas is None else replicas


def _make_replicas(plan: _Plan, workload: Any, kind: str, selector: LabelSelector | None) -> None:
    missing = (workload.spec.replicas or 0) - len(plan.active(kind, workload))
    template = _template(plain_json(workload.raw)) if missing > 0 else {}
    if template:
        missing -= len(plan.owned.adopted(workload.namespace, selector))
        plan.add_replicas(workload, kind, template, missing)


def _make_deployment(plan: _Plan, deployment: Deployment) -> None:
    """Add the Deployment's ReplicaSet, where the state has none, and its pods."""
    existing = plan.active("Deployment", deployment)
    missing = replicas_of(deployment.spec.replicas) - len(existing)
    plain = plain_json(deployment.raw) if missing > 0 else {}
    template = _template(plain)
    if not template:
        return
    missing -= len(plan.owned.adopted(deployment.namespace, deployment.spec.selector))
    if missing <= 0:
        return
    if existing:
        name, label = existing[0].owner[1], {HASH_LABEL: existing[0].metadata.labels[HASH_LABEL]}
    else:
        manifest = replica_set_of(plain, deployment)
        plan.others.append(manifest)
        name = manifest["metadata"]["name"]
        label = {HASH_LABEL: manifest["metadata"]["labels"][HASH_LABEL]}
    metadata = msgspec.structs.replace(deployment.metadata, name=name, uid="")
    owner_text = f"Deployment {deployment.key}"
    replica_set = ReplicaSet(metadata=metadata)
    plan.add_replicas(replica_set, "ReplicaSet", template, missing, label, owner_text)


def replica_set_of(plain: Manifest, deployment: Deployment, revision: str = "") -> Manifest:
    """Return the ReplicaSet of a deployment's template. Upstream: getNewReplicaSet.

    revision: the template's hash, "" to compute one
    """
    spec = plain["spec"]
    template = spec["template"]
    label = {HASH_LABEL: revision or template_hash(template)}
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **label}
    selector = spec.get("selector") or {"matchLabels": metadata.get("labels") or {}}
    owner = owner_reference("apps/v1", "Deployment", deployment.name, uid=deployment.uid)
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment.name}-{label[HASH_LABEL]}",
            "namespace": deployment.namespace,
            "labels": labels,
            "ownerReferences": [owner],
        },
        "spec": {
            "replicas": replicas_of(deployment.spec.replicas),
            "selector": {
                **selector,
                "matchLabels": {**(selector.get("matchLabels") or {}), **label},
            },
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }


def _make_stateful(plan: _Plan, stateful_set: StatefulSet) -> None:
    """Add the pods and claims that the StatefulSet lacks, all at once, as with podManagementPolicy
    Parallel."""
    key = (stateful_set.namespace, "StatefulSet", stateful_set.name)
    replicas = stateful_set.spec.replicas or 0
    enough = replicas <= len(plan.active("StatefulSet", stateful_set))
    plain = {} if enough else plain_json(stateful_set.raw)
    if not _template(plain):
        return
    owner, start = f"StatefulSet {stateful_set.key}", stateful_set.spec.ordinals.start
    existing = {
        pod.name for pods in (plan.owned.active, plan.owned.ended) for pod in pods.get(key, ())
    }
    existing |= {pod.name for pod in plan.owned.orphans.get(stateful_set.namespace, ())}
    plan.add((), owner, replicas - len(existing))
    for ordinal in range(start, start + replicas):
        if f"{stateful_set.name}-{ordinal}" not in existing:
            pod, claims = stateful_manifest(plain, stateful_set, ordinal)
            for claim in claims:
                claim["spec"] = {"storageClassName": default_class(plan.state), **claim["spec"]}
            plan.add([pod], owner, 1)
            bound = plan.state.persistent_volume_claims
            keys = [(stateful_set.namespace, claim["metadata"]["name"]) for claim in claims]
            plan.others += [c for c, own in zip(claims, keys, strict=True) if own not in bound]


def with_daemon_pods(state: ClusterState, nodes: frozenset[str], *, running: bool) -> ClusterState:
    """Return the state with the pods that its DaemonSets lack on these nodes, and no others. Raises
    InputError where a template is not valid.

    running: on their nodes already, else they wait for them
    """
    plan = _Plan(state, OwnedPods.of(state.pods))
    for daemon_set in _living(state.daemon_sets.values()):
        _make_daemons(plan, daemon_set, nodes)
    if not plan.manifests:
        return state
    added = plan.load()
    if running:
        pods = (msgspec.structs.replace(pod, node_name=target_node(pod)) for pod in added.pods)
        added = replace(added, pods=tuple(pods))
    return with_objects(state, added)


def _make_daemons(plan: _Plan, daemon_set: DaemonSet, nodes: frozenset[str] | None = None) -> None:
    """Add the pods that the DaemonSet lacks.

    nodes: where; None: on all
    """
    template = _template(plain_json(daemon_set.raw))
    if not template:
        return
    template = daemon_template(template)
    there = {target_node(pod) for pod in plan.active("DaemonSet", daemon_set)}
    orphans = plan.owned.adopted(daemon_set.namespace, daemon_set.spec.selector)
    there |= {pod.node_name for pod in orphans}
    absent = [
        node
        for node in plan.state.nodes
        if node.name not in there and (nodes is None or node.name in nodes)
    ]
    model = daemon_model(plan.state, daemon_set) if absent else None
    if model is None:
        return
    names = plan.fresh_name(daemon_set.namespace, daemon_set.name)
    for node in absent:
        if should_run_on(model, node):
            pod = pod_manifest(template, daemon_set, "DaemonSet", next(names))
            plan.add([on_node(pod, node.name)], f"DaemonSet {daemon_set.key}", 1)


def _make_job(plan: _Plan, job: Job, plain: Manifest) -> None:
    """Add the pods that the Job lacks. Upstream: Controller.manageJob."""
    template = _template(plain)
    ended = any(
        c.type in ("Complete", "Failed") and c.status == "True" for c in job.status.conditions
    )
    if not template or ended or job.spec.suspend:
        return
    key = (job.namespace, "Job", job.name)
    done = sum(pod.status.phase == "Succeeded" for pod in plan.owned.ended.get(key, ()))
    succeeded = max(job.status.succeeded, done)
    active = len(plan.active("Job", job))
    parallelism = replicas_of(job.spec.parallelism)
    completions = job.spec.completions
    if completions is None and job.spec.parallelism is None:
        completions = 1
    if completions is None:
        count = active if succeeded else parallelism
    else:
        count = min(parallelism, completions - succeeded)
    plan.add_replicas(job, "Job", template, count - active, job_labels(job))


def cron_job_run(state: ClusterState, cron_job: CronJob) -> Manifest | None:
    """Return the Job that a CronJob makes when its time comes, or None if it is suspended or has no
    template. Raises InputError."""
    template = (plain_json(cron_job.raw).get("spec") or {}).get("jobTemplate") or {}
    if cron_job.spec.suspend or not _template(template):
        return None
    names = (f"{cron_job.name}-{number}" for number in range(1, len(state.jobs) + 2))
    metadata = {
        **(template.get("metadata") or {}),
        "name": next(name for name in names if (cron_job.namespace, name) not in state.jobs),
        "namespace": cron_job.namespace,
        "ownerReferences": [owner_reference("batch/v1", "CronJob", cron_job.name)],
    }
    return {**template, "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}


def _make_custom(plan: _Plan, kind: str, make: PodMaker, workload: Plain) -> None:
    """Add the missing pods of a workload whose kind a plugin handles. Raises PluginDefectError
    where the plugin fails."""
    name, _, _ = kind.partition(".")
    metadata = workload["metadata"]
    namespace = metadata.get("namespace") or "default"
    text = f"{name} {namespace}/{metadata['name']}"
    try:
        pods = [deepcopy(dict(pod)) for pod in make(workload)]
        named = {pod["metadata"]["name"]: pod for pod in pods}
    except FAILURES as error:
        raise_users_interrupt(error)
        problem = f"the plugin that makes pods of {text} failed: {described(error)}"
        raise PluginDefectError(problem, traceback.format_exc()) from error
    key = (namespace, name, metadata["name"])
    existing = [*plan.owned.active.get(key, ()), *plan.owned.ended.get(key, ())]
    unnamed = len({pod.name for pod in existing} - set(named))
    taken = names_in(plan.state.pods, namespace)
    missing = [pod for each, pod in named.items() if each not in taken]
    owner = owner_reference(workload["apiVersion"], name, metadata["name"])
    for pod in missing:
        pod |= {"apiVersion": "v1", "kind": "Pod"}
        pod["metadata"] = {
            "ownerReferences": [owner],
            **pod["metadata"],
            "namespace": namespace,
        }
    missing = missing[: max(0, len(missing) - unnamed)]
    plan.add(missing, text, len(missing))


def with_workloads(state: ClusterState) -> ClusterState:
    """Return the state with the pods that its workloads lack, and the claims that pods lack, with a
    warning that counts them."""
    after, owners = make_claims(state)
    after, effects = make_pods(after)
    if after is state:
        return state
    lines = []
    if owners:
        claims = (
            "the claims of 1 pod are" if len(owners) == 1 else f"claims of {len(owners)} pods are"
        )
        listed = first_names([pod.key for pod in owners])
        lines.append(f"{claims} created: {listed} (--no-workloads leaves them out)")
    counts = Counter(effect.detail.removeprefix("created for ") for effect in effects)
    makers = [f"{count} for {owner}" for owner, count in counts.most_common(_MAX_LISTED)]
    if len(counts) > _MAX_LISTED:
        makers.append(f"and {len(counts) - _MAX_LISTED} more workloads")
    if effects:
        many = f"{len(effects)} missing pods of workloads are"
        pods = "1 missing pod of a workload is" if len(effects) == 1 else many
        lines.append(
            f"{pods} added as pending: {', '.join(makers)} (--no-workloads leaves them out)"
        )
    return replace(after, warnings=(*renewed_warnings(state, after), *lines))


def renewed_warnings(before: ClusterState, after: ClusterState) -> tuple[str, ...]:
    """Return the loader's warnings, with those about what the state lacks made anew."""
    lacking = set(state_warnings(before)) if before.warnings else ()
    remaining = tuple(line for line in before.warnings if line not in lacking)
    return (*remaining, *state_warnings(after))
