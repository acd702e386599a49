"""Go's numbers: made by a program of Go 1.26 that calls math/rand."""

from __future__ import annotations

import pytest
from ksched_fgd.go_random import GoRandom

WORD = (1 << 64) - 1


@pytest.mark.parametrize(
    ("seed", "numbers", "last"),
    [
        (
            1,
            (5577006791947779410, 8674665223082153551, 6129484611666145821, 0, 385, 1474941318),
            0.06563701921747622,
        ),
        (
            42,
            (3440579354231278675, 9832119173398632219, 5571782338101878760, 1, 991, 822901345),
            0.8128771359243787,
        ),
        (
            0,
            (8717895732742165505, 2259404117704393152, 6050128673802995827, 4, 251, 621654496),
            0.19243860967493215,
        ),
        (
            -7,
            (747107023976529931, 16308104968817794534, 6995717851144434728, 2, 955, 1834302730),
            0.6457185447231,
        ),
        (
            1099511627781,
            (2916455904842158270, 5507080614734369183, 842389179730253367, 3, 55, 1668792444),
            0.8642636925654168,
        ),
        (
            2147483647,
            (8717895732742165505, 2259404117704393152, 6050128673802995827, 4, 251, 621654496),
            0.19243860967493215,
        ),
    ],
)
def test_the_numbers_of_a_seed_are_gos(
    seed: int, numbers: tuple[int, int, int, int, int, int], last: float
) -> None:
    go = GoRandom(seed)
    drawn = (go.int63(), go.uint64(), go.int63(), go.intn(7), go.intn(1024), go.intn(2**31 - 1))
    assert drawn == numbers
    assert go.float64() == last


def test_a_shuffle_and_a_permutation_are_gos() -> None:
    go = GoRandom(1)
    for _ in range(7):
        go.uint64()
    items = list(range(12))
    go.shuffle(items)
    assert items == [9, 5, 0, 8, 7, 2, 10, 6, 4, 3, 11, 1]
    assert go.permutation(12) == [1, 6, 10, 11, 5, 2, 0, 8, 9, 4, 3, 7]


def test_the_whole_register_is_gos() -> None:
    """The sum of 5,000 numbers: each word of the register has been added several times."""
    go = GoRandom(1)
    for _ in range(7):
        go.uint64()
    go.shuffle(list(range(12)))
    go.permutation(12)
    total = 0
    for _ in range(5000):
        total = (total * 31 + go.uint64()) & WORD
    assert total == 16675364600537305116
