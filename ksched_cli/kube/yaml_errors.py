"""What is wrong with a YAML text: as data, so that who reads JSON need not load a YAML parser."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ksched_cli.kube.formatting import json_text, quote


class YamlError(Exception):
    """The text is not YAML as go-yaml reads it. message: Go's; line and column count from 1."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        self.message, self.line, self.column = message, line, column
        super().__init__(message)


class Duplicate(Struct, frozen=True):
    """A key that its mapping already has. line, column: of its value, counted from 1."""

    key: Any
    line: int
    column: int

    def text(self) -> str:
        """Return the message of go-yaml's strict mode."""
        key = quote(self.key) if isinstance(self.key, str) else json_text(self.key)
        return f"line {self.line}: key {key} already set in map"
