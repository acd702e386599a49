"""What moves from where to where."""

from ksched_cli.report.html.moves import SHOWN, moves


def test_the_pairs_of_the_most_pods_come_first() -> None:
    section = moves("Moves", ("From", "To"), [("a", "b"), ("c", "d"), ("c", "d")])
    assert [bar.cells for bar in section.bars] == [("c", "d", 2), ("a", "b", 1)]
    assert [bar.parts[0].width for bar in section.bars] == [1000, 500]
    assert section.note == ""


def test_what_is_left_out_is_counted() -> None:
    section = moves("Moves", ("From", "To"), [(f"n{i}", "b") for i in range(SHOWN + 3)])
    assert len(section.bars) == SHOWN
    assert section.note == "3 more pairs; the table of pods has all."


def test_nothing_moves() -> None:
    assert not moves("Moves", ("From", "To"), []).bars
