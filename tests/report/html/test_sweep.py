"""The page of a sweep shows what the result has."""

import json
from pathlib import Path

from tests.commands.runners import Ksched
from tests.commands.test_sweep import PATCHES, here  # noqa: F401  # a fixture
from tests.report.html.pages import check_stands_alone, titled
from tests.sweep.sweeps import write_sweep


def test_variants_metrics_and_front_are_those_of_the_result(ksched: Ksched, tmp_path: Path) -> None:
    metrics = {"nodesUsed": "minimize", "utilization.cpu.max": "minimize", "placed": "maximize"}
    file = write_sweep(tmp_path, patches=PATCHES, seeds=3, metrics=metrics)
    document = json.loads(ksched("sweep", file, "-o", "json")[1])
    page = check_stands_alone(ksched("sweep", file, "-o", "html")[1])
    text = " ".join(page.text)
    assert "less is better" in text
    assert text.count("nodesUsed is least with") >= 1
    assert "No variant is better in both metrics, by their medians." in text
    variants = titled(page.data["grids"]["variants"])
    assert variants["Variant"] == [item["name"] for item in document["variants"]]
    assert variants["nodesUsed"] == [
        item["metrics"]["nodesUsed"]["median"] for item in document["variants"]
    ]
    points = [attributes for tag, attributes in page.tags if tag == "circle"]
    assert len(points) == 2
    assert sum(point["class"] == "c1" for point in points) == len(
        document["paretoFront"]["variants"]
    )


def test_runs_that_failed_are_shown_with_an_example(ksched: Ksched, tmp_path: Path) -> None:
    patches = [
        {"path": "podInitialBackoffSeconds", "values": [1, 8]},
        {"path": "podMaxBackoffSeconds", "values": [5, 10]},
    ]
    code, out, _ = ksched("sweep", write_sweep(tmp_path, patches=patches), "-o", "html")
    assert code == 1
    text = " ".join(check_stands_alone(out).text)
    assert "Runs that failed" in text
    assert "podMaxBackoffSeconds" in text
