"""What differs between a run and that of the redacted state."""

from ksched_cli.commands.snapshot_files import redaction_differences
from ksched_cli.engine.records import Eviction, RunRecord


def run(placements: dict[str, str], *pending: str, evicted: tuple[Eviction, ...] = ()) -> RunRecord:
    return RunRecord((), placements, pending, {}, evicted, {})


def differences(first: RunRecord, second: RunRecord) -> list[str]:
    return redaction_differences(first, second, str.upper, str.upper)


def test_runs_that_are_the_same_but_for_names_do_not_differ() -> None:
    eviction, renamed = Eviction("c", "n", "a"), Eviction("C", "N", "A")
    first = run({"a": "n"}, "b", evicted=(eviction,))
    assert differences(first, run({"A": "N"}, "B", evicted=(renamed,))) == []


def test_each_fate_that_differs_names_the_pod() -> None:
    assert differences(run({"a": "n", "b": "n"}), run({"A": "M", "B": "N"})) == ["a"]
    assert differences(run({"a": "n"}), run({}, "A")) == ["a"]
    assert differences(run({}, evicted=(Eviction("c", "n", "a"),)), run({})) == ["c"]
    assert differences(run({}), run({"X": "N"})) == ["X"]
