"""The page of a replay shows what the record has."""

from __future__ import annotations

import json
from pathlib import Path

from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf


def test_waiting_times_and_curves_are_those_of_the_record(page_of: PageOf, tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": pod("a", cpu=1), "runsFor": 100},
        {"at": 1.5, "pod": pod("b", cpu=1, priority=5), "runsFor": 30},
        {"at": 2, "pod": pod("c", cpu=99)},
    ]
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}))
    document, page = page_of("replay", path, objects=(node("n", cpu=1),))
    text = " ".join(page.text)
    assert document["summary"]["pending"] == 1
    assert "pending 1" in text
    assert "Waiting times by priority" in text
    assert "Over time" in text
    lines = [attributes for tag, attributes in page.tags if tag == "polyline"]
    assert len(lines) >= 4
    assert all(line["points"] for line in lines)
