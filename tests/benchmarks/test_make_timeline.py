"""Random timelines: the same for a seed, with the arrivals and run times that were asked for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "make_timeline.py"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: job}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
"""
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n"},
    "status": {"capacity": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
}


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    template = folder / "job.yaml"
    template.write_text(POD)
    command = [sys.executable, str(SCRIPT), str(template), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def events(folder: Path, *options: str) -> list[dict[str, Any]]:
    done = run(folder, "--pods", "200", "--days", "2", *options)
    assert done.returncode == 0, done.stderr
    header, *drawn = map(json.loads, done.stdout.splitlines())
    assert header["kind"] == "Timeline"
    return drawn


def test_a_seed_gives_the_same_pods_in_order_of_time(tmp_path: Path) -> None:
    drawn = events(tmp_path, "--seed", "3")
    assert drawn == events(tmp_path, "--seed", "3") != events(tmp_path, "--seed", "4")
    assert [event["at"] for event in drawn] == sorted(event["at"] for event in drawn)
    assert len(drawn) == 200


def test_pods_come_by_day_and_run_as_long_as_told(tmp_path: Path) -> None:
    drawn = events(tmp_path, "--arrivals", "daily", "--runs-for", "fixed:60")
    assert {event["runsFor"] for event in drawn} == {60}
    hours = [event["at"] / 3600 % 24 for event in drawn]
    assert sum(6 <= hour < 18 for hour in hours) > 150


def test_a_timeline_can_be_replayed(tmp_path: Path) -> None:
    done = run(tmp_path, "--pods", "20", "--days", "0.1", "--arrivals", "even")
    (tmp_path / "pods.jsonl").write_text(done.stdout)
    (tmp_path / "state.json").write_text(json.dumps(NODE))
    command = [sys.executable, "-m", "ksched_cli", "replay", str(tmp_path / "pods.jsonl")]
    command += ["--state", str(tmp_path / "state.json"), "-o", "json", "--summary"]
    replayed = subprocess.run(command, capture_output=True, check=False)
    assert json.loads(replayed.stdout)["summary"]["placed"] == 20


def test_another_distribution_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "--runs-for", "uniform:1:2")
    assert done.returncode == 2
    assert "expected fixed:S" in done.stderr
    assert "Traceback" not in done.stderr
