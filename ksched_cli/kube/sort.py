"""Go's sort.Slice: its pattern-defeating quicksort, with the same result for equal elements.

The sort is not stable beyond twelve elements, and kube-scheduler also sorts by comparisons that are
no order (each of two elements less than the other). In both cases the result depends on the
algorithm, so it is Go's, step by step.

Upstream: Go's sort package (Slice, pdqsort_func in zsortfunc.go).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_INSERTION = 12
SHORTEST_NINTHER = 50
SHORTEST_MEDIAN = 8
SHORTEST_SHIFTING = 50
MAX_STEPS = 5
MAX_SWAPS = 12
MASK_64 = (1 << 64) - 1


def go_sort(items: list[T], less: Callable[[T, T], bool]) -> None:
    """Sort in place."""
    _Sorting(items, less).sort(0, len(items), len(items).bit_length())


class _Sorting(Generic[T]):
    """One call's list and comparison. Ranges are half open: start to end - 1."""

    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self.items = items
        self._less = less

    def less(self, i: int, j: int) -> bool:
        return self._less(self.items[i], self.items[j])

    def swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def sort(self, start: int, end: int, limit: int) -> None:
        """limit: the number of bad pivots after which a range is sorted by heap sort."""
        balanced = partitioned = True
        while end - start > MAX_INSERTION:
            length = end - start
            if limit == 0:
                self.heap_sort(start, end)
                return
            if not balanced:
                self.break_patterns(start, end)
                limit -= 1
            pivot, swaps = self.choose_pivot(start, end)
            if swaps == MAX_SWAPS:
                self.items[start:end] = self.items[start:end][::-1]
                pivot, swaps = end - 1 - (pivot - start), 0
            if balanced and partitioned and swaps == 0 and self.partial_insertion_sort(start, end):
                return
            if start > 0 and not self.less(start - 1, pivot):
                start = self.partition_equal(start, end, pivot)
                continue
            middle, partitioned = self.partition(start, end, pivot)
            balanced = min(middle - start, end - middle) >= length // 8
            if middle - start < end - middle:
                self.sort(start, middle, limit)
                start = middle + 1
            else:
                self.sort(middle + 1, end, limit)
                end = middle
        self.insertion_sort(start, end)

    def insertion_sort(self, start: int, end: int) -> None:
        for i in range(start + 1, end):
            while i > start and self.less(i, i - 1):
                self.swap(i, i - 1)
                i -= 1

    # -- partitions -------------------------------------------------------------------------------

    def partition(self, start: int, end: int, pivot: int) -> tuple[int, bool]:
        """Move smaller elements before the pivot. Return the pivot's index, and whether nothing
        moved."""
        self.swap(start, pivot)
        i, j = self.narrow(start, start + 1, end - 1)
        untouched = i > j
        while i <= j:
            self.swap(i, j)
            i, j = self.narrow(start, i + 1, j - 1)
        self.swap(j, start)
        return j, untouched

    def narrow(self, pivot: int, i: int, j: int) -> tuple[int, int]:
        """The indices without the elements at both ends that are on their side of the pivot."""
        while i <= j and self.less(i, pivot):
            i += 1
        while i <= j and not self.less(j, pivot):
            j -= 1
        return i, j

    def partition_equal(self, start: int, end: int, pivot: int) -> int:
        """Move elements equal to the pivot first, where none is smaller; return the index of the
        rest."""
        self.swap(start, pivot)
        i, j = start + 1, end - 1
        while True:
            while i <= j and not self.less(start, i):
                i += 1
            while i <= j and self.less(start, j):
                j -= 1
            if i > j:
                return i
            self.swap(i, j)
            i, j = i + 1, j - 1

    # -- pivots -----------------------------------------------------------------------------------

    def choose_pivot(self, start: int, end: int) -> tuple[int, int]:
        """Index of a pivot, and how many comparisons found a greater element first."""
        length = end - start
        swaps = [0]
        quarter = length // 4
        indices = [start + quarter, start + quarter * 2, start + quarter * 3]
        if length >= SHORTEST_NINTHER:
            indices = [self.median(index - 1, index, index + 1, swaps) for index in indices]
        if length >= SHORTEST_MEDIAN:
            indices[1] = self.median(indices[0], indices[1], indices[2], swaps)
        return indices[1], swaps[0]

    def median(self, a: int, b: int, c: int, swaps: list[int]) -> int:
        a, b = self.in_order(a, b, swaps)
        b, c = self.in_order(b, c, swaps)
        a, b = self.in_order(a, b, swaps)
        return b

    def in_order(self, a: int, b: int, swaps: list[int]) -> tuple[int, int]:
        if self.less(b, a):
            swaps[0] += 1
            return b, a
        return a, b

    # -- special cases ----------------------------------------------------------------------------

    def partial_insertion_sort(self, start: int, end: int) -> bool:
        """Move up to MAX_STEPS elements that are out of order; whether the range is sorted then.

        Upstream: partialInsertionSort_func.
        """
        i = start + 1
        for _ in range(MAX_STEPS):
            while i < end and not self.less(i, i - 1):
                i += 1
            if i == end:
                return True
            if end - start < SHORTEST_SHIFTING:
                return False
            self.swap(i, i - 1)
            if i - start >= 2:
                # Down to the start of the list, not of the range, as upstream.
                for j in range(i - 1, 0, -1):
                    if not self.less(j, j - 1):
                        break
                    self.swap(j, j - 1)
            for j in range(i + 1, end):
                if not self.less(j, j - 1):
                    break
                self.swap(j, j - 1)
        return False

    def break_patterns(self, start: int, end: int) -> None:
        """Swap three elements near the middle with ones that a xorshift generator draws.

        Its seed is the length. Upstream: breakPatterns_func.
        """
        length = end - start
        middle = start + length // 4 * 2
        seed = length
        for index in range(middle - 1, middle + 2):
            seed ^= seed << 13 & MASK_64
            seed ^= seed >> 7
            seed ^= seed << 17 & MASK_64
            other = seed & (1 << length.bit_length()) - 1
            if other >= length:
                other -= length
            self.swap(index, start + other)

    def heap_sort(self, start: int, end: int) -> None:
        length = end - start
        for root in range((length - 1) // 2, -1, -1):
            self.sift_down(root, length, start)
        for last in range(length - 1, -1, -1):
            self.swap(start, start + last)
            self.sift_down(0, last, start)

    def sift_down(self, root: int, end: int, start: int) -> None:
        while (child := 2 * root + 1) < end:
            if child + 1 < end and self.less(start + child, start + child + 1):
                child += 1
            if not self.less(start + root, start + child):
                return
            self.swap(start + root, start + child)
            root = child
