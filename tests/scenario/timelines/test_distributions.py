"""When pods come, and how long they run."""

from __future__ import annotations

import random
import statistics

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.scenario.timelines.generate import DAY, arrivals_of, run_time_of


def times(text: str, pods: int = 1000, length: float = DAY) -> list[float]:
    return arrivals_of(text)(random.Random(1), pods, length)


def run_times(text: str) -> list[float]:
    draw, run_time = random.Random(1), run_time_of(text)
    return [run_time(draw) for _ in range(2000)]


@pytest.mark.parametrize("text", ["uniform", "poisson", "burst", "burst:7", "diurnal"])
def test_as_many_pods_come_as_are_told_in_order_and_in_time(text: str) -> None:
    drawn = times(text)
    assert (len(drawn), drawn) == (1000, sorted(drawn))
    assert 0 <= drawn[0] <= drawn[-1] < DAY


def test_arrivals_are_as_their_process_says() -> None:
    assert times("uniform", 4, 8.0) == [0, 2, 4, 6]
    assert len(set(times("burst:7", 20))) == 3
    assert len(set(times("poisson"))) == 1000
    hours = [at / 3600 for at in times("diurnal")]
    assert sum(6 <= hour < 18 for hour in hours) > 750


def test_run_times_are_as_their_distribution_says() -> None:
    assert set(run_times("fixed:60")) == {60}
    uniform = run_times("uniform:10:20")
    assert 10 <= min(uniform) < 11 < 19 < max(uniform) <= 20
    assert statistics.mean(run_times("exponential:100")) == pytest.approx(100, rel=0.1)
    assert statistics.median(run_times("lognormal:100:1")) == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize("text", ["", "daily", "burst:0", "burst:x", "poisson:3"])
def test_other_processes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--arrivals takes uniform"):
        arrivals_of(text)


@pytest.mark.parametrize(
    "text", ["", "fixed", "fixed:x", "uniform:2:1", "exponential:0", "fixed:-1", "fixed:inf"]
)
def test_other_distributions_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--runs-for takes fixed:S"):
        run_time_of(text)
