"""The page of an audit shows what the record has."""

import json
from pathlib import Path
from typing import Any

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.commands.test_audit import attempt, bound
from tests.report.html.pages import check_stands_alone, titled

NODES = [node("a", cpu=4), node("b", cpu=8)]


def state(path: Path, *objects: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
    return path


def test_decisions_that_differ_are_shown_with_both_nodes_scores(
    ksched: Ksched, tmp_path: Path
) -> None:
    before = state(tmp_path / "before.json", *NODES, pod("p", cpu=2))
    after = state(tmp_path / "after.json", *NODES, bound("p", "a", cpu=2))
    log = tmp_path / "scheduler.log"
    log.write_text(attempt("p"))
    command = ("audit", "--before", before, "--after", after, "--scheduler-log", log, "-o")
    document = json.loads(ksched(*command, "json")[1])
    code, out, _ = ksched(*command, "html")
    assert code == 1
    page = check_stands_alone(out)
    assert f"{len(document['differ'])} of {document['decisions']} decision differs" in page.text
    assert titled(page.data["grids"]["differ"])["Expected on"] == ["b"]
    text = " ".join(page.text)
    (difference,) = document["differ"]
    points = [difference["scores"][name]["NodeResourcesFit"] for name in ("a", "b")]
    assert f"NodeResourcesFit {points[0]} {points[1]} {points[1] - points[0]}" in text
