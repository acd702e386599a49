"""Which domains of a cluster can be drained, or lost: each zone, each pool or each node, one after
the other and each for itself. Every one is a trial of the same cluster, which is taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, ClassVar, Literal

from msgspec import structs

from ksched_cli.analysis.diagnosis import PendingGroup
from ksched_cli.analysis.drain import (
    MAX_LIFTED,
    DrainBlocker,
    DrainTrial,
    LeavingCluster,
    before_drains,
    close_other,
    selected_nodes,
    with_lifts,
)
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.recreation import RecreatedPod
from ksched_cli.analysis.usage import POOL_LABELS, set_apart
from ksched_cli.answers import HIDDEN, Count, Part, Rank, StateAnswer
from ksched_cli.cluster.loading.state_warnings import budget_warnings
from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.objects.node import HOSTNAME_LABEL
from ksched_cli.cluster.snapshot import ZONE_LABELS
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import Eviction
from ksched_cli.errors import ExitCode, InputError, UsageError
from ksched_cli.kube.near_names import near_hint

EACH_NODE = "node"
# Kinds of nodes of which more are tried.
MAX_MODELS = 3


class MoreLike(Part, frozen=True):
    """Nodes with which a domain can go, and one fewer of them with which it cannot, as runs show.

    like: the node that they are copies of
    """

    like: str
    count: Rank


class DomainDrain(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The drain or the loss of the nodes of one domain, while all others are there.

    value: of the label, or the node
    possible: as of a DrainResult
    leaving: how many pods leave and are created again
    waiting: pods that find no node; pending: the same, by owner and cause
    blocked_by: what keeps nodes, or pods from a node
    evicted, recreated: other pods, which pods that leave evict, and what becomes of them
    without_controller: pods that are gone for good
    possible_with: nodes with which it is possible; null where none were found, or none looked for
    """

    value: str
    nodes: tuple[str, ...]
    possible: bool
    leaving: Count = 0
    waiting: tuple[str, ...] = ()
    pending: tuple[PendingGroup, ...] = ()
    blocked_by: tuple[DrainBlocker, ...] = ()
    evicted: tuple[Eviction, ...] = ()
    recreated: tuple[RecreatedPod, ...] = ()
    without_controller: tuple[str, ...] = ()
    possible_with: MoreLike | None = None


class DrainResults(StateAnswer, frozen=True, kw_only=True):
    """Which domains can be drained, or lost, each for itself.

    label: that tells the domains apart; "node" for each node
    failed: the nodes are lost at once, whatever budgets allow
    possible: all of the domains
    domains: those that are not possible first, with the most waiting pods in front
    without_label: nodes that are in no domain
    already_pending: pods that were pending before, by owner and cause; they are left aside
    options: of the question, besides the label
    undecided: a plugin's failure left a pod undecided
    """

    COMMAND: ClassVar = "drain --each"
    VIEW: ClassVar = "drain:each_view"
    ROWS: ClassVar = "domains"

    kind: Literal["DrainResults"] = "DrainResults"
    label: str
    failed: bool
    possible: bool
    domains: tuple[DomainDrain, ...]
    without_label: tuple[str, ...] = ()
    already_pending: tuple[PendingGroup, ...] = ()
    options: Annotated[tuple[str, ...], HIDDEN] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.possible, self.undecided)


