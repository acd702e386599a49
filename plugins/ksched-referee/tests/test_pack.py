"""States that are made of a timeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ksched_referee.command_line import app
from ksched_referee.packing import packed, read_nodes, sample_nodes, with_gpus
from typer.testing import CliRunner

from ksched_cli.api import Run, UsageError
from ksched_cli.testing import node


def template(cpu: str, gpus: str = "", **spec: Any) -> dict[str, Any]:
    requests = {"cpu": cpu, **({"nvidia.com/gpu": gpus} if gpus else {})}
    container = {"name": "main", "image": "main", "resources": {"requests": requests}}
    return {"spec": {"containers": [container], **spec}}


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    templates = {
        "cpu": template("500m"),
        "gpu": template("1", "2", nodeSelector={"gpu-model": "T4"}),
    }
    head = {"apiVersion": "ksched/v1", "kind": "Timeline", "templates": templates}
    events = [{"at": at, "pod": f"p{at}", "template": name} for at, name in enumerate(templates)]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *events)))
    return path


NODES = [
    node("a", cpu=4, resources={"nvidia.com/gpu": 4}, labels={"gpu-model": "T4"}),
    node("b", cpu=4, resources={"nvidia.com/gpu": 4}, labels={"gpu-model": "T4"}),
    node("c", cpu=8),
]


def pods_of(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item for item in items if item["kind"] == "Pod"]


def test_pods_come_in_an_order_of_the_seed_until_they_request_the_load(timeline: Path) -> None:
    items = packed(timeline, NODES, "nvidia.com/gpu", 100, 1)
    assert items == packed(timeline, NODES, "nvidia.com/gpu", 100, 1)
    orders = [
        [len(pod["metadata"].get("annotations", ())) for pod in pods_of(items)]
        for items in (packed(timeline, NODES, "nvidia.com/gpu", 100, seed) for seed in range(9))
    ]
    assert len({str(order) for order in orders}) > 1
    # The fourth pod of two GPUs would reach the 8 of the nodes.
    assert all(len(list(filter(None, order))) == 3 for order in orders)
    half = packed(timeline, NODES, "cpu", 50, 1)
    assert len(pods_of(half)) in (9, 10, 11)


def test_a_state_is_read_and_has_what_fgd_reads(timeline: Path) -> None:
    items = packed(timeline, list(map(with_gpus, NODES)), "nvidia.com/gpu", 100, 1)
    annotations = [pod["metadata"].get("annotations") for pod in pods_of(items)]
    assert {
        "alibabacloud.com/gpu-count": "2",
        "alibabacloud.com/gpu-milli": "1000",
        "alibabacloud.com/gpu-card-model": "T4",
    } in annotations
    assert items[0]["status"]["allocatable"]["alibabacloud.com/gpu-count"] == "4"
    assert items[0]["metadata"]["labels"]["alibabacloud.com/gpu-card-model"] == "T4"
    assert items[2] == NODES[2]
    assert Run(state=items).schedule().summary.pending == 0


def test_a_resource_that_nobody_has_is_refused(timeline: Path) -> None:
    with pytest.raises(UsageError, match=r"--resource example.com/x: no node has it, or no pod"):
        packed(timeline, NODES, "example.com/x", 100, 1)


def test_the_command_writes_a_state_of_some_nodes(timeline: Path, tmp_path: Path) -> None:
    nodes, state = tmp_path / "nodes.json", tmp_path / "state.json"
    nodes.write_text(json.dumps({"items": NODES}))
    command = ["pack", str(timeline), "--state", str(nodes), "--resource", "cpu"]
    run = CliRunner().invoke(app, [*command, "--nodes", "2", "--to", str(state)])
    assert run.exit_code == 0
    assert run.output.startswith(f"{state}: 2 nodes, ")
    names = [item["metadata"]["name"] for item in json.loads(state.read_text())["items"]]
    assert len([name for name in names if name in ("a", "b", "c")]) == 2


def test_what_is_no_state_or_timeline_is_refused(timeline: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("kind: Node")
    with pytest.raises(UsageError, match=r"--state .*text: expected a List in JSON"):
        read_nodes(tmp_path / "text")
    with pytest.raises(UsageError, match=r"--state .*nowhere: No such file"):
        read_nodes(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"text: expected a timeline in JSON lines"):
        packed(tmp_path / "text", NODES, "cpu", 50, 1)
    with pytest.raises(UsageError, match=r"--nodes 4: there are 3"):
        sample_nodes(NODES, 4, 1)
