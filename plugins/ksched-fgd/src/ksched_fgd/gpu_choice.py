"""Which GPUs of a node a pod gets.

Upstream: pkg/simulator/plugin/open_gpu_share.go (the allocateGpuIdBasedOn… functions),
pkg/type/resource.go (AllocateExclusiveGpuId).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ksched_fgd.go_random import GoRandom
from ksched_fgd.gpu_requests import GpuRequest

# What is left of each GPU of a node.
Left: TypeAlias = Sequence[int]
Choice: TypeAlias = Callable[[Left, int], int]


def best(left: Left, milli: int) -> int:
    """The one with the least left among those that suffice; the first of several."""
    return min((amount, index) for index, amount in enumerate(left) if amount >= milli)[1]


def worst(left: Left, milli: int) -> int:
    """The one with the most left; the first of several."""
    return max((amount, -index) for index, amount in enumerate(left) if amount >= milli)[1] * -1


def drawn(numbers: GoRandom) -> Choice:
    """Any of those that suffice."""

    def draw(left: Left, milli: int) -> int:
        chosen, count = -1, 0
        for index, amount in enumerate(left):
            if amount >= milli:
                count += 1
                if numbers.intn(count) == 0:
                    chosen = index
        return chosen

    return draw


# By their names in gpuSelMethod.
CHOICES: dict[str, Choice] = {"best": best, "worst": worst}


def register_choice(name: str) -> Callable[[Choice], Choice]:
    """Return a decorator that makes a function a value of gpuSelMethod. The function gets what is
    left of each GPU of the node and the part that a pod requests, and returns the index of a GPU
    with enough left; there is one."""

    def register(choice: Choice) -> Choice:
        CHOICES[name] = choice
        return choice

    return register


def fits(left: Left, request: GpuRequest) -> bool:
    return sum(amount >= request.milli for amount in left) >= request.count


def choose(left: Left, request: GpuRequest, choice: Choice) -> tuple[int, ...]:
    """The indices of GPUs for a request that fits: `choice` decides of a part of one, the lowest
    free ones are taken of whole ones."""
    if request.is_shared:
        return (choice(left, request.milli),)
    free = [index for index, amount in enumerate(left) if amount >= request.milli]
    return tuple(free[: request.count])
