"""The pages of comparisons over time: sides overlaid, pods that fared differently, draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf, titled

NODES = (node("a", cpu=2), node("b", cpu=1))


def timeline(folder: Path, *events: dict[str, Any]) -> Path:
    path = folder / "timeline.json"
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}))
    return path


def test_sides_share_charts_and_pods_have_their_waits(page_of: PageOf, tmp_path: Path) -> None:
    path = timeline(
        tmp_path,
        {"at": 0, "pod": pod("first", cpu=2), "runsFor": 10},
        {"at": 1, "pod": pod("second", cpu=1), "runsFor": 10},
    )
    document, page = page_of(
        "compare", "--timeline", path, "--vs", "--change", "cordon b", objects=NODES
    )
    names = [side["name"] for side in document["sides"]]
    charts = page.data["curves"]["sides"]["charts"]
    assert charts[0]["title"] == "Running pods"
    assert [line["name"] for line in charts[0]["lines"]] == names
    pods = titled(page.data["grids"]["pods"])
    (differing,) = document["pods"]
    assert pods["Pod"] == [differing["pod"]] == ["default/second"]
    assert pods[f"Node, {names[0]}"] == ["b"]
    # Without b it waits for the end of the first.
    before, after = differing["waited"]
    assert pods["Waits longer"] == [after - before]
    assert after >= 9


def test_equal_sides_say_so(page_of: PageOf, tmp_path: Path) -> None:
    path = timeline(tmp_path, {"at": 0, "pod": pod("p", cpu=1), "runsFor": 10})
    _, page = page_of("compare", "--timeline", path, "--vs", objects=NODES)
    assert "no difference: 1 pod placed alike on every side" in page.text
    assert "pods" not in page.data["grids"]


def test_draws_of_sides_say_what_differs_by_more_than_the_noise(
    page_of: PageOf, tmp_path: Path
) -> None:
    path = timeline(tmp_path, {"at": 0, "pod": pod("p", cpu=2), "runsFor": 10})
    options = ("--seeds", 3, "--vs", "--change", "cordon a")
    document, page = page_of("compare", "--timeline", path, *options, objects=NODES)
    assert document["sides"][1]["summary"]["pending"]["mean"] == 1
    text = " ".join(page.text)
    assert "figures differ by more than the noise of 3 seeds" in text
    lines = page.data["curves"]["sides"]["charts"][0]["lines"]
    assert all(line["low"] == line["high"] for line in lines)
    assert "Figures that differ" in text
