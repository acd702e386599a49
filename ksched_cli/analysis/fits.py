"""Whether the pods of manifests fit: what a release, a Deployment or a pod would get if it were
applied now, without evictions and with them, how many more fit then, and what stops the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, UnsetType, structs

from ksched_cli.analysis.capacity import copies_of, copies_of_pod
from ksched_cli.analysis.diagnosis import PendingGroup, owner_path, pending_groups
from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.named_objects import Subject
from ksched_cli.analysis.question import Opened, PodOrManifest, Question
from ksched_cli.analysis.reasons import Reason, reasons
from ksched_cli.analysis.search import MAX_COPIES
from ksched_cli.answers import HIDDEN, Count, Part, Rank, StateAnswer
from ksched_cli.cluster.custom_objects import kind_with_group
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.records import Eviction, RunRecord
from ksched_cli.errors import ExitCode, InputError
from ksched_cli.kube.streams import STDIN_NAME
from ksched_cli.run.run import ChangeSource
from ksched_cli.scenario.apply import Apply
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.owned_pods import WORKLOADS
from ksched_cli.scenario.pods import without_pods
from ksched_cli.scenario.scale import SCALABLE

# Further copies are counted of so many workloads; each is a run.
MAX_COUNTED = 5


class FittedWorkload(Part, frozen=True):
    """A workload of the manifests, or a pod without one.

    owner: namespace/Kind/name of it
    pods: how many pods it makes that need a node
    fit: how many of them get one without evictions
    nodes: node → how many it takes of these
    more: how many more copies fit after all pods of the manifests; null where that was not counted
    limited_by: why the next copy, or the first pod that does not fit, does not
    reasons: the same by plugin, of the next copy; that of the most nodes first
    stopped_at: the maximum, where it was reached
    cause: why the next copy does not fit, in a sentence
    """

    owner: str
    pods: Count
    fit: Count
    nodes: Mapping[str, Rank] = {}
    more: Count | None = None
    limited_by: str = ""
    reasons: tuple[Reason, ...] = ()
    stopped_at: Rank | None = None
    cause: Annotated[str, HIDDEN] = ""


class FitResult(StateAnswer, frozen=True, kw_only=True):
    """Whether the pods of manifests fit.

    file: that the manifests are in; "" for others
    pods: how many pods they make that need a node
    fit: how many of these get one without evictions
    fit_after_evictions: how many get one where pods of lower priority may be evicted
    evictions: of pods, for these
    displaced: other pods that wait, and get no node because of these
    workloads: those of the manifests
    nodes: node → how many of the pods it takes
    count, limited_by, stopped_at: of the workload, where there is one: how many more fit, why the
           next does not, and the maximum where it was reached
    pending: the pods that get no node, with evictions neither, by owner and cause
    gated: the pods that are kept out of the queue
    undecided: a plugin's failure left a pod undecided
    """

    COMMAND: ClassVar = "capacity"
    VIEW: ClassVar = "fits:view"
    ROWS: ClassVar = "workloads"

    kind: Literal["CapacityResult"] = "CapacityResult"
    file: str
    pods: Count
    fit: Count
    fit_after_evictions: Count
    evictions: tuple[Eviction, ...] = ()
    displaced: tuple[str, ...] = ()
    workloads: tuple[FittedWorkload, ...] = ()
    nodes: Mapping[str, Rank] = {}
    count: Count | UnsetType | None = UNSET
    limited_by: str | UnsetType = UNSET
    stopped_at: Rank | UnsetType | None = UNSET
    pending: tuple[PendingGroup, ...] = ()
    gated: tuple[str, ...] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.fit == self.pods, self.undecided)


class Fits(Question[FitResult], frozen=True, kw_only=True):
    """Say whether the pods of manifests fit, and how many more.

    manifests: an object, a list of objects, or the ChangeSource that applies them
    maximum: how many further copies are counted at most
    alone:   leave the other pending pods out
    """

    manifests: PodOrManifest
    maximum: int = MAX_COPIES
    alone: bool = False

    def answer(self, opened: Opened) -> FitResult:
        opener, run, source = opened.opener, opened.run, self.manifests
        source = source if isinstance(source, ChangeSource) else ChangeSource(apply=source)
        before = opener.final_state(run) if run.timeline else opener.state(run)
        (apply,) = opener.inputs.changes(structs.replace(run, changes=(source,)))
        assert isinstance(apply, Apply)
        state, _ = apply_changes(before, [apply], workloads=run.workloads)
        kinds = Counter(str(manifest.get("kind")) for manifest in apply.manifests)
        custom = {
            kind_with_group(str(each.get("apiVersion") or ""), str(each.get("kind") or ""))
            for each in apply.manifests
        }
        if kinds.keys().isdisjoint(("Pod", *WORKLOADS)) and not custom & state.pod_makers.keys():
            there = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            expected = f"{', '.join(('Pod', *WORKLOADS[:-1]))} or {WORKLOADS[-1]}"
            problem = f"nothing in it makes pods (it has {there or 'nothing'}); expected {expected}"
            raise InputError(apply.source, problem)
        waited = {pod.key for pod in before.pods if not pod.node_name}
        new = [
            pod for pod in state.pods if not (pod.node_name or pod.finished or pod.key in waited)
        ]
        if self.alone:
            others = [pod for pod in state.pods if pod.key in waited]
            state, waited = without_pods(state, others), set()

        # Without evictions; then, if some do not fit, as `schedule` decides.
        calm = opener.simulation(structs.replace(run, preemption=False), state=state)
        opened.introduce(calm)
        opened.focus_on(calm.state, new)
        placed = calm.run()
        last, record = calm, placed
        keys = {pod.key for pod in new}
        is_tried_again = run.preemption and not keys.isdisjoint(placed.pending)
        if is_tried_again:
            last = opener.simulation(run, state=state)
            record = last.run()
        subject = Subject(opener, structs.replace(run, preemption=False), calm)
        workloads = tuple(self._workloads(subject, apply, new, placed))
        # The pods that wait, and would get a node if the manifests were not applied.
        displaced = waited.intersection(placed.pending)
        if displaced:
            without = subject.simulation_of(before)
            displaced &= without.run().placements.keys()
            without.close()
        only = workloads[0] if len(workloads) == 1 else None
        hints = Hints(last, record, workloads=run.workloads)
        answer = FitResult(
            file=apply.source if source.line and apply.source != STDIN_NAME else "",
            pods=len(keys - placed.gated.keys()),
            fit=len(keys & placed.placements.keys()),
            fit_after_evictions=len(keys & record.placements.keys()),
            evictions=tuple(each for each in record.evicted if each.preemptor in keys),
            displaced=tuple(sorted(displaced)),
            workloads=workloads,
            nodes=_counted(placed.placements[key] for key in keys & placed.placements.keys()),
            count=UNSET if only is None else only.more,
            limited_by=UNSET if only is None else only.limited_by,
            stopped_at=UNSET if only is None else only.stopped_at,
            pending=pending_groups(last, record.about(keys), hints),
            gated=tuple(sorted(keys & placed.gated.keys())),
            undecided=bool(calm.caller.defects or last.caller.defects),
        )
        if is_tried_again:
            calm.caller.defects.update(last.caller.defects)
            last.close()
        return answer

    def _workloads(
        self,
        subject: Subject,
        apply: Apply,
        new: Sequence[Pod],
        placed: RunRecord,
    ) -> Iterator[FittedWorkload]:
        """Yield the workloads of the manifests, in their order. subject: its simulation has run"""
        after = subject.simulation.current_state()
        # First those that the manifests name, in their order.
        pods: dict[str, list[Pod]] = {}
        for manifest in apply.manifests:
            metadata = manifest.get("metadata") or {}
            if manifest["kind"] in ("Pod", *WORKLOADS) and metadata.get("name"):
                namespace = metadata.get("namespace") or apply.namespace
                pods[f"{namespace}/{manifest['kind']}/{metadata['name']}"] = []
        for pod in new:
            pods.setdefault(owner_path(pod), []).append(pod)
        # What a CronJob makes are the pods of a Job.
        named = [owner for owner, own in pods.items() if own or "/CronJob/" not in owner]
        for place, owner in enumerate(named):
            own = pods[owner]
            names = [pod.key for pod in own if pod.key in placed.placements]
            nodes = _counted(map(placed.placements.__getitem__, names))
            misfit = next((pod.key for pod in own if pod.key in placed.pending), None)
            workload = FittedWorkload(owner, len(own), len(names), nodes)
            if misfit is not None:
                reason = placed.last[misfit].why_not
                workload = structs.replace(workload, more=0, limited_by=reason)
            elif place < MAX_COUNTED and "/DaemonSet/" not in owner:
                workload = self._with_more(workload, subject, after)
            yield workload

    def _with_more(
        self, workload: FittedWorkload, subject: Subject, state: ClusterState
    ) -> FittedWorkload:
        """Return the workload with how many more of it fit in a cluster, if it has a pod there."""
        namespace, kind, name = workload.owner.split("/", 2)
        simulation = subject.simulation_of(state)
        named = f"{kind.lower()}/{name}"
        about = subject._replace(simulation=simulation, name=named, namespace=namespace)
        if kind in SCALABLE:
            copies = copies_of(about, self.maximum)
        else:
            pods = (pod for pod in state.pods if owner_path(pod) == workload.owner)
            model = next(pods, None)
            if model is None:
                return workload
            copies = copies_of_pod(about, state, model, self.maximum)
        simulation = copies.simulation
        answer = copies.answer(self.maximum)
        next_pod = simulation.catalog.info(copies.pod).unplaced()
        evaluation = simulation.evaluate(next_pod, Mode.REASONS)
        why = () if evaluation.error else reasons(evaluation)
        simulation.close()
        return structs.replace(
            workload,
            more=answer.count,
            limited_by=answer.limited_by,
            reasons=tuple(sorted(why, key=lambda reason: -reason.nodes)),
            stopped_at=answer.stopped_at,
            cause=answer.cause,
        )


def _counted(nodes: Iterable[str]) -> dict[str, int]:
    """Return how often each node is there, by name."""
    return dict(sorted(Counter(nodes).items()))
