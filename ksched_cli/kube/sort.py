"""The order in which Go's sort.Slice leaves a list, equal elements included.

Upstream sorts victims with it, and which of two equal pods goes first decides who is evicted. Up
to twelve elements it is an insertion sort and so stable, beyond that it is not; and it is asked to
sort by an order that contradicts itself (preemption_victims.py), where the way of sorting decides.

Upstream: Go's sort package (Slice, pdqsort_func).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

LONGEST_INSERTION = 12
SHORTEST_NINTHER = 50
SHORTEST_MEDIAN = 8
SHORTEST_SHIFT = 50
MOST_SHIFTS = 5
MOST_SWAPS = 12
MASK_64 = (1 << 64) - 1


def go_sort(items: list[T], less: Callable[[T, T], bool]) -> None:
    """Sorts in place."""
    _Sorting(items, less).sort(0, len(items), len(items).bit_length())


class _Sorting(Generic[T]):
    """A sort under way. Ranges are half open, as Python's."""

    def __init__(self, items: list[T], less: Callable[[T, T], bool]) -> None:
        self.items = items
        self._less = less

    def less(self, i: int, j: int) -> bool:
        return self._less(self.items[i], self.items[j])

    def swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def sort(self, start: int, end: int, limit: int) -> None:
        """limit: how many bad pivots to put up with before it becomes a heap sort."""
        balanced = partitioned = True
        while end - start > LONGEST_INSERTION:
            length = end - start
            if limit == 0:
                self.heap_sort(start, end)
                return
            if not balanced:
                self.scatter(start, end)
                limit -= 1
            pivot, swaps = self.choose_pivot(start, end)
            if swaps == MOST_SWAPS:
                self.items[start:end] = self.items[start:end][::-1]
                pivot, swaps = end - 1 - (pivot - start), 0
            if balanced and partitioned and swaps == 0 and self.nearly_sorted(start, end):
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
        """The pivot's place, now that smaller elements are before it; whether they were already."""
        self.swap(start, pivot)
        i, j = self.narrow(start, start + 1, end - 1)
        untouched = i > j
        while i <= j:
            self.swap(i, j)
            i, j = self.narrow(start, i + 1, j - 1)
        self.swap(j, start)
        return j, untouched

    def narrow(self, pivot: int, i: int, j: int) -> tuple[int, int]:
        """Past what is on its side of the pivot already."""
        while i <= j and self.less(i, pivot):
            i += 1
        while i <= j and not self.less(j, pivot):
            j -= 1
        return i, j

    def partition_equal(self, start: int, end: int, pivot: int) -> int:
        """Puts what equals the pivot first, where nothing is smaller; where the rest begins."""
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
        """A place, and how many comparisons on the way found a greater element first."""
        length = end - start
        swaps = [0]
        quarter = length // 4
        places = [start + quarter, start + quarter * 2, start + quarter * 3]
        if length >= SHORTEST_NINTHER:
            places = [self.median(place - 1, place, place + 1, swaps) for place in places]
        if length >= SHORTEST_MEDIAN:
            places[1] = self.median(places[0], places[1], places[2], swaps)
        return places[1], swaps[0]

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

    def nearly_sorted(self, start: int, end: int) -> bool:
        """Mends a few places that are out of order; false where that does not do."""
        i = start + 1
        for _ in range(MOST_SHIFTS):
            while i < end and not self.less(i, i - 1):
                i += 1
            if i == end:
                return True
            if end - start < SHORTEST_SHIFT:
                return False
            self.swap(i, i - 1)
            if i - start >= 2:
                # Down to the list's beginning, not the range's: upstream does so too.
                for j in range(i - 1, 0, -1):
                    if not self.less(j, j - 1):
                        break
                    self.swap(j, j - 1)
            for j in range(i + 1, end):
                if not self.less(j, j - 1):
                    break
                self.swap(j, j - 1)
        return False

    def scatter(self, start: int, end: int) -> None:
        """Swaps three elements near the middle with ones drawn from a generator of fixed seed."""
        length = end - start
        middle = start + length // 4 * 2
        seed = length
        for place in range(middle - 1, middle + 2):
            seed ^= seed << 13 & MASK_64
            seed ^= seed >> 7
            seed ^= seed << 17 & MASK_64
            other = seed & (1 << length.bit_length()) - 1
            if other >= length:
                other -= length
            self.swap(place, start + other)

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
