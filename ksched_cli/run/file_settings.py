"""The keys of files that set fields of a Run for all of their runs: a type made of these fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET, UnsetType, defstruct

from ksched_cli.kube.file_parts import FilePart
from ksched_cli.run.axes import Field
from ksched_cli.run.run import SETTINGS


def settings_type(
    name: str,
    fields: Iterable[Field] = tuple(SETTINGS.values()),
    type_of: Callable[[Any], Any] = lambda value: value,
    base: type[Any] = FilePart,
    default: Any = UNSET,
) -> type[Any]:
    """Return a Struct with an optional key for each of these fields, described by the help of the
    option that sets the same. type_of: from the type of one value to that of the key
    default: where a key is left out
    """
    keys, lines = [], []
    for field in fields:
        own = re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", field.key)
        value = field.in_files.value if field.in_files else None
        kind = type_of(value or field.type)
        keys.append((own, kind | UnsetType if default is UNSET else kind, default))
        lines.append(f"{own}: {field.options[0].help}")
    doc = "What holds of all runs of a file.\n\n" + "\n".join(lines)
    return defstruct(
        name,
        keys,
        bases=(base,),
        namespace={"__doc__": doc},
        frozen=True,
        kw_only=True,
        rename="camel",
    )