class DrainEach(Question[DrainResults], frozen=True, kw_only=True):
    """Say of each domain whether its nodes can be drained, or lost, while the others are there.

    each: the label that tells domains apart, or "node"
    selector: labels of the nodes to look at; "" for all
    force, failed: as of DrainNodes
    """

    each: str
    selector: str = ""
    force: bool = False
    failed: bool = False

    def answer(self, opened: Opened) -> DrainResults:
        subject = opened.subject()
        state = subject.simulation.state
        among = frozenset(selected_nodes(state, self.selector)) if self.selector else None
        nodes = [node for node in state.nodes if among is None or node.name in among]
        label = self._label(nodes)
        domains: dict[str, list[str]] = {}
        for node in nodes:
            value = node.name if label == EACH_NODE else node.metadata.labels.get(label, "")
            domains.setdefault(value, []).append(node.name)
        without_label = tuple(domains.pop("", ()))
        if not self.failed:
            opened.warn(*budget_warnings(state))
        base = before_drains(subject, failed=self.failed)
        tried: list[DomainDrain] = []
        spread = set[str]()
        with opened.observer.progress("nodes tried") as on_progress:
            done = 0
            for value, names in domains.items():
                trial = DrainTrial.of(base, names, force=self.force)
                if trial.drains.passing:
                    spread.add(value)
                tried.append(
                    DomainDrain(
                        value=value,
                        nodes=tuple(names),
                        possible=trial.is_possible,
                        leaving=len(trial.pods.leaving),
                        waiting=trial.drains.waiting,
                        pending=trial.drains.groups,
                        blocked_by=trial.blockers,
                        evicted=trial.drains.evicted,
                        recreated=trial.drains.recreated,
                        without_controller=tuple(sorted(pod.key for pod in trial.pods.gone)),
                    )
                )
                done += len(names)
                if on_progress is not None:
                    on_progress(done, sum(map(len, domains.values())))
        rows = sorted(tried, key=lambda row: (row.possible, -len(row.waiting), row.value))
        # Some of those that are not possible have what makes them so.
        lifted, left = set[object](), MAX_LIFTED
        for at, row in enumerate(rows):
            if row.possible:
                continue
            budgets = {each.budgets for each in row.blocked_by if each.budgets}
            if budgets - lifted and len(lifted) < MAX_LIFTED:
                # One budget blocks many nodes: what lifts it is tried once.
                lifted |= budgets
                refused = frozenset(pod for each in row.blocked_by for pod in each.pods)
                refused -= {pod for each in row.blocked_by if each.budgets for pod in each.pods}
                blocked_by = tuple(with_lifts(subject, row.blocked_by, row.nodes, refused))
                rows[at] = structs.replace(rows[at], blocked_by=blocked_by)
            # Nodes elsewhere do not help pods that a lost domain keeps from being spread.
            if row.waiting and left and row.value not in spread:
                left -= 1
                more = _more_nodes(base, rows[at], force=self.force)
                rows[at] = structs.replace(rows[at], possible_with=more)
        selected = ("-l", self.selector) if self.selector else ()
        answer = DrainResults(
            label=label,
            failed=self.failed,
            possible=all(row.possible for row in rows),
            domains=tuple(rows),
            without_label=without_label,
            already_pending=base.pending,
            options=(*selected, *["--force"] * self.force, *["--failed"] * self.failed),
            undecided=bool(base.simulation.caller.defects),
        )
        close_other(subject, base)
        return answer

    def _label(self, nodes: Sequence[Node]) -> str:
        """Return the label that `each` names; "zone" and "pool" name what clusters use for them.
        Raises UsageError where no node has it."""
        labels = {key for node in nodes for key in node.metadata.labels}
        short = {"zone": ZONE_LABELS[::-1], "pool": POOL_LABELS, "hostname": (HOSTNAME_LABEL,)}
        if self.each in (EACH_NODE, *labels):
            return self.each
        for label in short.get(self.each, ()):
            if label in labels:
                return label
        hint = near_hint(self.each, sorted(labels))
        raise UsageError(f'no node has the label "{self.each}"{hint}; or give "{EACH_NODE}"')


def _more_nodes(base: LeavingCluster, row: DomainDrain, *, force: bool) -> MoreLike | None:
    """Return copies of a node that stays, with which the domain can go: as few as runs find, and no
    more than it has nodes."""
    for model in _models(base.state, row.nodes):

        def suffices(count: int, model: Node = model) -> bool:
            with suppress(InputError), base.trial():
                base.add_copies([model] * count)
                return DrainTrial.of(base, row.nodes, force=force, explains=False).is_possible
            return False

        most = len(row.nodes)
        if not suffices(most):
            continue
        enough, lacking = most, 0
        while enough - lacking > 1:
            middle = (lacking + enough) // 2
            if suffices(middle):
                enough = middle
            else:
                lacking = middle
        return MoreLike(model.name, enough)
    return None


def _models(state: ClusterState, leaving: Sequence[str]) -> Iterator[Node]:
    """Yield nodes to copy, of other domains: those most like the leaving ones first, one of each
    pool and zone."""
    keys = (*POOL_LABELS, *ZONE_LABELS)

    def look(node: Node) -> tuple[str | None, ...]:
        return tuple(node.metadata.labels.get(key) for key in keys)

    gone = frozenset(leaving)
    looks = [look(node) for node in state.nodes if node.name in gone]
    models: dict[tuple[str | None, ...], Node] = {}
    for node in state.nodes:
        if node.name not in gone and not set_apart(node):
            models.setdefault(look(node), node)

    def likeness(item: tuple[tuple[str | None, ...], Node]) -> int:
        return -sum(
            mine == theirs for each in looks for mine, theirs in zip(item[0], each, strict=True)
        )

    for _, node in sorted(models.items(), key=likeness)[:MAX_MODELS]:
        yield node
