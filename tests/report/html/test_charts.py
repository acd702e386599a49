"""Bars and histograms as numbers."""

from ksched_cli.report.html.charts import bar, histogram


def test_the_parts_of_a_bar_follow_each_other_and_share_the_longest_bars_scale() -> None:
    parts = bar(("n",), (30, 0, 20), ("Fit", "Taints", "Spread"), 100).parts
    assert [(part.x, part.width, part.colour) for part in parts] == [(0, 300, 0), (300, 200, 2)]
    assert parts[1].title == "Spread: 20"
    assert bar(("n",), (30, 0), ("Fit", "Taints"), 100).label == "Fit 30, Taints 0"


def test_every_node_is_in_a_bin_of_ten_per_cent() -> None:
    chart = histogram("cpu", [[0.0, 0.05, 0.5, 1.0], [0.95, 1.0, 0.99, 0.1]])
    assert [sum(counts) for counts in chart.counts] == [4, 4]
    assert (chart.counts[0][0], chart.counts[0][5], chart.counts[0][9]) == (2, 1, 1)
    assert [tick.text for tick in chart.y_ticks] == ["0", "1", "2", "3"]
    assert [tick.text for tick in chart.x_ticks] == ["0%", "20%", "40%", "60%", "80%", "100%"]
    assert chart.summary[0] == "mean 39% ± 40%, max 100%"


def test_nodes_that_are_more_than_full_have_a_bin_of_their_own() -> None:
    chart = histogram("cpu", [[1.2, 0.5], [0.5, 0.5]])
    assert chart.bins[-1] == "over 100%"
    assert [counts[-1] for counts in chart.counts] == [1, 0]


def test_columns_are_as_high_as_their_axis_says_and_empty_bins_have_none() -> None:
    chart = histogram("cpu", [[0.5, 0.5, 0.1]])
    assert [(column.y, column.height) for column in chart.columns] == [(60, 60), (0, 120)]


def test_without_nodes_there_are_no_columns() -> None:
    chart = histogram("gpu", [[], []])
    assert (chart.columns, chart.summary) == ([], ["no node has any", "no node has any"])
