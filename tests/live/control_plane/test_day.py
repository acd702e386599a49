"""A replay that differs from the recorded decisions: by the order in which changes were noticed, or
really."""

import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.live.control_plane.day import replayed

pytestmark = pytest.mark.slow

GONE = {"kind": "Pod", "namespace": "default", "name": "old"}
WEB = {"namespace": "default", "name": "web", "uid": "web", "node": "b"}


@pytest.mark.parametrize(
    ("attempt", "departure", "elsewhere"), [("01.05", "01.08", 0), ("01.08", "01.05", 1)]
)
def test_only_what_was_noticed_in_another_order_is_excused(
    attempt: str, departure: str, elsewhere: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pod that left was on the node that the replay takes."""
    state = [node("a"), node("b"), pod("old", cpu=3, node="a")]
    events = [
        {"at": 1.0, "delete": GONE},
        {"at": 1.1, "pod": pod("web", cpu=1)},
        {"at": 1.2, "decision": WEB},
    ]
    head = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-11-23T22:00:00Z"}
    timeline = tmp_path / "recorded.jsonl"
    timeline.write_text("".join(f"{json.dumps(line)}\n" for line in (head, *events)))
    (tmp_path / "recorded.state.json").write_text(json.dumps({"kind": "List", "items": state}))
    tried, left = "Attempting to schedule pod", "Delete event for scheduled pod"
    lines = (
        f'I1123 22:00:{attempt} 1 schedule_one.go:1] "{tried}" pod="default/web"',
        f'I1123 22:00:{departure} 1 eventhandlers.go:1] "{left}" pod="default/old"',
    )
    (tmp_path / "kube-scheduler.log").write_text("\n".join(lines))
    assert replayed(timeline) == elsewhere
    is_named = "departure of default/old (+80.0 ms)" in capsys.readouterr().out
    assert is_named == (not elsewhere)
