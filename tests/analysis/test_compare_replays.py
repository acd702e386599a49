"""Replays side by side."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.analysis.compare import ReplaySide, compare_replays
from ksched_cli.run.differences import NamedRun
from tests.replays import Plain, node, pod, replay

EVENTS: list[Plain] = [
    {"at": 0, "pod": pod("a"), "runsFor": 10},
    {"at": 1, "pod": pod("b"), "runsFor": 10},
    {"at": 2, "pod": pod("c", "9")},
]


def side(folder: Path, name: str, *nodes: Plain, left_out: int = 0) -> ReplaySide:
    events = EVENTS[: len(EVENTS) - left_out]
    return ReplaySide.of(NamedRun(name), replay(folder, list(nodes), events))


def test_pods_that_wait_longer_are_differences(tmp_path: Path) -> None:
    first = side(tmp_path, "two nodes", node("m"), node("n"))
    last = side(tmp_path, "one node", node("m"), left_out=1)
    answer = compare_replays([first, last])
    assert answer.pod_count == 3
    assert [side.differing for side in answer.sides] == [0, 2]
    by_pod = {difference.pod: difference for difference in answer.pods}
    assert list(by_pod) == ["default/b", "default/c"]
    assert by_pod["default/b"].waited == (0, 9)
    assert by_pod["default/b"].delay(1) == 9_000_000
    assert by_pod["default/c"].outcomes[1] is None
    assert by_pod["default/c"].delay(1) == 0


def test_equal_sides_do_not_differ(tmp_path: Path) -> None:
    sides = [side(tmp_path, name, node("m")) for name in "ab"]
    assert compare_replays(sides).pods == ()
