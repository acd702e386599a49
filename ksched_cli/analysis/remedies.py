"""Answers of `fix`: the remedies of pods that wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from ksched_cli.analysis.proposals import ConflictingReason
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer


class RemedyCost(Part, frozen=True):
    """What a remedy costs.

    points: all together; the less, the better
    disruption: running pods that restart
    evictions: pods that leave their node for the pod, be they placed elsewhere
    nodes: that are added
    requests: the largest share of a request that the pod gives up
    """

    points: float
    disruption: Count = 0
    evictions: Count = 0
    nodes: Count = 0
    requests: float = 0


class Aftermath(Part, frozen=True):
    """What else a remedy does.

    placed: other pods that waited and have a node then
    pending_again: pods that have a node without it and none with it
    gone: pods that nothing makes anew
    moved: running pods that get another node; pod → node
    """

    placed: tuple[str, ...] = ()
    pending_again: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    moved: Mapping[str, str] = {}


class Remedy(Part, frozen=True):
    """Changes after which the pods have a node; a whole run has verified it.

    text: what to do, in words
    kinds: of the changes, as --never and --prefer take them
    changes: lines for --change
    commands: what does the same with kubectl, a line for each change; empty where nothing does
    patches: of manifests, as kustomize takes them; only for pods and workloads
    node: of the pod, or of the first of them
    because: the reasons that are lifted
    """

    text: str
    kinds: tuple[str, ...]
    changes: tuple[str, ...]
    commands: tuple[str, ...]
    patches: tuple[Any, ...]
    cost: RemedyCost
    node: str
    because: tuple[str, ...]
    verified: Literal[True] = True
    also: Aftermath = Aftermath()
    parts: Annotated[tuple[str, ...], HIDDEN] = ()


class Remedies(StateAnswer, frozen=True, kw_only=True):
    """The changes after which pods that wait have a node.

    pod: the pod or the workload asked about; "" with --pending
    pods: those of its pods that wait, or all that wait
    node: where the pod is placed without any change; "" where it waits
    group: the pod group of that pod, where there is one
    blocked_by: the pod whose attempt is explained: the first that finds no node
    domain: KEY=VALUE of the topology domain that its group was tried in, of several the one where
            most of the group's pods find a node
    cause: what is in the way where the least is
    remedies: best first
    unresolved: with --pending, the pods that none of the changes helps
    conflict: if there is no remedy, a smallest set of reasons that covers every node
    runs: how many runs were made
    not_tried: what the search left out, and why
    """

    COMMAND: ClassVar = "fix"
    ROWS: ClassVar = "remedies"

    kind: Literal["Remedies"] = "Remedies"
    pod: str
    pods: tuple[str, ...] = ()
    node: str = ""
    group: str = ""
    blocked_by: str = ""
    domain: str = ""
    cause: str = ""
    remedies: tuple[Remedy, ...] = ()
    unresolved: tuple[str, ...] = ()
    conflict: tuple[ConflictingReason, ...] = ()
    runs: Count = 0
    not_tried: tuple[str, ...] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def is_yes(self) -> bool:
        """Whether all of the pods have a node, possibly after a remedy."""
        return not self.unresolved and (not self.pods or bool(self.remedies))
