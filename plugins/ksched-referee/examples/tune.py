#!/usr/bin/env python3
"""Tunes the weights of a linear policy: a random search, then smaller and smaller steps.

    tune.py STATE… --resource nvidia.com/gpu --trials 150 --to tuned.py

An episode places the pods of a STATE through ksched's Environment; the objective is how much of the
resource the placed pods request. The result is a policy for `ksched-referee judge`.
"""

from __future__ import annotations

import argparse
import re
import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ksched_cli.api import Environment, Run

TEMPLATE = Path(__file__).with_name("linear.py")
Floats = NDArray[np.float64]


class Amounts:
    """What `features` of linear.py reads of a pod and of the feasible nodes."""

    def __init__(self, environment: Environment, observation: Mapping[str, Any]) -> None:
        names, rows = environment.resources, np.flatnonzero(observation["mask"])
        self.rows = rows
        self.requests = dict(zip(names, observation["request"].astype(float).tolist(), strict=True))
        self.allocatable = self._columns(names, observation["allocatable"][rows])
        free = observation["allocatable"][rows] - observation["requested"][rows]
        self.free = self._columns(names, free)

    @staticmethod
    def _columns(names: Sequence[str], amounts: NDArray[np.float32]) -> dict[str, Floats]:
        return dict(zip(names, amounts.T.astype(float), strict=True))


Features = Callable[[Amounts, Amounts], Floats]


def reached(environment: Environment, features: Features, weights: Floats, resource: str) -> float:
    """Return how much of the resource the placed pods request at the end of an episode."""
    observation, _ = environment.reset()
    is_over = False
    while not is_over:
        nodes = Amounts(environment, observation)
        row = nodes.rows[(features(nodes, nodes) @ weights).argmax()] if len(nodes.rows) else 0
        observation, _, is_over, _, _ = environment.step(row)
    return float(observation["requested"][:, environment.resources.index(resource)].sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("states", nargs="+")
    parser.add_argument("--resource", default="nvidia.com/gpu")
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--to", type=Path, default=Path("tuned.py"))
    options = parser.parse_args()
    template = TEMPLATE.read_text()
    policy = runpy.run_path(str(TEMPLATE))
    features, count = policy["features"], len(policy["FEATURES"])
    environments = [Environment(Run(state=state)) for state in options.states]
    draw = np.random.default_rng(options.seed)
    best, value = np.array(policy["WEIGHTS"]), -1.0
    began = perf_counter()
    for trial in range(options.trials):
        # The template's weights come first. Then a third of the trials look everywhere, the others
        # around the best so far, in smaller and smaller steps.
        share, step = trial / options.trials, draw.normal(size=count)
        if not trial:
            weights = best
        elif share < 1 / 3:
            weights = step
        else:
            weights = best + step * np.exp(-3 * share)
        amount = sum(reached(each, features, weights, options.resource) for each in environments)
        if amount > value:
            best, value = weights, amount
            print(f"trial {trial}: {amount:,.0f} {options.resource}, {perf_counter() - began:.0f}s")
    lines = ", ".join(f"{weight:.4f}" for weight in best)
    text = re.sub(r"^WEIGHTS = .*$", f"WEIGHTS = ({lines})", template, count=1, flags=re.M)
    options.to.write_text(text)
    print(f"{options.to}: {value:,.0f} {options.resource} in {options.trials} trials")


if __name__ == "__main__":
    main()
