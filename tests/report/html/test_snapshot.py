"""The pages of `snapshot` and `record`."""

from ksched_cli.live.recorder import RecordedPart, RecordResult
from ksched_cli.live.snapshot import ReadList, SnapshotResult
from ksched_cli.report.html.page import page_of
from ksched_cli.report.html.sections import BarsSection, CommandList, TableSection


def test_a_snapshot_has_a_bar_per_kind_that_there_are_objects_of() -> None:
    lists = (
        ReadList("Node", "v1", None, 2, "7"),
        ReadList("Pod", "v1", "shop", 8, "9"),
        ReadList("Lease", "v1", None, 0, "9"),
    )
    answer = SnapshotResult(
        file="c.json",
        bytes=2_000,
        server="https://x",
        server_version="v1.34.1",
        taken="2026-01-01T00:00:00Z",
        revisions_apart=0,
        lists=lists,
        source="context prod",
    )
    page = page_of(answer)
    assert page.title == "wrote c.json: 10 objects, 2 kB"
    (bars,) = page.sections
    assert isinstance(bars, BarsSection)
    assert [bar.cells for bar in bars.bars] == [
        ["Pod", "8", "shop", "9"],
        ["Node", "2", "all", "7"],
    ]


def test_a_recording_says_how_to_ask_about_it() -> None:
    part = RecordedPart("r.jsonl", "r-state.json", 12, 1, 100, 60.0)
    page = page_of(RecordResult(server="https://x", parts=(part,), source="context prod"))
    assert page.title == "recorded 12 events of context prod, the connection was lost 1 time"
    parts, commands = page.sections
    assert isinstance(parts, TableSection)
    assert list(parts.rows) == [["r.jsonl", "r-state.json", "12", "1", "1m"]]
    assert isinstance(commands, CommandList)
    assert "replay r.jsonl --state r-state.json" in commands.commands[0].text
