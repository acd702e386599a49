"""What moves from where to where."""

from ksched_cli.report.drift import SHOWN_MOVES, moves


def test_the_pairs_of_the_most_pods_come_first() -> None:
    section = moves("Moves", [("a", "b"), ("c", "d"), ("c", "d")])
    assert section.rows == [("c", "d", 2), ("a", "b", 1)]
    assert section.values == [(2,), (1,)]
    assert section.note == ""


def test_too_many_pairs_are_put_together_by_where_the_pods_go() -> None:
    pairs = [*((f"n{i}", "b") for i in range(SHOWN_MOVES)), ("n1", "b"), ("n1", "c")]
    section = moves("Moves", pairs)
    assert section.rows == [
        (f"{SHOWN_MOVES} places", "b", SHOWN_MOVES + 1),
        ("n1", "c", 1),
    ]


def test_what_is_left_out_is_counted() -> None:
    section = moves("Moves", [("a", f"n{i}") for i in range(SHOWN_MOVES + 3)])
    assert len(section.rows) == SHOWN_MOVES
    assert section.note == "3 more; the table of pods has all."


def test_nothing_moves() -> None:
    assert not moves("Moves", []).rows
