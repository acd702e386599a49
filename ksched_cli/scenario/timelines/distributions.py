"""The arrivals and run times of pods, drawn at random."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from ksched_cli.errors import UsageError
from ksched_cli.kube.selectors import parse_int64

DAY = 86_400.0
_BURST = 10  # pods, by default
LONGEST = 1e11 - 1  # seconds, which is what a timeline may have
_WIDEST = 20  # of a logarithm

# Takes how many pods come, and in how many seconds; seconds after the start, in order.
Arrivals = Callable[[random.Random, int, float], list[float]]
# Seconds.
RunTime = Callable[[random.Random], float]

ARRIVALS = "uniform, poisson, burst[:SIZE], diurnal or weekly"
RUN_TIMES = "fixed:S, uniform:MIN:MAX, exponential:MEAN or lognormal:MEDIAN:SIGMA"


def arrivals_of(text: str) -> Arrivals:
    """Parse a distribution as it is written. Raises UsageError for another text."""
    match text.split(":"):
        case ["uniform"]:
            return _uniform
        case ["poisson"]:
            return _poisson
        case ["diurnal"]:
            return _diurnal
        case ["burst"]:
            return _bursts(_BURST)
        case ["burst", size] if (parse_int64(size) or 0) > 0:
            return _bursts(parse_int64(size) or 0)
    raise UsageError(f'--arrivals takes {ARRIVALS}; not "{text}"')


def _uniform(draw: random.Random, pods: int, length: float) -> list[float]:
    """Space arrivals at equal distances."""
    return [length * index / pods for index in range(pods)]


def _poisson(draw: random.Random, pods: int, length: float) -> list[float]:
    """Draw arrivals at random, as many at any time."""
    return sorted(draw.uniform(0, length) for _ in range(pods))


def _diurnal(draw: random.Random, pods: int, length: float) -> list[float]:
    """Draw arrivals at random, most at noon and none at midnight."""
    times: list[float] = []
    while len(times) < pods:
        at = draw.uniform(0, length)
        if draw.random() < (1 - math.cos(2 * math.pi * at / DAY)) / 2:
            times.append(at)
    return sorted(times)


def _bursts(size: int) -> Arrivals:
    """Return arrivals in bursts of this size, at random times."""

    def arrivals(draw: random.Random, pods: int, length: float) -> list[float]:
        times = _poisson(draw, -(-pods // size), length)
        return [at for at in times for _ in range(min(size, pods))][:pods]

    return arrivals


def run_time_of(text: str, source: str = "--runs-for") -> RunTime:
    """A distribution as it is written. source: what errors say it is from. Raises UsageError for
    another text."""
    name, *parameters = text.split(":")
    try:
        numbers = [float(number) for number in parameters]
        run_time = _run_time(name, numbers)
    except ValueError:
        run_time = None
    if run_time is None:
        raise UsageError(f'{source} takes {RUN_TIMES}, in seconds; not "{text}"')
    return run_time


def _run_time(name: str, numbers: list[float]) -> RunTime | None:
    if not all(0 <= number <= LONGEST for number in numbers):
        return None
    match name, numbers:
        case "fixed", [length]:
            return lambda draw: length
        case "uniform", [least, most] if least <= most:
            return lambda draw: draw.uniform(least, most)
        case "exponential", [mean] if mean:
            return lambda draw: draw.expovariate(1 / mean)
        case "lognormal", [median, sigma] if median and sigma <= _WIDEST:
            return lambda draw: draw.lognormvariate(math.log(median), sigma)
    return None
