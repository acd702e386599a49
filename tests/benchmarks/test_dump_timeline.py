"""Pods of a dump as a timeline, with the times at which they came and how long they ran."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "dump_timeline.py"


def pod(name: str, created: str, status: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "a", "creationTimestamp": created, **metadata},
        "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
        "status": status,
    }


def finished(begin: str, *ends: str) -> dict[str, Any]:
    statuses = [{"name": "c", "state": {"terminated": {"finishedAt": end}}} for end in ends]
    return {"phase": "Succeeded", "startTime": begin, "containerStatuses": statuses}


def convert(text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_pods_come_when_they_were_created_and_run_as_long_as_they_did() -> None:
    items = [
        pod("runs", "2026-01-01T00:01:00Z", {"phase": "Running"}),
        pod(
            "done",
            "2026-01-01T00:00:30Z",
            finished("2026-01-01T00:00:40Z", "2026-01-01T00:02:00Z", "2026-01-01T00:02:40Z"),
        ),
        pod("static", "2026-01-01T00:00:00Z", {}, annotations={"kubernetes.io/config.mirror": "x"}),
    ]
    lines = convert(json.dumps({"kind": "List", "items": items})).stdout.splitlines()
    header, done, runs = map(json.loads, lines)
    assert header["start"] == "2026-01-01T00:00:30+00:00"
    assert (done["at"], done["pod"]["metadata"]["name"], done["runsFor"]) == (0, "done", 120)
    assert (runs["at"], runs["pod"]["metadata"]["name"]) == (30, "runs")
    assert "runsFor" not in runs
    assert "nodeName" not in runs["pod"]["spec"]


def test_what_is_no_dump_is_refused_in_one_line() -> None:
    for text in ("", "{}", '{"items": []}', '{"items": [{"metadata": {}}]}'):
        done = convert(text)
        assert done.returncode == 2, text
        assert "Traceback" not in done.stderr
