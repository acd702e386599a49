"""Charts of a sweep as numbers."""

from ksched_cli.report.html.spreads import BOX_WIDTH, HEIGHT, WIDTH, boxes, plane
from ksched_cli.sweep.answers import SpreadResult


def spread(*values: float) -> SpreadResult:
    least, low, median, high, most = values
    return SpreadResult(median, low, high, least, most)


def test_boxes_are_on_one_scale() -> None:
    first, second = boxes([(("a",), spread(0, 1, 2, 3, 4)), (("b",), spread(4, 5, 6, 7, 8))])
    assert (first.least, second.most) == (0, BOX_WIDTH)
    assert first.most == second.least == BOX_WIDTH / 2
    assert first.label == "min 0, p5 1, median 2, p95 3, max 4"


def test_what_never_varies_is_a_point() -> None:
    (box,) = boxes([(("a",), spread(3, 3, 3, 3, 3))])
    assert (box.least, box.median, box.most) == (0, 0, 0)


def test_points_lie_in_the_plane_with_more_above_and_to_the_right() -> None:
    drawn = plane(("x", "y"), [("a", 0, 10, True), ("b", 5, 0, False)])
    assert [(point.x, point.y) for point in drawn.points] == [(0, 0), (WIDTH, HEIGHT)]
    assert drawn.points[0].title == "a: x 0, y 10"
    assert (drawn.x_range, drawn.y_range) == ((0, 5), (0, 10))
