"""A plugin's answer: which codes reject, and how they are printed."""

import pytest

from ksched_cli.framework.status import SKIP, SUCCESS, Code, Status

TEXTS = [
    "Success",
    "Error",
    "Unschedulable",
    "UnschedulableAndUnresolvable",
    "Wait",
    "Skip",
    "Pending",
]


def test_codes_have_kube_schedulers_numbers_and_texts() -> None:
    assert [code.text for code in sorted(Code)] == TEXTS
    assert [code.value for code in Code] == list(range(7))


@pytest.mark.parametrize("code", Code)
def test_each_code_is_of_one_kind_or_an_error(code: Code) -> None:
    status = Status(code)
    kinds = [status.is_success, status.is_skip, status.is_wait, status.is_rejected]
    assert sum(kinds) == (code is not Code.ERROR)


def test_a_rejection_is_one_that_evictions_may_lift_or_one_that_they_cannot() -> None:
    assert Status.unschedulable("a").code is Code.UNSCHEDULABLE
    assert Status.unresolvable("a").code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert Status.unschedulable("a").is_rejected
    assert Status.unresolvable("a").is_rejected
    assert not Status.error("a").is_rejected


def test_the_message_lists_the_reasons() -> None:
    assert Status.unschedulable("a", "b").message == "a, b"
    assert SUCCESS.message == SKIP.message == ""


def test_the_plugins_name_is_part_of_a_status() -> None:
    status = Status.unschedulable("a")
    assert status.by("P") == Status(Code.UNSCHEDULABLE, ("a",), "P")
    assert status.by("P") != status.by("Q")
    assert status.plugin == ""
