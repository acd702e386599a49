"""What a PostFilter plugin wants done besides evictions, for the engine to carry out or to leave.

An attempt must change nothing by itself: inquiries, and the attempt right after an eviction, only
say what would be done.
"""

from __future__ import annotations

from collections.abc import Callable

from ksched_cli.framework.cycle_state import CycleState

STATE_KEY = "ksched/afterwards"


def defer(state: CycleState, action: Callable[[], None]) -> None:
    """`action` is called after the attempt, if what PostFilter found is carried out at all."""
    state.data.setdefault(STATE_KEY, []).append(action)


def deferred(state: CycleState) -> tuple[Callable[[], None], ...]:
    return tuple(state.data.get(STATE_KEY, ()))
