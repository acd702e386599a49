"""The args of PodTopologySpread: constraints of pods that have none."""

import pytest

from ksched_cli.plugins.args import POD_TOPOLOGY_SPREAD_ARGS as ARGS
from ksched_cli.plugins.args import (
    LabelSelector,
    PodTopologySpreadArgs,
    TopologySpreadConstraint,
)
from tests.plugins.args_checks import error_texts

ZONE = TopologySpreadConstraint(1, "zone", "ScheduleAnyway")


def listing(*constraints: TopologySpreadConstraint) -> PodTopologySpreadArgs:
    return PodTopologySpreadArgs(default_constraints=constraints, defaulting_type="List")


def test_the_systems_constraints_by_default() -> None:
    args = ARGS.with_defaults(PodTopologySpreadArgs())
    assert (args.defaulting_type, args.default_constraints) == ("System", None)
    assert error_texts(ARGS, args) == []


def test_a_list_may_be_empty_and_may_have_a_key_with_both_actions() -> None:
    assert error_texts(ARGS, listing()) == []
    assert (
        error_texts(
            ARGS,
            listing(ZONE, TopologySpreadConstraint(1, "zone", "DoNotSchedule")),
        )
        == []
    )


def test_the_systems_constraints_leave_no_place_for_others() -> None:
    args = ARGS.with_defaults(PodTopologySpreadArgs(default_constraints=(ZONE,)))
    assert error_texts(ARGS, args) == [
        'defaultingType: Invalid value: "System": when .defaultConstraints are not empty'
    ]


def test_a_type_that_is_none_is_an_error() -> None:
    assert error_texts(ARGS, PodTopologySpreadArgs(defaulting_type="Any")) == [
        'defaultingType: Unsupported value: "Any": supported values: "System", "List"'
    ]


@pytest.mark.parametrize(
    ("constraint", "problem"),
    [
        (
            TopologySpreadConstraint(0, "rack", "ScheduleAnyway"),
            ".maxSkew: Invalid value: 0: not in valid range (0, inf)",
        ),
        (
            TopologySpreadConstraint(1, "", "ScheduleAnyway"),
            ".topologyKey: Required value: can not be empty",
        ),
        (
            TopologySpreadConstraint(1, "rack", ""),
            ".whenUnsatisfiable: Required value: can not be empty",
        ),
        (
            TopologySpreadConstraint(1, "rack", "Never"),
            '.whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule",'
            ' "ScheduleAnyway"',
        ),
        (
            TopologySpreadConstraint(1, "rack", "ScheduleAnyway", LabelSelector()),
            ".labelSelector: Forbidden: constraint must not define a selector, as they deduced for"
            " each pod",
        ),
        (ZONE, ': Duplicate value: "{zone, ScheduleAnyway}"'),
    ],
)
def test_errors_have_upstreams_path_and_message(
    constraint: TopologySpreadConstraint, problem: str
) -> None:
    assert error_texts(ARGS, listing(ZONE, constraint)) == [f"defaultConstraints[1]{problem}"]
