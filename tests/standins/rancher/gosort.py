# SPDX-License-Identifier: Apache-2.0
"""The unstable sort of the Go library that Rancher's LB image was built with (quicksort, heapsort, Shell
pass).

The image sorts rules with a comparison that is no consistent order, so the result depends on the algorithm.
Tests that want the image's "odd" order need the same one; any other sort would be odd in another way.
"""

from __future__ import annotations

from typing import Any, Callable

Less = Callable[[Any, Any], bool]


class _Sorter:
    def __init__(self, items: list, less: Less):
        self.items = items
        self._less = less

    def less(self, i: int, j: int) -> bool:
        return self._less(self.items[i], self.items[j])

    def swap(self, i: int, j: int) -> None:
        self.items[i], self.items[j] = self.items[j], self.items[i]

    def insertion(self, low: int, high: int) -> None:
        for i in range(low + 1, high):
            j = i
            while j > low and self.less(j, j - 1):
                self.swap(j, j - 1)
                j -= 1

    def sift_down(self, low: int, high: int, first: int) -> None:
        root = low
        while True:
            child = 2 * root + 1
            if child >= high:
                return
            if child + 1 < high and self.less(first + child, first + child + 1):
                child += 1
            if not self.less(first + root, first + child):
                return
            self.swap(first + root, first + child)
            root = child

    def heap(self, low: int, high: int) -> None:
        first, size = low, high - low
        for i in range((size - 1) // 2, -1, -1):
            self.sift_down(i, size, first)
        for i in range(size - 1, -1, -1):
            self.swap(first, first + i)
            self.sift_down(0, i, first)

    def median_of_three(self, m1: int, m0: int, m2: int) -> None:
        if self.less(m1, m0):
            self.swap(m1, m0)
        if self.less(m2, m1):
            self.swap(m2, m1)
            if self.less(m1, m0):
                self.swap(m1, m0)

    def pivot(self, low: int, high: int) -> tuple[int, int]:
        middle = (low + high) // 2
        if high - low > 40:
            s = (high - low) // 8
            self.median_of_three(low, low + s, low + 2 * s)
            self.median_of_three(middle, middle - s, middle + s)
            self.median_of_three(high - 1, high - 1 - s, high - 1 - 2 * s)
        self.median_of_three(low, middle, high - 1)
        pivot = low
        a, c = low + 1, high - 1
        while a < c and self.less(a, pivot):
            a += 1
        b = a
        b, c = self._partition(b, c, pivot)
        protect = high - c < 5
        if not protect and high - c < (high - low) // 4:
            protect, b, c = self._many_equal(b, c, middle, high, pivot)
        if protect:
            b = self._protect(a, b, pivot)
        self.swap(pivot, b - 1)
        return b - 1, c

    def _partition(self, b: int, c: int, pivot: int) -> tuple[int, int]:
        while True:
            while b < c and not self.less(pivot, b):
                b += 1
            while b < c and self.less(pivot, c - 1):
                c -= 1
            if b >= c:
                return b, c
            self.swap(b, c - 1)
            b, c = b + 1, c - 1

    def _many_equal(self, b: int, c: int, middle: int, high: int, pivot: int) -> tuple[bool, int, int]:
        equal = 0
        if not self.less(pivot, high - 1):
            self.swap(c, high - 1)
            c += 1
            equal += 1
        if not self.less(b - 1, pivot):
            b -= 1
            equal += 1
        if not self.less(middle, pivot):
            self.swap(middle, b - 1)
            b -= 1
            equal += 1
        return equal > 1, b, c

    def _protect(self, a: int, b: int, pivot: int) -> int:
        while True:
            while a < b and not self.less(b - 1, pivot):
                b -= 1
            while a < b and self.less(a, pivot):
                a += 1
            if a >= b:
                return b
            self.swap(a, b - 1)
            a, b = a + 1, b - 1

    def quick(self, low: int, high: int, depth: int) -> None:
        while high - low > 12:
            if depth == 0:
                self.heap(low, high)
                return
            depth -= 1
            middle_low, middle_high = self.pivot(low, high)
            if middle_low - low < high - middle_high:
                self.quick(low, middle_low, depth)
                low = middle_high
            else:
                self.quick(middle_high, high, depth)
                high = middle_low
        if high - low > 1:
            for i in range(low + 6, high):
                if self.less(i, i - 6):
                    self.swap(i, i - 6)
            self.insertion(low, high)


def go_sorted(items: list, less: Less) -> list:
    """The items in the order that sort.Sort of Go 1.4 to 1.18 gives them."""
    sorter = _Sorter(list(items), less)
    sorter.quick(0, len(sorter.items), 2 * len(sorter.items).bit_length())
    return sorter.items
