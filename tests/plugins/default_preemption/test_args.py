"""The args of DefaultPreemption: how many candidates are enough."""

import pytest

from ksched_cli.plugins.args import DEFAULT_PREEMPTION_ARGS as ARGS
from ksched_cli.plugins.args import DefaultPreemptionArgs
from tests.plugins.args_checks import error_texts


def test_ten_percent_and_a_hundred_nodes_by_default() -> None:
    args = ARGS.with_defaults(DefaultPreemptionArgs())
    assert (args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute) == (10, 100)


def test_zero_is_not_replaced_by_the_default() -> None:
    args = ARGS.with_defaults(DefaultPreemptionArgs(min_candidate_nodes_percentage=0))
    assert args.min_candidate_nodes_percentage == 0


@pytest.mark.parametrize(
    ("percentage", "absolute", "errors"),
    [
        (0, 1, []),
        (100, 0, []),
        (
            101,
            -1,
            [
                "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
                "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            ],
        ),
        (
            0,
            0,
            [
                "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as"
                " minCandidateNodesAbsolute",
                "minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as"
                " minCandidateNodesPercentage",
            ],
        ),
    ],
)
def test_numbers_outside_their_ranges_are_errors(
    percentage: int, absolute: int, errors: list[str]
) -> None:
    args = DefaultPreemptionArgs(
        min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute
    )
    assert error_texts(ARGS, args) == errors
