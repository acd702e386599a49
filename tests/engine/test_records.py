"""The records of a run."""

import pytest

from ksched_cli.engine.records import NO_DETAIL, Attempt, ExtenderBinding, NodeScore, RunRecord


def test_an_attempt_has_no_detail_unless_it_is_given() -> None:
    attempt = Attempt("default/p", "default-scheduler")
    assert attempt.detail is NO_DETAIL
    assert (attempt.detail.filter, attempt.detail.scores, attempt.detail.totals) == ({}, {}, {})


def test_records_are_frozen_and_compare_by_value() -> None:
    score = NodeScore(1, 10, 2, 20)
    assert score == NodeScore(1, 10, 2, 20)
    with pytest.raises(AttributeError):
        setattr(score, "raw", 2)  # noqa: B010  # mypy knows that it cannot be set


def test_the_bindings_of_extenders_are_those_of_the_attempts_in_their_order() -> None:
    calls = [ExtenderBinding("e", "http://e/bind", False, {"Node": name}) for name in "ab"]
    attempts = (
        Attempt("default/p", "s", extender_binding=calls[0]),
        Attempt("default/q", "s"),
        Attempt("default/r", "s", extender_binding=calls[1]),
    )
    run = RunRecord(attempts, {}, (), {}, (), {})
    assert run.extender_bindings == tuple(calls)
