"""Actions that a PostFilter plugin defers until after the attempt, besides evictions.

An attempt itself changes nothing, because some attempts are only inquiries (`ksched preempt`). The
engine runs the deferred actions where it carries out what PostFilter decided.
"""

from __future__ import annotations

from collections.abc import Callable

from ksched_cli.framework.cycle_state import CycleState

STATE_KEY = "ksched/afterwards"


def defer(state: CycleState, action: Callable[[], None]) -> None:
    """Call `action` after the attempt, if the engine carries out PostFilter's decision."""
    state.data.setdefault(STATE_KEY, []).append(action)


def deferred(state: CycleState) -> tuple[Callable[[], None], ...]:
    """The attempt's deferred actions, in order."""
    return tuple(state.data.get(STATE_KEY, ()))
