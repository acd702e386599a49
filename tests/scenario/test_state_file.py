"""States written as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import structs

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.scenario.objects import manifests
from tests.replays import node, pod, state_of


def test_a_state_that_is_written_is_read_as_it_was(tmp_path: Path) -> None:
    state = state_of(tmp_path, node("n"), pod("a", nodeName="n"), pod("b", nodeName="n"))
    first, second = state.pods
    status = structs.replace(first.status, start_time="2026-01-01T00:00:00Z", phase="Running")
    deleting = structs.replace(first.metadata, deletion_timestamp="2026-01-02T00:00:00Z")
    pods = (
        structs.replace(first, status=status, metadata=deleting),
        structs.replace(second, node_name=""),
    )
    path = tmp_path / "written.json"
    objects = b",".join(manifests(replace(state, pods=pods)))
    path.write_bytes(b"[" + objects + b"]")
    again = load_state([str(path)])
    assert [(each.name, each.node_name, each.deleting) for each in again.pods] == [
        ("a", "n", True),
        ("b", "", False),
    ]
    assert again.pods[0].status.start_time == "2026-01-01T00:00:00Z"
    assert msgspec.json.decode(bytes(again.nodes[0].raw)) == msgspec.json.decode(
        bytes(state.nodes[0].raw)
    )
