"""The effects of changes on a state, as data."""

from __future__ import annotations

from msgspec import Struct

from ksched_cli.answers import AppliedChange


class Effect(Struct, frozen=True):
    """The effect of a change on one object.

    subject: the object, as "node-3" or "default/web-1"
    action:  the same words for the same thing, as "pending again": tables group by them
    detail:  about this object, as "was on node-3"
    """

    subject: str
    action: str
    detail: str = ""

    @property
    def text(self) -> str:
        """One line of all."""
        return f"{self.subject}: {self.action}" + (f" ({self.detail})" if self.detail else "")


class ChangeRecord(Struct, frozen=True):
    """text: the change as it was written. effects: in the order in which they came about."""

    text: str
    effects: tuple[Effect, ...]

    @property
    def applied(self) -> AppliedChange:
        """The change as answers show it."""
        return AppliedChange(self.text, tuple(effect.text for effect in self.effects))
