"""Ranges and points as numbers."""

from ksched_cli.report.html.charts import (
    PLANE_HEIGHT,
    PLANE_WIDTH,
    RANGE_WIDTH,
    Range,
    plane,
    ranges,
)


def test_ranges_are_on_one_scale() -> None:
    first, second = ranges([(("a",), [Range(0, 1, 2, 3, 4)]), (("b",), [Range(4, 5, 6, 7, 8)])])
    (low,), (high,) = first.marks, second.marks
    assert low is not None
    assert high is not None
    assert (low.least, high.most) == (0, RANGE_WIDTH)
    assert low.most == high.least == RANGE_WIDTH / 2
    assert first.label == "2, from 0 to 4"


def test_what_never_varies_is_a_point_and_what_is_not_there_is_no_mark() -> None:
    (row,) = ranges([((), [Range(3, 3, 3, 3, 3), None])])
    assert row.marks == [Range(0, 0, 0, 0, 0), None]
    assert row.label == "3, from 3 to 3"


def test_points_lie_in_the_plane_with_more_above_and_to_the_right() -> None:
    drawn = plane(("x", "y"), [("a", 0, 10, True), ("b", 5, 0, False)])
    assert [(point.x, point.y) for point in drawn.points] == [(0, 0), (PLANE_WIDTH, PLANE_HEIGHT)]
    assert drawn.points[0].title == "a: x 0, y 10"
    assert [tick.text for tick in drawn.x_ticks] == ["0", "1", "2", "3", "4", "5"]
    assert [tick.text for tick in drawn.y_ticks] == ["0", "2", "4", "6", "8", "10"]


def test_variants_of_the_front_are_named_once_each_without_overlapping() -> None:
    names = [("first variant", 1, 5, True), ("same place", 1, 5, True), ("near", 1.01, 5, True)]
    points = plane(("x", "y"), [*names, ("worse", 9, 9, False)]).points
    labels = [(point.text, point.text_y) for point in points if point.text]
    assert [text for text, _ in labels] == ["first variant and 1 more", "near"]
    assert abs(labels[0][1] - labels[1][1]) >= 17


def test_a_label_stays_where_another_variant_is_drawn_at_its_point_first() -> None:
    values = [("other", 1, 1, False), ("baseline", 1, 1, False), ("best", 0, 0, True)]
    texts = [point.text for point in plane(("x", "y"), values, "baseline").points]
    assert sorted(filter(None, texts)) == ["baseline", "best"]
