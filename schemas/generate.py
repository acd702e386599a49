"""Writes the schemas of this folder from the types that decode or are the documents.

python -m ksched_cli.schemas.generate
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from msgspec import structs

from ksched_cli.analysis.expectations import ExpectationsDocument
from ksched_cli.analysis.run_figures import OK, Ended, Failed
from ksched_cli.answers import Answer
from ksched_cli.kube.file_parts import FilePart
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.run.project import FILE as PROJECT_FILE
from ksched_cli.run.project import ProjectSettings
from ksched_cli.scenario.file import ScenarioDocument
from ksched_cli.scenario.node_groups import AutoscalerDocument
from ksched_cli.scenario.prices import PricesDocument
from ksched_cli.scenario.timeline import TimelineDocument
from ksched_cli.schemas.configuration import configuration_schema
from ksched_cli.schemas.of_types import DIALECT, schema_of
from ksched_cli.schemas.state import state_schema
from ksched_cli.sweep.outcome import RowHead
from ksched_cli.sweep.plan import RowParameters
from ksched_cli.sweep.sweep_file import SweepDocument
from ksched_cli.sweep.tune_file import TuneDocument

FOLDER = Path(__file__).parent
# The rooms that have answers.
_ROOMS = ("analysis", "config", "framework", "live", "sweep.answers")
# File → what it describes, in words that editors show, and the type that decodes it.
FILES: Mapping[str, tuple[str, type[FilePart]]] = {
    "autoscaler": (
        "What `ksched replay --autoscaler` takes: node groups, and when nodes join and leave them",
        AutoscalerDocument,
    ),
    "expectations": (
        "What `ksched test` takes: expectations about a run",
        ExpectationsDocument,
    ),
    "prices": ("What `--price FILE` takes: what nodes cost an hour", PricesDocument),
    "project": (f"{PROJECT_FILE}: settings of the files below its folder", ProjectSettings),
    "scenario": ("What --scenario takes: changes to a cluster state, in order", ScenarioDocument),
    "sweep": (
        "What `ksched sweep` takes: many runs, as axes; where a field takes a value or a list, a "
        "list is an axis",
        SweepDocument,
    ),
    "timeline": (
        "What `ksched replay` takes: changes to a cluster, each with its time. In JSON lines the "
        "first line is the header, this object without `events`, and every further line an event",
        TimelineDocument,
    ),
    "tune": ("What `ksched tune` takes: what to vary, and what for", TuneDocument),
}
_SCALARS = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")


def answers() -> dict[str, list[type[Answer]]]:
    """Return each schema's name, and the answers that it describes: those of one kind."""
    for room in _ROOMS:
        package = import_module(f"ksched_cli.{room}")
        for module in walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
            import_module(module.name)
    every, kinds = list(Answer.__subclasses__()), dict[str, list[type[Answer]]]()
    for cls in every:
        every += cls.__subclasses__()
        kind = next(field.default for field in structs.fields(cls) if field.name == "kind")
        if isinstance(kind, str) and cls.__module__.startswith("ksched_cli."):
            kinds.setdefault(re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower(), []).append(cls)
    # The first has the command that a schema's title names.
    return {
        name: sorted(types, key=lambda cls: (len(cls.COMMAND), cls.__name__))
        for name, types in sorted(kinds.items())
    }


def texts() -> dict[str, str]:
    """The whole of every file, by its name."""
    schemas = {name: schema_of(_title(types), types) for name, types in answers().items()}
    schemas |= {name: schema_of(title, [cls]) for name, (title, cls) in FILES.items()}
    schemas["configuration"] = configuration_schema(registry_of(release_of()))
    schemas["state"] = state_schema()
    schemas["sweep_row"] = _row_schema()
    return {name: _text(schema) for name, schema in schemas.items()}


def _row_schema() -> dict[str, Any]:
    """A row of a sweep: what was run, and how the run ended or failed."""
    parts = (RowHead, RowParameters, Failed, Ended)
    head, parameters, failed, ended = (schema_of("", [part]) for part in parts)
    shared = set(failed["required"]) & set(ended["required"])
    status = {"enum": [OK, *failed["properties"]["status"]["enum"]]}
    properties = {
        **head["properties"],
        **parameters["properties"],
        **failed["properties"],
        **ended["properties"],
        "status": status,
    }
    return {
        "$schema": DIALECT,
        "title": "A line of the file that `ksched sweep --rows` writes",
        "type": "object",
        "properties": properties,
        "required": [*head["required"], *parameters["required"], *sorted(shared - {"status"})],
        "additionalProperties": False,
        "if": {"properties": {"status": {"const": OK}}},
        "then": {"required": [key for key in ended["required"] if key not in shared]},
        "else": {"required": [key for key in failed["required"] if key not in shared]},
        "$defs": ended["$defs"],
    }


def _title(types: Sequence[type[Answer]]) -> str:
    return f"What `ksched {types[0].COMMAND}` prints"


def _text(schema: Mapping[str, object]) -> str:
    """JSON with every list of scalars on a line."""
    document = json.dumps(schema, indent=2, ensure_ascii=False)
    return _SCALARS.sub(lambda match: f"[{' '.join(match[1].split())}]", document) + "\n"


if __name__ == "__main__":
    for name, text in texts().items():
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
