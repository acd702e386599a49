"""The page of a replay shows what the record has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ksched_cli.report.html import gantt
from ksched_cli.testing import Manifest, node, pod
from tests.report.html.pages import PageOf, titled


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
    # c waits until the end, from 2 s on.
    assert "Waited for a node Pods Still wait Mean P50 P90 P99 Max all pods 3 1" in text
    assert "priority 5 1 0 30s" in text
    assert "Pods that stay pending" in text
    assert "Over time" in text
    charts = page.data["curves"]["replay"]["charts"]
    assert [chart["title"] for chart in charts] == ["Pods", "Nodes", "Utilisation", "Stranded"]
    pending = next(line for line in charts[0]["lines"] if line["name"] == "pending")
    assert pending["max"] == [2, 2]
    # b's preemption of a.
    assert page.data["curves"]["replay"]["events"] == [[1.5, "evictions", "1 pod evicted", None]]


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


def test_draws_have_bands_and_a_table_of_figures(page_of: PageOf, tmp_path: Path) -> None:
    """Where the draw puts the small pod on the node that is cordoned then, the large one has room;
    where it does not, the large one waits."""
    events: list[Manifest] = [
        {"at": 0, "pod": pod("small", cpu=1), "runsFor": 100},
        {"at": 5, "change": "cordon b"},
        {"at": 6, "pod": pod("large", cpu=2), "runsFor": 10},
    ]
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}))
    nodes = (node("a", cpu=2), node("b", cpu=2))
    document, page = page_of("replay", path, "--seeds", 8, objects=nodes)
    assert document["summary"]["wait"]["max"]["high"] > 0
    drawn = page.data["curves"]["replay"]
    assert drawn["events"] == [[5, "changes", "cordon b", None]]
    lines = {line["name"]: line for line in drawn["charts"][0]["lines"]}
    pending = lines["pending"]
    assert (min(pending["low"]), max(pending["high"])) == (0, 1)
    assert 0 < max(pending["values"]) < 1
    assert "mean of 8 seeds" in " ".join(page.text)
    assert "wait.mean (s)" in page.text


def timeline_of(path: Path, *events: Manifest) -> Path:
    document = {"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}
    path.write_text(json.dumps(document))
    return path


def test_pods_are_drawn_by_node_over_time(page_of: PageOf, tmp_path: Path) -> None:
    """From the table of pods, which has the times of the record."""
    path = timeline_of(
        tmp_path / "timeline.json",
        {"at": 0, "pod": pod("a", cpu=1), "runsFor": 100},
        {"at": 10, "pod": pod("b", cpu=1), "runsFor": 30},
        {"at": 20, "pod": pod("c", cpu=99)},
    )
    objects = (node("n", cpu=1), pod("first", node="n"))
    document, page = page_of("replay", path, objects=objects)
    assert page.data["gantt"] == {"start": None, "end": document["end"]}
    assert "Pods by node" in page.text
    pods = titled(page.data["grids"]["pods"])
    names = ("Pod", "Node", "Queued", "Placed", "Left")
    assert sorted(zip(*(pods[name] for name in names), strict=True)) == sorted(
        (each["pod"], each["node"] or "", each["queued"], each["placed"], each["ended"])
        for each in document["pods"]
    )
    assert ("default/b", "n", 10, 100, 130) in zip(*(pods[name] for name in names), strict=True)


def test_many_pods_are_drawn_for_the_first_nodes_alone(
    page_of: PageOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pods of a node are there, or none; how many are left out is said."""
    monkeypatch.setattr(gantt, "MOST_PODS", 5)
    events = ({"at": at, "pod": pod(f"p{at}", cpu=1), "runsFor": 100} for at in range(9))
    path = timeline_of(tmp_path / "timeline.json", *events)
    nodes = [node(name, cpu=3) for name in ("oak", "elm", "ash")]
    _, page = page_of("replay", path, objects=nodes)
    pods = titled(page.data["grids"]["pods"])
    assert pods["Node"] == ["ash"] * 3
    assert "The first 1 of 3 nodes by name: 3 of 9 pods." in " ".join(page.text)
