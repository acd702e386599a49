"""Writes configuration.json from the types that decode a configuration, for editors.

python -m ksched_cli.schemas.generate
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from ksched_cli.config.schema import configuration_schema
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of

FILE = Path(__file__).with_name("configuration.json")
_SCALARS = re.compile(r"\[\s+([^\[\]{}]*?)\s+\]")


def on_one_line(document: str) -> str:
    """JSON text with every list of scalars on a line."""
    return _SCALARS.sub(lambda match: f"[{' '.join(match[1].split())}]", document)


def text() -> str:
    """The whole file."""
    return on_one_line(json.dumps(configuration_schema(registry_of(release_of())), indent=2)) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
