"""A change to a cluster state: data that is parsed from a line or a file, and applied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

from ksched_cli.cluster.change_record import ChangeRecord, Effect
from ksched_cli.cluster.loading.state_warnings import budget_warnings
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import UsageError, shortened
from ksched_cli.kube.near_names import near_hint
from ksched_cli.scenario.workloads import make_pods, renewed_warnings

_WITHOUT_EFFECT = "it changes nothing here"

Changed = tuple[ClusterState, list[Effect]]
"""The state after a change, and what the change did."""


class ChangeError(UsageError):
    """A change that cannot be read, or names what is not there.

    text: the change as it was written. problem: what is wrong, and what to write instead
    """

    def __init__(self, text: str, problem: str) -> None:
        self.text, self.problem = text, problem
        super().__init__(f'change "{shortened(text)}": {shortened(problem)}')


Roll: TypeAlias = "Callable[[Change, ClusterState, Changed], Changed]"
"""Makes a change that replaced pods at once one that replaces them step by step, given the state
before it and what it did."""


@dataclass(frozen=True, slots=True)
class Change(ABC):
    """One change. text: as it was written; ignored: flags of kubectl's that change nothing here;
    at_once: workloads replace all their pods in one step; warnings: about what it was read from."""

    text: str
    ignored: tuple[str, ...] = field(default=(), kw_only=True)
    at_once: bool = field(default=False, kw_only=True)
    warnings: tuple[str, ...] = field(default=(), kw_only=True)
    # Whether it asks budgets about evictions.
    evicts: ClassVar[bool] = False

    @abstractmethod
    def apply(self, state: ClusterState) -> Changed:
        """Return the changed state; objects that do not change are shared. Raises ChangeError."""

    def warnings_in(self, state: ClusterState) -> tuple[str, ...]:
        """Return warnings about what the change does to this state."""
        return ()

    def error(self, problem: str) -> ChangeError:
        return ChangeError(self.text, problem)

    def elsewhere(self, kind: str, name: str, namespace: str, keys: Sequence[str]) -> ChangeError:
        """Return the error for a name that only other namespaces have, under these keys."""
        there = f"there {'is' if len(keys) == 1 else 'are'} {', '.join(sorted(keys))}"
        return self.error(f'no {kind} "{name}" in namespace {namespace}; {there}')

    def unknown(self, kind: str, name: str, names: Sequence[str]) -> ChangeError:
        """Return the error for a name that is not in the state.

        names: of the objects of that kind
        """
        hint = near_hint(name, dict.fromkeys(names), cutoff=0.5)
        count = f"{len(names)} {kind}{'' if len(names) == 1 else 's'}"
        return self.error(f'no {kind} "{name}" in the state ({count}){hint}')


def apply_changes(
    state: ClusterState,
    changes: Sequence[Change],
    *,
    workloads: bool = True,
    roll: Roll | None = None,
    most_added: int | None = None,
) -> tuple[ClusterState, tuple[ChangeRecord, ...]]:
    """Apply all changes, one after the other. Return the state and what each did. The records are
    in the state's `changes` too, after those it has; its warnings are renewed. Raises ChangeError.

    workloads: after each, the pods that workloads lack are made (workloads.py)
    roll: replaces the pods of workloads step by step; None: all at once
    most_added: more nodes and pods than so many may not be added by all changes together
    """
    if not changes:
        return state, ()
    records = []
    before = state
    own = tuple(line for change in changes for line in change.warnings)
    for change in changes:
        own += change.warnings_in(state)
        earlier = state
        state, effects = change.apply(state)
        effects = [*(Effect(flag, "ignored", _WITHOUT_EFFECT) for flag in change.ignored), *effects]
        if workloads:
            state, pod_effects = make_pods(state)
            effects += pod_effects
        added = len(state.nodes) + len(state.pods) - len(before.nodes) - len(before.pods)
        if most_added is not None and added > most_added:
            problem = f"{added:,} nodes and pods are added; at most {most_added:,} can be"
            raise change.error(problem)
        if roll is not None:
            state, effects = roll(change, earlier, (state, effects))
        records.append(ChangeRecord(change.text, tuple(effects)))
    if any(change.evicts for change in changes):
        own += tuple(budget_warnings(before))
    state = replace(
        state,
        changes=(*before.changes, *records),
        warnings=(*own, *renewed_warnings(before, state)),
    )
    return state, tuple(records)
