#!/usr/bin/env python3
"""A random timeline for ksched replay: pods of given templates come, run and end.

    make_timeline.py TEMPLATE.yaml[=WEIGHT] … --pods 10000 --days 7 > pods.jsonl

A template is the manifest of a pod; of several, one with a greater weight comes more often. The
same options and seed give the same timeline.

--arrivals  even: at equal distances; poisson: at random, as many at any time; daily: at random,
            most at noon and none at midnight
--runs-for  fixed:SECONDS, exponential:MEAN or lognormal:MEDIAN:SIGMA
"""

import argparse
import json
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

DAY = 86_400.0
START = "2026-01-05T00:00:00Z"  # a Monday

Arrivals = Callable[[random.Random, int, float], list[float]]


def even(draw: random.Random, pods: int, length: float) -> list[float]:
    """Seconds after the start, of that many pods in a length of time."""
    return [length * i / pods for i in range(pods)]


def poisson(draw: random.Random, pods: int, length: float) -> list[float]:
    return sorted(draw.uniform(0, length) for _ in range(pods))


def daily(draw: random.Random, pods: int, length: float) -> list[float]:
    times: list[float] = []
    while len(times) < pods:
        at = draw.uniform(0, length)
        if draw.random() < (1 - math.cos(2 * math.pi * at / DAY)) / 2:
            times.append(at)
    return sorted(times)


ARRIVALS: dict[str, Arrivals] = {"even": even, "poisson": poisson, "daily": daily}


def run_time(draw: random.Random, distribution: str) -> float:
    """Seconds, drawn from a distribution as it is written. Raises ValueError for another text."""
    match distribution.split(":"):
        case ["fixed", seconds]:
            return float(seconds)
        case ["exponential", mean]:
            return draw.expovariate(1 / float(mean))
        case ["lognormal", median, sigma]:
            return draw.lognormvariate(math.log(float(median)), float(sigma))
    raise ValueError(
        f"{distribution}: expected fixed:S, exponential:MEAN or lognormal:MEDIAN:SIGMA"
    )


def template(text: str) -> tuple[dict[str, Any], float]:
    """The manifest of a template, and its weight."""
    path, _, weight = text.partition("=")
    manifest: dict[str, Any] = yaml.safe_load(Path(path).read_text())
    return manifest, float(weight or 1)


def lines(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The header and the events."""
    draw = random.Random(options.seed)
    drawn = [template(text) for text in options.templates]
    names = [f"t{i}" for i in range(len(drawn))]
    templates = {name: manifest for name, (manifest, _) in zip(names, drawn, strict=True)}
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": START, "templates": templates}
    weights = [weight for _, weight in drawn]
    times = ARRIVALS[options.arrivals](draw, options.pods, options.days * DAY)
    events = [
        {
            "at": round(at, 3),
            "pod": f"pod-{i}",
            "template": draw.choices(names, weights)[0],
            "runsFor": round(run_time(draw, options.runs_for), 3),
        }
        for i, at in enumerate(times)
    ]
    return [header, *events]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("templates", nargs="+", metavar="TEMPLATE.yaml[=WEIGHT]")
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--days", type=float, default=7)
    parser.add_argument("--arrivals", choices=list(ARRIVALS), default="poisson")
    parser.add_argument("--runs-for", default="exponential:3600", metavar="DISTRIBUTION")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        run_time(random.Random(0), options.runs_for)
        timeline = lines(options)
    except (OSError, ValueError, yaml.YAMLError) as error:
        parser.error(str(error))
    for line in timeline:
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
