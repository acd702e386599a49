"""default_normalize_score against Go's arithmetic."""

import numpy as np
import pytest

from ksched_cli.plugins.helper import default_normalize_score


@pytest.mark.parametrize(
    ("raw", "normalized", "reversed_scores"),
    [
        ([0, 5, 10], [0, 50, 100], [100, 50, 0]),
        ([1, 3], [33, 100], [67, 0]),
        ([0, 0], [0, 0], [100, 100]),
        ([-4, -2], [-4, -2], [100, 100]),
        ([-1, 3], [-33, 100], [133, 0]),
        ([], [], []),
    ],
)
def test_the_highest_score_becomes_100_and_reversed_0(
    raw: list[int], normalized: list[int], reversed_scores: list[int]
) -> None:
    column = np.array(raw, dtype=np.int64)
    assert default_normalize_score(column).tolist() == normalized
    assert default_normalize_score(column, reverse=True).tolist() == reversed_scores
    assert column.tolist() == raw
