"""Figures of several draws, against arithmetic by hand."""

import pytest

from ksched_cli.analysis.compare import DifferenceInterval, Interval, compare_draws
from ksched_cli.run.differences import NamedRun


def test_an_interval_is_students_t() -> None:
    # 1, 2, 3: mean 2, standard deviation 1, t(2) = 4.303; half of it is 4.303 / sqrt(3).
    interval = Interval.of([1, 2, 3])
    assert interval.mean == 2
    assert interval.low == pytest.approx(2 - 2.4843, abs=1e-4)
    assert interval.high == pytest.approx(2 + 2.4843, abs=1e-4)
    assert interval.has_zero


@pytest.mark.parametrize(("count", "quantile"), [(31, 2.0423), (41, 2.0211), (121, 1.9799)])
def test_beyond_the_table_quantiles_are_those_of_other_tables(count: int, quantile: float) -> None:
    values = [0.0, 1.0] * (count // 2) + [0.5]
    interval = Interval.of(values)
    deviation = (count // 2 * 2 * 0.25 / (count - 1)) ** 0.5
    expected = quantile * deviation / count**0.5
    assert interval.high - interval.mean == pytest.approx(expected, rel=2e-4)


def test_what_draws_have_in_common_is_no_difference() -> None:
    # The draws differ by 100 and more, the sides by 1 in each of them.
    first = [{"wait": 100.0}, {"wait": 300.0}, {"wait": 200.0}]
    second = [{"wait": 99.0}, {"wait": 299.0}, {"wait": 199.0}]
    answer = compare_draws([NamedRun("a"), NamedRun("b")], [first, second])
    assert answer.sides[1].differences["wait"] == DifferenceInterval(-1, -1, -1, False)
    assert answer.sides[0].differences == {}
    assert answer.differs


def test_a_difference_that_changes_its_sign_is_noise() -> None:
    first = [{"wait": 1.0, "seconds": 1}, {"wait": 2.0, "seconds": 1}]
    second = [{"wait": 2.0, "seconds": 9}, {"wait": 1.0, "seconds": 9}]
    answer = compare_draws([NamedRun("a"), NamedRun("b")], [first, second])
    assert answer.sides[1].differences["wait"].within_noise
    assert not answer.differs


def test_figures_that_not_every_draw_has_are_left_out() -> None:
    first = [{"wait": 1.0}, {"wait": 2.0, "cost": 3.0}]
    answer = compare_draws([NamedRun("a"), NamedRun("b")], [first, first])
    assert list(answer.sides[0].figures) == ["wait"]
