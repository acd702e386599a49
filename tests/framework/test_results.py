"""Statuses, and the vectors of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Code, Status

STATUSES = st.sampled_from(
    [SUCCESS, Status.unschedulable("x"), Status.unresolvable("x", "y"), Status.error("z")]
)


def answers(verdicts: Verdicts) -> list[Status]:
    return [verdicts.statuses[i] for i in verdicts.ids]


def test_codes_carry_kube_schedulers_names_and_numbers() -> None:
    assert [(code.value, code.text) for code in Code] == [
        (0, "Success"),
        (1, "Error"),
        (2, "Unschedulable"),
        (3, "UnschedulableAndUnresolvable"),
        (4, "Wait"),
        (5, "Skip"),
        (6, "Pending"),
    ]


def test_a_rejection_is_one_of_three_codes() -> None:
    assert [code.text for code in Code if Status(code).is_rejected] == [
        "Unschedulable",
        "UnschedulableAndUnresolvable",
        "Pending",
    ]


def test_equal_statuses_are_equal_whoever_made_them() -> None:
    assert Status.unschedulable("x").by("P") == Status(Code.UNSCHEDULABLE, ("x",), "P")
    assert Status.unschedulable("x").by("P") != Status.unschedulable("x").by("Q")


def test_reasons_make_the_message() -> None:
    assert Status.unresolvable("x", "y").message == "x, y"
    assert SUCCESS.message == ""


# Each of its own, though some are equal: as plugins make them anew for every node.
NEW_STATUSES = st.integers(0, 20).map(lambda i: Status.unschedulable(f"{i}") if i else Status())


@given(st.lists(STATUSES | NEW_STATUSES, max_size=60))
def test_verdicts_say_what_they_were_made_of(statuses: list[Status]) -> None:
    verdicts = Verdicts.of(statuses)
    assert answers(verdicts) == statuses
    assert verdicts.statuses[0] == SUCCESS
    assert len(set(verdicts.statuses)) == len(verdicts.statuses)


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), max_size=3))
def test_the_first_rejection_of_a_node_stays(masks: list[list[bool]]) -> None:
    verdicts = Verdicts.passing(4)
    for i, mask in enumerate(masks):
        verdicts.reject(np.array(mask), Status.unschedulable(str(i)))
    for place, status in enumerate(answers(verdicts)):
        first = next((i for i, mask in enumerate(masks) if mask[place]), None)
        assert status == (SUCCESS if first is None else Status.unschedulable(str(first)))


def test_rejecting_by_a_mask() -> None:
    verdicts = Verdicts.rejecting(np.array([True, False]), Status.unschedulable("x"))
    assert answers(verdicts) == [Status.unschedulable("x"), SUCCESS]
