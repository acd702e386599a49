"""Curves over time: what is drawn is what the replays recorded."""

from __future__ import annotations

from ksched_cli.analysis.replay_figures import Extent
from ksched_cli.analysis.replay_result import Curve, CurveEvent, EventKind, ReplayCurves
from ksched_cli.report.html.curves import curves_of_run, curves_of_sides


def replay(*pending: float, start: int | None = None, **more: object) -> ReplayCurves:
    """A replay with so many pending pods, second by second."""
    times = [float(time) for time in range(len(pending))]
    extent = Extent(sum(pending) / len(pending), max(pending), float(pending.index(max(pending))))
    curves: dict[str, dict[str, Curve]] = {
        "pods": {"pending": Curve(times, pending, extent)},
        "nodes": {},
        "utilization": {},
        "stranded": {},
    }
    return ReplayCurves(start, float(len(pending)), **(curves | more))  # type: ignore[arg-type]


def test_a_curve_has_its_values_its_extreme_and_its_figures() -> None:
    curves = curves_of_run(replay(0, 4, 1))
    data = curves.data()
    (chart,) = data["charts"]
    (line,) = chart["lines"]
    assert (chart["title"], line["name"], line["values"]) == ("Pods", "pending", [0, 4, 1])
    assert data["times"][line["times"]] == (0.0, 1.0, 2.0)
    assert line["max"] == [1.0, 4]
    assert curves.rows == [("Pods: pending", "1.7", "4", "1s", "1")]


def test_times_have_weekday_and_clock_where_the_timeline_has_a_start() -> None:
    curves = curves_of_run(replay(0, 4, start=1_763_942_400))
    assert curves.rows[0][3] == "Mon 00:00:01"
    assert "Shaded: 18:00 to 06:00 UTC." in curves.note


def test_several_draws_are_a_mean_with_a_band_from_the_lowest_to_the_highest() -> None:
    drawn = ReplayCurves.of_draws([replay(0, 4, 4), replay(2, 0)])
    (line,) = curves_of_run(drawn).data()["charts"][0]["lines"]
    # The second draw ends after two seconds, and keeps its last value.
    assert line["values"] == [1, 2, 2]
    assert (line["low"], line["high"]) == ([0, 0, 0], [2, 4, 4])
    assert "mean of 2 seeds" in curves_of_run(drawn).note


def test_sides_share_a_chart_and_a_time_axis() -> None:
    data = curves_of_sides([("old", replay(0, 1)), ("new", replay(0, 2, 0))]).data()
    (chart,) = data["charts"]
    assert chart["title"] == "Pending pods"
    assert [(line["name"], line["colour"]) for line in chart["lines"]] == [("old", 0), ("new", 1)]
    assert data["end"] == 3


def test_events_of_all_sides_are_there_once_and_others_name_their_side() -> None:
    drain = CurveEvent(1.0, EventKind.CHANGE, "drain n")
    lost = CurveEvent(2.0, EventKind.EVICTION, "3 pods evicted")
    sides = [("old", replay(0, 1, events=(drain,))), ("new", replay(0, 2, events=(drain, lost)))]
    assert curves_of_sides(sides).data()["events"] == [
        (1.0, "changes", "drain n", None),
        (2.0, "evictions", "new: 3 pods evicted", 1),
    ]


def test_the_room_for_pods_has_a_curve_only_where_it_is_much_used() -> None:
    times = (0.0, 1.0)
    for share, names in ((0.1, ["cpu"]), (0.9, ["cpu", "pods"])):
        shares = {"cpu": Curve(times, (0.2, 0.1)), "pods": Curve(times, (0.0, share))}
        charts = curves_of_run(replay(0, 1, utilization=shares)).data()["charts"]
        assert [line["name"] for line in charts[1]["lines"]] == names
