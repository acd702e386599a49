"""Tables of names and words, in YAML files beside the modules that read them."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def read_table(module: str, cls: type[T]) -> T:
    """The file that has the module's name. module: its `__file__`"""
    import yaml  # which reading JSON need not wait for

    text = Path(module).with_suffix(".yaml").read_text("utf-8")
    return msgspec.convert(yaml.load(text, yaml.CSafeLoader), cls)
