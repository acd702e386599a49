"""--metric, and the metrics of plugins, in the answers of schedule, compare and replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ksched_cli.api import Run, compare, per_placement
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

METRICS = """
from ksched_cli.api import per_placement

def waits(snapshot, run):
    return {"longest": max(each.placed - each.queued for each in run.pods)}

def placed(snapshot, run):
    return len(run.placements)

def broken(snapshot, run):
    raise ValueError("no")

@per_placement
def worth(pod, node):
    return 2 if node.name == "a" else 0.5
"""
SECONDS = """
from ksched_cli.api import SUCCESS, FilterPlugin, Measures

class Seconds(FilterPlugin, Measures):
    "The pods on nodes, by seconds."
    name = "Seconds"

    def __init__(self, args, handle):
        self.handle, self.total, self.pods, self.since = handle, 0.0, 0, None

    def filter(self, state, pod, node):
        return SUCCESS

    def measure(self, now):
        if self.since is not None:
            self.total += self.pods * (now - self.since)
        self.since, self.pods = now, int(self.handle.snapshot.pod_count.sum())

    def metrics(self):
        return {"pods": self.total}
"""
STATE = (node("a", cpu=2), node("b", cpu=4), pod("p", cpu=2), pod("q", cpu=2))


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.py"
    path.write_text(METRICS)
    (tmp_path / "seconds.py").write_text(SECONDS)
    return path


def test_schedule_shows_metrics(metrics: Path, ksched: Ksched, write_state: WriteState) -> None:
    command = ("schedule", "--state", write_state(*STATE))
    options = ("--metric", f"{metrics}:placed", "--metric", f"{metrics}:worth")
    assert "Metrics\nMETRIC  VALUE\nplaced      2\nworth     2.5\n" in ksched(*command, *options)[1]
    answer = json.loads(ksched(*command, *options, "-o", "json")[1])
    assert answer["metrics"] == {"placed": 2, "worth": 2.5}
    assert "metrics" not in json.loads(ksched(*command, "-o", "json")[1])
    plugin = ("--plugin", metrics.parent / "seconds.py", "-o", "json")
    assert json.loads(ksched(*command, *plugin)[1])["metrics"] == {"Seconds.pods": 0}


def test_compare_has_a_row_per_metric(
    metrics: Path, ksched: Ksched, write_state: WriteState
) -> None:
    command = ("compare", "--state", write_state(*STATE), "--metric", f"{metrics}:worth")
    _, out, _ = ksched(*command, "--vs", "--change", "cordon a")
    assert any(line.split() == ["worth", "2.5", "1"] for line in out.splitlines())
    _, out, _ = ksched(*command, "--seeds", "2", "--vs", "--change", "cordon a")
    assert "worth" in out
    _, _, err = ksched(*command[:3], "--vs", "--metric", f"{metrics}:worth")
    assert "--metric is of all sides: give it before the first --vs" in err


def test_a_replay_has_metrics_in_seconds(
    metrics: Path, ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    timeline = {
        "apiVersion": "ksched/v1",
        "kind": "Timeline",
        "until": 40,
        "events": [
            {"at": 0, "pod": pod("first", cpu=4), "runsFor": 10},
            {"at": 5, "pod": pod("second", cpu=4), "runsFor": 10},
        ],
    }
    (tmp_path / "day.yaml").write_text(yaml.safe_dump(timeline))
    state = write_state(*STATE[:2])
    both = ("--metric", f"{metrics}:waits", "--plugin", metrics.parent / "seconds.py")
    replay = ("replay", tmp_path / "day.yaml", "--state", state, *both, "-o", "json")
    answer = json.loads(ksched(*replay)[1])
    # The second waits for 5 seconds, until the first ends; each runs for 10 seconds.
    assert answer["metrics"] == {"Seconds.pods": 20, "waits.longest": 5}
    brief = json.loads(ksched(*replay, "--summary")[1])
    assert "pods" not in brief
    assert brief["metrics"] == answer["metrics"]
    _, out, _ = ksched("compare", "--timeline", *replay[1:-2], "--vs", "--change", "cordon a")
    assert "waits.longest" in ksched(*replay[:-2])[1]
    assert "no difference" in out


def test_a_program_gives_functions() -> None:
    @per_placement
    def worth(pod: object, node: object) -> float:
        return 3.0

    def named(snapshot: object, run: object) -> dict[str, int]:
        return {"one": 1}

    run = Run(state=[*STATE])
    assert run.schedule(metrics=[worth, named]).metrics == {"worth": 6, "named.one": 1}
    comparison = compare(run, run.with_(changes=["cordon a"]), metrics=[worth])
    frame = comparison.to_frame("sides")
    assert [*frame["summary.metrics.worth"]] == [6, 6]
    assert [*run.schedule(metrics=[worth]).to_frame("metrics").loc["worth"]] == [6]


@pytest.mark.parametrize(
    ("names", "code", "message"),
    [
        (["broken"], 3, "metric broken: ValueError: no"),
        (["none"], 2, "there is no function none"),
        (["placed", "placed"], 2, "--metric: two functions are named placed"),
    ],
)
def test_a_wrong_metric_gets_one_line(
    names: list[str],
    code: int,
    message: str,
    metrics: Path,
    ksched: Ksched,
    write_state: WriteState,
) -> None:
    options = [option for name in names for option in ("--metric", f"{metrics}:{name}")]
    got, _, err = ksched("schedule", "--state", write_state(*STATE), *options)
    assert got == code
    assert message in err
    assert "Traceback" not in err
