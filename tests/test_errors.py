"""An error's text has where, what and what to do; its class the exit code."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.batching import Batching
from ksched_cli.engine.pod_group_cycle import PodGroupCycle
from ksched_cli.errors import (
    InputError,
    KschedError,
    PluginDefectError,
    Position,
    UsageError,
    is_of_decisions,
)
from ksched_cli.testing import cluster, simulation


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("a.yaml", "is empty"), "a.yaml: is empty"),
        (
            InputError("a.yaml", "is odd", subject="Pod p: spec", position=Position(2, 3)),
            "a.yaml:2:3: Pod p: spec: is odd",
        ),
        (InputError("a.yaml", "is empty", hint="Fill it."), "a.yaml: is empty\n  Fill it."),
    ],
)
def test_an_input_error_names_place_subject_problem_and_hint(error: InputError, text: str) -> None:
    assert str(error) == error.text() == text


def test_exit_codes_tell_wrong_input_from_broken_plugins() -> None:
    assert [UsageError("x").exit_code, InputError("a", "b").exit_code] == [2, 2]
    defect = PluginDefectError("broke", "the traceback")
    assert isinstance(defect, KschedError)
    assert (defect.exit_code, str(defect), defect.detail) == (3, "broke", "the traceback")


def test_a_long_message_is_shown_without_its_middle() -> None:
    error = InputError("state.yaml", "quantity " + "9" * 5_000, subject="Node n")
    assert len(str(error)) < 1_200
    assert str(error).endswith("999 (5009 characters)")
    assert len(str(InputError("9" * 5_000, "no such file"))) < 1_200


class Endless(PodGroupCycle):
    """A cycle whose attempt is another one."""

    def __init__(self) -> None:
        run = simulation(cluster(), kubernetes_version="1.36", feature_gates="GenericWorkload=true")
        assert run.pod_groups is not None
        super().__init__(run.cycle, run.frameworks, run.pod_groups, print, print)

    def _begin(self, batching: Batching, pods: Sequence[PodInfo]) -> None:
        """Count nothing."""

    _attempt = PodGroupCycle.attempt


def test_a_recursion_of_decisions_is_told_from_one_over_an_input() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(RecursionError) as of_data:
        copy.deepcopy(nested)
    with pytest.raises(RecursionError) as of_decisions:
        Endless().attempt([])
    assert is_of_decisions(of_decisions.value)
    assert not is_of_decisions(of_data.value)
    assert not is_of_decisions(ValueError())
