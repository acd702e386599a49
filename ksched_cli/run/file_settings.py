"""The keys of files that set fields of a Run for all of their runs: a type made of these fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import UNSET, UnsetType, defstruct

from ksched_cli.kube.file_parts import FilePart
from ksched_cli.run.run import SETTINGS


def settings_type(
    name: str,
    type_of: Callable[[Any], Any] = lambda value: value,
    base: type[Any] = FilePart,
) -> type[Any]:
    """Return a Struct with an optional field for each of the keys, described by the help of the
    option that sets the same. type_of: from the type of one value to that of the field"""
    fields, lines = [], []
    for key, field in SETTINGS.items():
        own = re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key)
        value = field.in_files.value if field.in_files else None
        fields.append((own, type_of(value or field.type) | UnsetType, UNSET))
        lines.append(f"{own}: {field.options[0].help}")
    doc = "What holds of all runs of a file.\n\n" + "\n".join(lines)
    return defstruct(
        name,
        fields,
        bases=(base,),
        namespace={"__doc__": doc},
        frozen=True,
        kw_only=True,
        rename="camel",
    )
