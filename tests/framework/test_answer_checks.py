"""What a plugin returned is refused with the method's name, what it was and what it should be."""

from typing import Any, cast

import numpy as np
import pytest

from ksched_cli.framework.answer_checks import (
    checked_result,
    checked_scores,
    checked_verdicts,
    expect,
)
from ksched_cli.framework.interface import PreFilterResult
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, MalformedError, Status


def test_an_answer_of_another_type_is_refused() -> None:
    expect(SUCCESS, Status, "reserve")
    with pytest.raises(MalformedError, match=r"^reserve returned bool, expected Status$"):
        expect(True, Status, "reserve")


@pytest.mark.parametrize("result", [None, PreFilterResult(frozenset({"a"}))])
def test_a_result_may_be_left_out(result: PreFilterResult | None) -> None:
    assert checked_result((result, SUCCESS), PreFilterResult, "pre_filter") == (result, SUCCESS)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (SUCCESS, "pre_filter returned Status, expected tuple"),
        ((None, None), "pre_filter's status returned NoneType, expected Status"),
        (("n", SUCCESS), "pre_filter's result returned str, expected PreFilterResult"),
    ],
)
def test_a_result_of_another_shape_is_refused(
    answer: Status | tuple[str | None, Status | None], message: str
) -> None:
    with pytest.raises(MalformedError, match=f"^{message}$"):
        checked_result(answer, PreFilterResult, "pre_filter")


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ([SUCCESS], "filter_nodes returned list, expected Verdicts"),
        (Verdicts(cast(Any, [0, 0])), "filter_nodes' ids returned list, expected ndarray"),
        (Verdicts.passing(3), "filter_nodes returned 3 verdicts for 2 nodes"),
    ],
)
def test_verdicts_of_another_shape_are_refused(verdicts: Any, message: str) -> None:
    with pytest.raises(MalformedError, match=f"^{message}$"):
        checked_verdicts(verdicts, 2)


def test_one_verdict_and_one_score_per_node_pass() -> None:
    checked_verdicts(Verdicts.passing(2), 2)
    checked_scores(np.zeros(2, dtype=np.int64), 2, "score_nodes")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1, 2], "score_nodes returned list, expected ndarray"),
        (np.zeros(2), "score_nodes returned an array of float64, expected integers"),
        (np.zeros((2, 1), dtype=np.int64), "score_nodes returned 2 scores for 2 nodes"),
        (np.zeros(3, dtype=np.int64), "score_nodes returned 3 scores for 2 nodes"),
    ],
)
def test_scores_of_another_shape_are_refused(scores: Any, message: str) -> None:
    with pytest.raises(MalformedError, match=f"^{message}$"):
        checked_scores(scores, 2, "score_nodes")
