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
    # b evicts a at 1.5 s, is placed 30 s later, and runs 30 s: 61.5 / 3,600 hours of one node.
    assert document["end"] == 61.5
    assert "node-hours 0.017" in text
    assert "Waiting times by priority" in text
    assert "Over time" in text
    lines = [attributes for tag, attributes in page.tags if tag == "polyline"]
    assert len(lines) >= 4
    assert all(line["points"] for line in lines)


def test_node_groups_and_what_was_decided_are_those_of_the_record(
    page_of: PageOf, tmp_path: Path
) -> None:
    events = [{"at": at, "pod": pod(f"p{at}", cpu=1), "runsFor": 200} for at in range(2)]
    timeline, scaling = tmp_path / "timeline.json", tmp_path / "autoscaler.json"
    header = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    timeline.write_text(json.dumps({**header, "events": events}))
    group = {"name": "spare", "like": "n", "maxSize": 2}
    header = {"apiVersion": "ksched/v1", "kind": "Autoscaler"}
    scaling.write_text(json.dumps({**header, "nodeGroups": [group]}))
    document, page = page_of(
        "replay", timeline, "--autoscaler", scaling, objects=(node("n", cpu=1),)
    )
    text = " ".join(page.text)
    (only,) = document["autoscaler"]["groups"]
    assert (only["max"], only["added"], only["removed"]) == (1, 1, 1)
    assert "Node groups" in text
    assert "node-hours" in text
    assert "ScaleUp spare 1 pending pods" in text
