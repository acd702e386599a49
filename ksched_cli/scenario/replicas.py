"""Copies of a pod, and the next replicas of a workload: those that its controller would make if it
were scaled up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Any

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, UsageError, first_names
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.scenario.apply import Apply
from ksched_cli.scenario.arguments import NamedWorkload, Target, find_workload
from ksched_cli.scenario.change import ChangeError
from ksched_cli.scenario.objects import edited, kind_of, plain_object, replaced
from ksched_cli.scenario.owned_pods import WORKLOADS, OwnedPods
from ksched_cli.scenario.pod_claims import ClaimMaker, has_own_claims
from ksched_cli.scenario.scale import SCALABLE, Scale
from ksched_cli.scenario.workloads import cron_job_run, make_pods


def workload_target(text: str, namespace: str) -> Target | None:
    """Return the target KIND/NAME, where KIND is a workload's; else None. namespace: "" for any."""
    word, slash, name = text.partition("/")
    kind = kind_of(word) if slash and name else None
    if kind is None or kind.name not in WORKLOADS:
        return None
    return Target(kind.name, name, namespace)


def applied_target(apply: Apply, effects: Sequence[Effect]) -> Target:
    """Return the pod or the workload that is applied; the Job of a CronJob's run. effects: of the
    change. Raises InputError where that is not one."""
    kinds = ("Pod", *WORKLOADS)
    targets = []
    for effect in effects:
        kind, _, key = effect.subject.partition(" ")
        namespace, slash, name = key.partition("/")
        if kind in kinds and slash:
            targets.append(Target(kind, name, namespace))
    if len(targets) == 2 and [target.kind for target in targets] == ["CronJob", "Job"]:
        targets = targets[1:]
    if len(targets) != 1:
        names = [f"{target.kind} {target.namespace}/{target.name}" for target in targets]
        listed = first_names(names) or "none"
        raise InputError(apply.source, f"expected one Pod or one workload, found {listed}")
    return targets[0]


REPLICATED = (*SCALABLE, "Job", "CronJob")


def next_replicas(
    state: ClusterState, target: Target, maximum: int
) -> tuple[ClusterState, NamedWorkload, tuple[Pod, ...]]:
    """Return a state with the claims and ReplicaSets of the workload's next replicas, the workload,
    and these replicas, which are not in that state: one more than `maximum` where each has claims
    of its own, else one for all. Those of a Job are more pods of it, those of a CronJob the pods of
    its next run.

    Raises UsageError if there is no such workload, or it is not made of replicas.
    """
    if target.kind not in REPLICATED:
        kinds = ", ".join(kind.lower() for kind in REPLICATED)
        raise UsageError(
            f"{target.text}: a {target.kind} has no next replica; name a {kinds}, or a pod"
        )
    change = Scale(target.text, (target,), 0)
    try:
        workload = find_workload(change, state, target)
        if workload.kind == "CronJob":
            job = cron_job_run(state, workload.obj)
            if job is None:
                raise UsageError(f"{workload.text} has no pod template")
            state = replaced(state, KINDS["Job"], [job])
            run = Target("Job", job["metadata"]["name"], workload.namespace)
            workload = find_workload(change, state, run)
        scaled, added = _with_more(change, state, workload, 1)
        raw = bytes(getattr(workload.obj, "raw", b""))
        spec: dict[str, Any] = (plain_json(raw).get("spec") or {}) if raw else {}
        if added and (has_own_claims(added[0].spec) or spec.get("volumeClaimTemplates")):
            scaled, added = _with_more(change, state, workload, maximum + 1)
    except ChangeError as error:
        raise UsageError(error.problem) from None
    if not added:
        raise UsageError(f"{workload.text} has no pod template")
    existing = {pod.key for pod in state.pods}
    remaining = tuple(pod for pod in scaled.pods if pod.key in existing)
    return replace(scaled, pods=remaining), workload, added


def _with_more(
    change: Scale, state: ClusterState, workload: NamedWorkload, number: int
) -> tuple[ClusterState, tuple[Pod, ...]]:
    """Return the state with so many pods more of the workload, and these pods. Raises
    ChangeError."""
    active = len(workload.pods)
    if workload.kind == "Job":
        job = plain_object(KINDS["Job"], workload.obj)
        key = (workload.namespace, "Job", workload.name)
        ended = OwnedPods.of(state.pods).ended.get(key, ())
        done = sum(pod.status.phase == "Succeeded" for pod in ended)
        more = {"parallelism": active + number, "completions": done + active + number}
        job["spec"] |= {**more, "suspend": False}
        job["status"] = {}
        after = replaced(state, KINDS["Job"], [job])
    else:
        after, _ = replace(change, replicas=active + number).apply(state)
    scaled, _ = make_pods(after)
    target = Target(workload.kind, workload.name, workload.namespace)
    existing = {pod.key for pod in state.pods}
    owned = {pod.key: pod for pod in find_workload(change, scaled, target).pods}
    return scaled, tuple(owned[key] for key in owned if key not in existing)


def copies(state: ClusterState, model: Pod) -> Iterator[Pod]:
    """Return pods like `model` that wait for a node, under names that no pod of the state has."""
    taken = {pod.name for pod in state.pods if pod.namespace == model.namespace}
    for number in count(1):
        name = f"{model.name}-copy-{number}"
        if name in taken:
            continue
        uid = f"{model.metadata.uid}-copy-{number}"
        patch = {"name": name, "uid": uid, "deletionTimestamp": None}
        yield structs.replace(edited(model, {"metadata": patch, "status": None}), node_name="")


def copies_with_claims(
    state: ClusterState, model: Pod, maximum: int
) -> tuple[ClusterState, tuple[Pod, ...]]:
    """Return the state with the claims of copies of a pod, and these copies: one more than
    `maximum`."""
    maker = ClaimMaker(state, model)
    pods = tuple(maker.owner(copy) for copy in islice(copies(state, model), maximum + 1))
    return maker.with_claims(), pods
