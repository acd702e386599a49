"""The effects of changes on a state, as data."""

from __future__ import annotations

from msgspec import Struct

from ksched_cli.answers import AppliedChange
from ksched_cli.answers import Effect as Effect


class ChangeRecord(Struct, frozen=True):
    """text: the change as it was written. effects: in the order in which they came about."""

    text: str
    effects: tuple[Effect, ...]

    @property
    def applied(self) -> AppliedChange:
        """Return the change as answers show it."""
        did = tuple(effect.text for effect in self.effects)
        return AppliedChange(self.text, did, self.effects)
