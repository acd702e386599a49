"""Schemas of formats that others publish; `.ci/pipelines` fetches them into .schemas."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / ".schemas"


def published_schema(name: str) -> str:
    """Its text; the test is skipped where the schemas have not been fetched."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"no {path.relative_to(FOLDER.parent)}: .ci/pipelines fetches it")
    return path.read_text()
