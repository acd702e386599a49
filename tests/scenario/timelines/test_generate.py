"""Random timelines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.scenario.timelines.event_lines import LONGEST
from ksched_cli.scenario.timelines.generate import (
    DrawnTemplate,
    Generator,
    arrivals_of,
    read_templates,
    run_time_of,
)

POD = """
apiVersion: v1
kind: Pod
metadata: {name: job, labels: {app: x}}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  annotations: {ksched/weight: "3", ksched/runs-for: "fixed:7"}
spec: {template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}}
"""


def templates(folder: Path, text: str, weight: float = 1.0) -> list[DrawnTemplate]:
    path = folder / "templates.yaml"
    path.write_text(text)
    return read_templates(str(path), weight)


def generator(folder: Path, text: str = POD, **options: Any) -> Generator:
    return Generator(
        templates(folder, text),
        arrivals_of("poisson"),
        run_time_of("fixed:60"),
        pods=400,
        length=1000.0,
        **options,
    )


def test_a_seed_gives_the_same_pods_in_order_of_time(tmp_path: Path) -> None:
    pods = generator(tmp_path)
    drawn = list(pods.events(3))
    assert drawn == list(pods.events(3)) != list(pods.events(4))
    assert [event["at"] for event in drawn] == sorted(event["at"] for event in drawn)
    assert (len(drawn), {event["runsFor"] for event in drawn}) == (400, {60})


def test_templates_share_their_files_weight(tmp_path: Path) -> None:
    pod, web = templates(tmp_path, f"{POD}---{DEPLOYMENT}", weight=2.0)
    assert (pod.weight, web.weight) == (0.5, 1.5)
    assert (pod.run_time, web.run_time is None) == (None, False)
    assert pod.manifest["metadata"] == {"labels": {"app": "x"}}
    assert web.manifest["metadata"] == {"namespace": "shop", "labels": {"app": "web"}}


def test_pods_come_by_weight_and_run_as_their_template_says(tmp_path: Path) -> None:
    drawn = list(generator(tmp_path, f"{POD}---{DEPLOYMENT}").events(1))
    counts = Counter((event["template"], event["runsFor"]) for event in drawn)
    assert set(counts) == {("t0", 60), ("t1", 7)}
    assert 2 < counts["t1", 7] / counts["t0", 60] < 4.5


def test_priorities_are_drawn_instead_of_those_of_templates(tmp_path: Path) -> None:
    pods = generator(tmp_path, priorities=((0, 9.0), (1000, 1.0)))
    specs = {name: manifest["spec"] for name, manifest in pods.header()["templates"].items()}
    assert {name: spec["priority"] for name, spec in specs.items()} == {
        "t0-priority-0": 0,
        "t0-priority-1000": 1000,
    }
    counts = Counter(event["template"] for event in pods.events(1))
    assert 4 < counts["t0-priority-0"] / counts["t0-priority-1000"] < 20


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Node\nmetadata: {name: n}", "Node has no pod in it"),
        ("- 1", "an object is expected"),
        (POD.replace('"1"', "one"), "quantit"),
        (DEPLOYMENT.replace('"3"', '"1e308"'), '"1e308" is not a weight'),
        (DEPLOYMENT.replace('"3"', '"-3"'), '"-3" is not a weight; expected a number'),
    ],
)
def test_what_is_no_template_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        templates(tmp_path, text)


def test_a_distribution_that_is_none_is_refused_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"templates.yaml: ksched/runs-for takes fixed:S"):
        templates(tmp_path, DEPLOYMENT.replace("fixed:7", "never"))
    with pytest.raises(UsageError, match="there is no pod template"):
        Generator([], arrivals_of("poisson"), run_time_of("fixed:1"), 1, 1.0)


def test_no_pod_runs_longer_than_a_timeline_may_say(tmp_path: Path) -> None:
    events = Generator(
        templates(tmp_path, POD), arrivals_of("uniform"), run_time_of("lognormal:1e10:20"), 90, 90.0
    ).events(1)
    assert max(event["runsFor"] for event in events) == LONGEST < 1e11
