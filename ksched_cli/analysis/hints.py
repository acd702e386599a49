"""Hints: single changes that a diagnosis says would help, each the outcome of a run.

The plugins propose them (proposals.py). Each is made on the state, and the whole scheduler runs
with exactly that change; what is shown is for whom it helps. A hint that helps none of the pods, or
takes another pod its node, is dropped, and so is one that undoes a change of the question.

Runs cost time, so that a budget limits them: what it leaves over is "might help".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from msgspec import structs

from ksched_cli.answers import Count, Part
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.scheduling_cycle import RandomChoice
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import InputError, UsageError
from ksched_cli.scenario.owned_pods import deployment_of

if TYPE_CHECKING:
    from ksched_cli.framework.interface import Proposal

# The runs of one question may cost this many units, of which a second has about 300,000: as many as
# one run takes on 5,000 nodes with 25,000 pods.
BUDGET = 45_000
RUN_COST = 1_500  # of a run, besides one for each node and each pod
# An attempt costs so much, and one for so many nodes, or for each with a plugin from outside.
ATTEMPT_COST = 70
NODES_AT_ONCE = 14
MOST_STEPS = 10  # of a rollout; the rest of a longer one is done at once
# As many are shown, and as many are run for one cause.
SHOWN, TRIED = 3, 6


class Hint(Part, frozen=True):
    """A change that gives pods a node, as a run with exactly that change shows.

    text: what to do, in words
    changes: lines for --change
    places: the pods of those asked about that then have a node
    waiting: how many of them have none without it
    unplaces: pods of the same workload that have a node without it, and none with it
    """

    text: str
    changes: tuple[str, ...]
    places: tuple[str, ...]
    waiting: Count
    unplaces: tuple[str, ...] = ()

    @property
    def gain(self) -> int:
        """How many more pods have a node."""
        return len(self.places) - len(self.unplaces)


def remedy_text(hints: Sequence[Hint], owner: str = "") -> str:
    """Return what helps, with for whom where several pods wait. owner: of these pods, as
    "ReplicaSet/web" """
    texts = []
    of_owner = f" of {owner}" if owner else ""
    for hint in hints:
        count = hint.gain
        if hint.waiting == 1:
            texts.append(hint.text)
        elif count == hint.waiting:
            texts.append(f"{hint.text} (places all {count:,} pods{of_owner})")
        else:
            texts.append(f"{hint.text} (helps {count:,} of {hint.waiting:,} pods{of_owner})")
    return ", or ".join(texts)


def joined_hints(
    first: Sequence[Hint], second: Sequence[Hint], of_first: int, of_second: int
) -> tuple[Hint, ...]:
    """Return the hints of two sets of pods as those of all of them, the ones that help most first.
    of_first, of_second: how many pods each set has"""
    joined: dict[tuple[str, ...], Hint] = {}
    for hint in (*first, *second):
        before = joined.get(hint.changes)
        places = (*(before.places if before is not None else ()), *hint.places)
        joined[hint.changes] = structs.replace(hint, places=places, waiting=of_first + of_second)
    by_gain = sorted(joined.values(), key=lambda hint: hint.gain)
    # The same words may stand for changes of several pods: the change that helps most is enough.
    unique = {hint.text: hint for hint in by_gain}
    return tuple(sorted(unique.values(), key=lambda hint: -hint.gain)[:SHOWN])


def fork(simulation: Simulation, state: ClusterState) -> Simulation:
    """Return a simulation like this one, of another state, that has not run. It shares what was
    made of the pods that both states have, and tells nobody of its progress."""
    options = simulation.options
    draw = options.tie_break
    options = replace(
        options,
        tie_break=RandomChoice(draw.seed) if isinstance(draw, RandomChoice) else draw,
        detailed=False,
        on_progress=None,
        trace_calls=False,
    )
    infos = (pod for pods in simulation.snapshot.pods for pod in pods)
    catalog = simulation.catalog.successor(infos)
    return Simulation(state, simulation.configuration, simulation.registry, options, pods=catalog)


@dataclass(slots=True)
class Hints:
    """Verifies hints after a run.

    simulation: has run
    before: what that run did
    only: the one pod that was tried; None: all were
    workloads: the pods that workloads lack are made
    current: the objects that changes are made to; None: the simulation's state
    """

    simulation: Simulation
    before: RunRecord
    only: PodInfo | None = None
    workloads: bool = True
    current: ClusterState | None = None
    _budget: float = BUDGET
    # By changes, the pods that have no node after them; None where they cannot be made.
    _outcomes: dict[tuple[str, ...], frozenset[str] | None] = field(default_factory=dict)
    # Changes whose rollouts cost more than the budget had.
    _unpaid: set[tuple[str, ...]] = field(default_factory=set)

    @property
    def state(self) -> ClusterState:
        """Return the objects that changes are made to."""
        return self.simulation.state if self.current is None else self.current

    def verified(
        self, proposals: Iterable[Proposal], pod: PodInfo, pods: Collection[str], own: str = ""
    ) -> tuple[tuple[Hint, ...], tuple[str, ...]]:
        """Return the hints that help, and the texts of those for which the budget has no run.

        proposals: cheapest first, about the pod
        pods: those that wait for the same reason, of which hints help some
        own: a pod that they must help; "" for any
        """
        from ksched_cli.analysis.proposals import (
            Step,
            change_lines,
            fields_set,
            subjects_of,
            undoes,
        )

        state = self.state
        subjects = subjects_of(pod.pod, frozenset(pods), state)
        fields = fields_set(state.changes)
        hints: list[Hint] = []
        untried: list[str] = []
        for proposal in [*proposals][:TRIED]:
            step = Step(proposal, subjects)
            lines = change_lines([step])
            if len(hints) == SHOWN or undoes(lines, fields):
                continue
            if lines not in self._outcomes and not self._pays():
                untried.append(proposal.text)
                continue
            hint = self._hint(proposal.text + step.note, lines, pods, _workload(pod.pod))
            if hint is None and lines in self._unpaid:
                untried.append(proposal.text)
            if hint is not None and own in ("", *hint.places):
                hints.append(hint)
        return tuple(hints), tuple(untried)

    def _hint(
        self, text: str, lines: tuple[str, ...], pods: Collection[str], workload: object
    ) -> Hint | None:
        """Return the hint of these changes; None if they cannot be made, help none of the pods,
        or take others their nodes than fewer pods of the same workload."""
        state = self.state
        if () not in self._outcomes:
            self._outcomes[()] = without_node(state, self.before)
        if lines not in self._outcomes:
            without = self._outcomes[()] or frozenset()
            holds_room = workload is not None and any(
                pod.key not in without and _workload(pod) == workload for pod in state.pods
            )
            self._outcomes[lines] = self._run(lines, holds_room=holds_room)
        before, after = self._outcomes[()], self._outcomes[lines]
        if before is None or after is None:
            return None
        places = tuple(key for key in pods if key in before and key not in after)
        unplaces = tuple(sorted(after - before))
        hint = Hint(text, lines, places, len(pods), unplaces)
        lose = (pod for pod in state.pods if unplaces and pod.key in unplaces)
        is_own = all(workload is not None and _workload(pod) == workload for pod in lose)
        return hint if hint.gain > 0 and is_own else None

    def _pays(self) -> bool:
        """Take the cost of a run from the budget; False where it has not so much left."""
        simulation = self.simulation
        # The calls of extenders cost more than any run, and would be recorded; a plugin that fails
        # would fail again.
        if simulation.extenders.extenders or simulation.caller.defects:
            return False
        frameworks = simulation.frameworks.values()
        plugins = {plugin.name for framework in frameworks for plugin in framework.plugins}
        has_foreign = any(simulation.registry[name].is_foreign for name in plugins)
        nodes = len(simulation.snapshot)
        attempts = 1 if self.only is not None else len(self.before.attempts)
        cost: float = RUN_COST + nodes + len(self.state.pods)
        cost += attempts * (ATTEMPT_COST + nodes / (1 if has_foreign else NODES_AT_ONCE))
        if cost > self._budget:
            return False
        self._budget -= cost
        return True

    def _run(self, lines: tuple[str, ...], *, holds_room: bool) -> frozenset[str] | None:
        """Return the pods without a node after the changes and a run; None if the changes cannot
        be made. A pod that a rollout replaces has its successor's node.

        holds_room: pods of the workload have a node. Else it does not matter whether they are
                    replaced step by step or at once, which costs fewer runs
        """
        from ksched_cli.run.rollout import rolling, successors_of
        from ksched_cli.scenario.change import apply_changes
        from ksched_cli.scenario.file import parse_change

        def open_paid(state: ClusterState) -> Simulation:
            if not self._pays():
                raise _UnpaidError
            return fork(self.simulation, state)

        before, roll = self.state, None
        if holds_room:
            roll = rolling(open_paid, self.simulation.configuration.release, MOST_STEPS)
        try:
            changes = [*map(parse_change, lines)]
            state, _ = apply_changes(before, changes, workloads=self.workloads, roll=roll)
            simulation = fork(self.simulation, state)
        except (UsageError, InputError):
            return None
        except _UnpaidError:
            self._unpaid.add(lines)
            return None
        successors = successors_of(before, state)
        only = self.only
        if only is not None:
            key = successors.get(only.key, only.key)
            pod = next((pod for pod in state.pods if pod.key == key), None)
            only = None if pod is None else simulation.catalog.info(pod)
        pods = without_node(state, simulation.run(only))
        simulation.close()
        former = {new: old for old, new in successors.items()}
        return frozenset(former.get(key, key) for key in pods)


class _UnpaidError(Exception):
    """The budget has no run for a rollout."""


def without_node(state: ClusterState, record: RunRecord) -> frozenset[str]:
    """Return the pods that have no node after a run of the state."""
    pending = {pod.key for pod in state.pods if not pod.node_name}
    return frozenset(pending - record.placements.keys()).union(each.pod for each in record.evicted)


def _workload(pod: Pod) -> object:
    """Return what the pods of one workload have in common; None for a pod without a controller."""
    if pod.metadata.controller is None:
        return None
    return pod.namespace, deployment_of(pod) or pod.owner
