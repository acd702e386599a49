"""Flows of pods between places as shapes."""

from ksched_cli.report.html.charts import FLOW_HEIGHT, MAX_PLACES, OTHERS, flow


def test_blocks_are_as_high_as_their_pods_and_bands_say_how_many() -> None:
    drawn = flow(("old", "new"), [("a", "b")] * 3 + [("a", "pending")])
    (left,) = drawn.left
    assert (left.text, left.height) == ("a  4", FLOW_HEIGHT)
    assert [(block.text, block.height) for block in drawn.right] == [
        ("b  3", FLOW_HEIGHT * 3 / 4),
        ("pending  1", FLOW_HEIGHT / 4),
    ]
    assert [band.title for band in drawn.bands] == ["a to b: 3 pods", "a to pending: 1 pod"]


def test_the_places_of_the_fewest_pods_are_put_together() -> None:
    pairs = [("a", f"n{i:02}") for i in range(2 * MAX_PLACES) for _ in range(i + 1)]
    drawn = flow(("old", "new"), pairs)
    assert len(drawn.right) == MAX_PLACES
    merged = sum(i + 1 for i in range(MAX_PLACES + 1))
    assert f"{OTHERS}  {merged}" in [block.text for block in drawn.right]


def test_nothing_that_moves_is_an_empty_drawing() -> None:
    assert flow(("old", "new"), []).bands == []
