"""Go's math/rand, number for number: what `rand.Seed(seed)` and the calls after it give.

The generator is an additive lagged Fibonacci one: each number is the sum, modulo 2^64, of the
numbers 607 and 273 calls before. Seed fills its register from a small linear congruential
generator, and adds (xor) the register of another lagged Fibonacci generator after 7.8e12 calls.
Go carries that register as a table; here it is computed, by squaring, in a tenth of a second.

Upstream: Go's math/rand (rng.go, rand.go, gen_cooked.go).
"""

from __future__ import annotations

from collections.abc import MutableSequence
from functools import cache
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Register: TypeAlias = NDArray[np.uint64]

LENGTH = 607
TAP = 273
COOKED_CALLS = 7_800_000_000_000

_WORD = (1 << 64) - 1
_INT63 = (1 << 63) - 1
_INT31 = (1 << 31) - 1


class GoRandom:
    """A `rand.Rand` of a seed."""

    def __init__(self, seed: int) -> None:
        raw = _congruential(seed, (40, 20, 0))
        self._register: list[int] = (raw ^ _cooked()).tolist()
        self._tap = 0
        self._feed = LENGTH - TAP

    def uint64(self) -> int:
        register = self._register
        tap = self._tap = self._tap - 1 if self._tap else LENGTH - 1
        feed = self._feed = self._feed - 1 if self._feed else LENGTH - 1
        number = register[feed] = (register[feed] + register[tap]) & _WORD
        return number

    def int63(self) -> int:
        return self.uint64() & _INT63

    def float64(self) -> float:
        """From 0 up to 1, without 1."""
        while (number := self.int63() / (1 << 63)) == 1.0:
            pass
        return number

    def intn(self, bound: int) -> int:
        """From 0 up to `bound`, without it; bound: from 1 to 2^31 - 1."""
        if bound & (bound - 1) == 0:
            return (self.int63() >> 32) & (bound - 1)
        limit = _INT31 - (1 << 31) % bound
        while (number := self.int63() >> 32) > limit:
            pass
        return number % bound

    def shuffle(self, items: MutableSequence[T]) -> None:
        """In place. Draws otherwise than `intn`: by multiplication, not by division."""
        for i in range(len(items) - 1, 0, -1):
            j = self._multiplied(i + 1)
            items[i], items[j] = items[j], items[i]

    def _multiplied(self, bound: int) -> int:
        """Upstream: int31n."""
        product = (self.int63() >> 31) * bound
        if product & 0xFFFFFFFF < bound:
            threshold = ((1 << 32) - bound) % bound
            while product & 0xFFFFFFFF < threshold:
                product = (self.int63() >> 31) * bound
        return product >> 32

    def permutation(self, count: int) -> list[int]:
        """A permutation of the numbers from 0 to count - 1."""
        numbers = [0] * count
        for i in range(count):
            j = self.intn(i + 1)
            numbers[i] = numbers[j]
            numbers[j] = i
        return numbers


def _congruential(seed: int, shifts: tuple[int, int, int]) -> Register:
    """A register from x → 48271·x modulo 2^31 - 1: three numbers a word, each shifted."""
    x = seed % _INT31 or 89_482_311
    for _ in range(20):
        x = 48_271 * x % _INT31
    numbers = []
    for _ in range(LENGTH):
        word = 0
        for shift in shifts:
            x = 48_271 * x % _INT31
            word ^= x << shift
        numbers.append(word & _WORD)
    return np.array(numbers, dtype=np.uint64)


@cache
def _cooked() -> Register:
    """The register of the generator that was seeded with 1, after COOKED_CALLS calls.

    The numbers follow y[k + 607] = y[k + 334] + y[k]. So y[k + n] is a sum of y[k] … y[k + 606]
    whose coefficients are those of t^n modulo t^607 - t^334 - 1. Numbers of 64 bits wrap as Go's.
    """
    # The word at index i is the number of call 333 - i - 607, counted from the first call, 0.
    register = _congruential(1, (20, 10, 0))
    places = (LENGTH - TAP - 1 - np.arange(LENGTH)) % LENGTH
    numbers = np.zeros(2 * LENGTH, dtype=np.uint64)
    numbers[places] = register
    for k in range(LENGTH):
        numbers[k + LENGTH] = numbers[k + LENGTH - TAP] + numbers[k]
    coefficients = _power(COOKED_CALLS)
    later = np.array([coefficients @ numbers[j : j + LENGTH] for j in range(LENGTH)])
    # The numbers of calls COOKED_CALLS - 607 … COOKED_CALLS - 1, each at its index in the register.
    return later[(LENGTH - TAP - 1 - np.arange(LENGTH) - COOKED_CALLS) % LENGTH]


def _power(exponent: int) -> Register:
    """The coefficients of t^exponent modulo t^607 - t^334 - 1, lowest first."""
    result = np.zeros(LENGTH, dtype=np.uint64)
    result[0] = 1
    for bit in bin(exponent)[2:]:
        square = np.convolve(result, result)
        if bit == "1":
            square = np.concatenate((np.zeros(1, dtype=np.uint64), square))
        result = _reduced(square)
    return result


def _reduced(polynomial: Register) -> Register:
    """Its remainder; of degree 1213 at most."""
    low, high = polynomial[:LENGTH].copy(), polynomial[LENGTH:]
    while len(high):
        # t^(607 + i) is t^(334 + i) + t^i.
        shifted = np.zeros(max(len(high) + LENGTH - TAP, LENGTH), dtype=np.uint64)
        shifted[LENGTH - TAP : LENGTH - TAP + len(high)] = high
        low[: len(high)] += high
        low += shifted[:LENGTH]
        high = shifted[LENGTH:]
    return low
