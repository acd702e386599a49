"""An answer of any fields."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from ksched_cli.answers import StateAnswer


class Anything(StateAnswer, frozen=True, kw_only=True):
    COMMAND: ClassVar = "anything"

    kind: Literal["Anything"] = "Anything"
    note: str = ""
    count: int = 0
    names: tuple[str, ...] = ()
    items: tuple[Mapping[str, Any], ...] = ()
    fields: Mapping[str, Any] = {}
