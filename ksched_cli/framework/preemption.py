"""What a PostFilter plugin found out about making room, for the engine to carry out and report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ksched_cli.cluster.pod_info import PodInfo

STATE_KEY = "ksched/preemption"


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods that would leave a node, most important first."""

    pods: tuple[PodInfo, ...]
    pdb_violations: int


@dataclass(frozen=True, slots=True)
class Preemption:
    """candidates: by node name; node: the one taken, or ""; ties: the equally good ones."""

    candidates: Mapping[str, Victims] = field(default_factory=dict)
    node: str = ""
    ties: tuple[str, ...] = ()
