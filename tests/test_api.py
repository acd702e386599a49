"""What plugins import: a name that goes, or changes its place, breaks somebody's plugin."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ksched_cli import api
from ksched_cli.framework import interface
from ksched_cli.kube.extension_points import POD_GROUP_POINTS, POINT_KEYS, interface_of

# In the documents, and not ours: of events, and of Python.
OTHER_NAMES = {
    "AssignedPod",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PrioritySort",
    "TargetPod",
    "UnscheduledPod",
    "ValueError",
}
DOCS = Path(__file__).parent.parent / "docs"
GUIDES = ("writing-a-plugin.md", "library.md")


def test_every_name_is_there_and_listed_once() -> None:
    assert len(api.__all__) == len(set(api.__all__))
    for name in api.__all__:
        assert getattr(api, name) is not None


def test_nothing_is_imported_without_being_offered() -> None:
    tree = ast.parse(Path(api.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {
        alias.name
        for node in imports
        for alias in node.names
        if (node.module or "").startswith("ksched_cli.")
    }
    assert names == set(api.__all__)


@pytest.mark.parametrize("name", api.__all__)
def test_every_name_is_in_the_documents(name: str) -> None:
    pages = [(DOCS / page).read_text() for page in (*GUIDES, "plugin-api.md")]
    assert any(re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", page) for page in pages)


def test_every_name_in_the_documents_is_there() -> None:
    """Those in tables and text that look like classes of Python's."""
    text = "\n".join((DOCS / page).read_text() for page in GUIDES)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    named = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)+)[`(]", prose))
    assert {"PreFilterPlugin", "ScheduleResult", "PreemptionTrial"} <= named
    assert named - set(api.__all__) == OTHER_NAMES


RUN_POINTS = [key for key in POINT_KEYS if key not in POD_GROUP_POINTS]


@pytest.mark.parametrize("name", list(map(interface_of, RUN_POINTS)))
def test_every_extension_point_has_its_class(name: str) -> None:
    assert getattr(api, name) is getattr(interface, name)
    assert name in api.__all__


def test_the_documents_import_nothing_else_from_it() -> None:
    blocks = [(DOCS / page).read_text() for page in GUIDES]
    lines = [line for text in blocks for line in text.splitlines()]
    imports = [line for line in lines if line.startswith("from ksched_cli.api import ")]
    names = {
        name.strip(" ()") for line in imports for name in line.partition("import")[2].split(",")
    }
    assert names - {""}
    assert names - {""} <= set(api.__all__)


def test_a_plugin_imports_no_commands() -> None:
    code = "import sys, ksched_cli.api; sys.exit('typer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
