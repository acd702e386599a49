"""Writes the schemas of configurations and of project files from the types that decode them.

python -m ksched_cli.schemas.generate
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from ksched_cli.config.project import FILE as PROJECT_FILE
from ksched_cli.config.project import project_type
from ksched_cli.config.schema import configuration_schema
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of

FILE = Path(__file__).with_name("configuration.json")
PROJECT = Path(__file__).with_name("project.json")
_SCALARS = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")


def on_one_line(document: str) -> str:
    """JSON text with every list of scalars on a line."""
    return _SCALARS.sub(lambda match: f"[{' '.join(match[1].split())}]", document)


def text() -> str:
    """The whole of configuration.json."""
    return _written(configuration_schema(registry_of(release_of())))


def project_text() -> str:
    """The whole of project.json."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{PROJECT_FILE}: settings of the files below its folder",
    }
    return _written({**head, **msgspec.json.schema(project_type())})


def _written(schema: dict[str, Any]) -> str:
    return on_one_line(json.dumps(schema, indent=2)) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    PROJECT.write_text(project_text(), encoding="utf-8")
