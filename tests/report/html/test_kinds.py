"""Every kind of document has a page."""

import json
from pathlib import Path

from ksched_cli.report.html.kinds import COMMANDS, PAGES, page_of
from ksched_cli.report.html.sections import Prose, Table
from ksched_cli.schemas.generate import ANSWERS

SCHEMAS = Path(__file__).parents[3] / "schemas"


def test_changes_come_first_and_warnings_last() -> None:
    document = {
        "kind": "Anything",
        "items": [{"a": 1}],
        "changes": [{"text": "drain a", "did": ["cordoned a", "b pending"]}],
        "warnings": ["careful"],
    }
    sections = page_of(document, "", {}).sections
    first, last = sections[0], sections[-1]
    assert isinstance(first, Table)
    assert list(first.rows) == [("drain a", "cordoned a; b pending")]
    assert isinstance(last, Prose)
    assert last.paragraphs == ["careful"]
    assert len(sections) == 3


def test_a_page_names_the_command_of_every_kind() -> None:
    kinds = {
        json.loads(path.read_text()).get("properties", {}).get("kind", {}).get("const", "")
        for path in SCHEMAS.glob("*.json")
        if path.stem not in ANSWERS
    }
    read = {"Autoscaler", "Scenario", "Expectations", "Sweep", "Timeline", "Tune", ""}
    printed = kinds - read
    assert printed <= COMMANDS.keys() | {"KubeSchedulerConfiguration"}
    assert PAGES.keys() <= COMMANDS.keys()
