"""Curves over time as numbers."""

from ksched_cli.report.html.curves import HEIGHT, WIDTH, Series, curves


def test_a_value_holds_until_the_next_time() -> None:
    chart = curves(
        "Pods", [0, 10, 20], [Series("pods", [0, 4, 2], 2, 9)], ("0s", "20s"), are_shares=False
    )
    assert chart.lines == [f"0,{HEIGHT} 320,{HEIGHT} 320,0 {WIDTH},0 {WIDTH},80"]
    assert chart.summary == ["mean 2, most 9, at the end 2"]
    assert (chart.top, chart.span) == ("4", ("0s", "20s"))


def test_shares_go_up_to_all_and_beyond_where_they_do() -> None:
    chart = curves("cpu", [0, 1], [Series("cpu", [0.5, 0.5])], ("", ""), are_shares=True)
    assert (chart.top, chart.summary) == ("100%", ["at the end 50%"])
    assert curves("cpu", [0], [Series("cpu", [1.5])], ("", ""), are_shares=True).top == "150%"


def test_a_single_moment_and_nothing_at_all_are_drawn() -> None:
    chart = curves("Pods", [3], [Series("pods", [0])], ("", ""), are_shares=False)
    assert chart.lines == [f"0,{HEIGHT}"]
    assert chart.summary == ["at the end 0"]
