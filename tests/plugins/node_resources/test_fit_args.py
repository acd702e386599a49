"""The args of NodeResourcesFit: what is ignored, and how resources are scored."""

import pytest
from msgspec.structs import replace

from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.args import (
    CPU_AND_MEMORY,
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
    fit_args,
)
from tests.plugins.args_checks import error_texts

ARGS = fit_args(release_of("1.34"))
LEAST = ScoringStrategy("LeastAllocated", CPU_AND_MEMORY)


def scored(*points: tuple[int, int]) -> ScoringStrategy:
    """points: (utilization, score)"""
    shape = tuple(UtilizationShapePoint(*point) for point in points)
    return ScoringStrategy(
        "RequestedToCapacityRatio", CPU_AND_MEMORY, RequestedToCapacityRatioParam(shape)
    )


def errors_of(strategy: ScoringStrategy) -> list[str]:
    return error_texts(ARGS, NodeResourcesFitArgs(scoring_strategy=strategy))


def test_the_least_allocated_node_by_cpu_and_memory_by_default() -> None:
    args = ARGS.with_defaults(NodeResourcesFitArgs())
    assert args.scoring_strategy == LEAST
    assert error_texts(ARGS, args) == []


def test_a_strategy_without_resources_gets_those_by_default() -> None:
    given = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy("MostAllocated"))
    strategy = ARGS.with_defaults(given).scoring_strategy
    assert strategy == ScoringStrategy("MostAllocated", CPU_AND_MEMORY)


def test_ignored_resources_and_groups_are_names_of_labels_and_groups_have_no_slash() -> None:
    args = NodeResourcesFitArgs(
        ignored_resources=("example.com/a", "a b"), ignored_resource_groups=("example.com", "a/b")
    )
    first, second = error_texts(ARGS, args)
    assert first.startswith('ignoredResources[1]: Invalid value: "a b": name part must consist of')
    assert second == (
        "ignoredResourceGroups[1]: Invalid value: \"a/b\": resource group name can't contain '/'"
    )


def test_a_strategy_that_is_none_is_an_error() -> None:
    assert errors_of(replace(LEAST, type="Least")) == [
        'scoringStrategy.type: Unsupported value: "Least": supported values: "LeastAllocated",'
        ' "MostAllocated", "RequestedToCapacityRatio"'
    ]


@pytest.mark.parametrize(("weight", "right"), [(0, False), (1, True), (100, True), (101, False)])
def test_weights_have_a_range(weight: int, right: bool) -> None:
    errors = errors_of(replace(LEAST, resources=(ResourceSpec("cpu", weight),)))
    problem = f"Invalid value: {weight}: resource weight of cpu not in valid range (0, 100]"
    assert errors == ([] if right else [f"scoringStrategy.resources[0].weight: {problem}"])


@pytest.mark.parametrize(
    ("strategy", "errors"),
    [
        (scored((0, 0), (100, 10)), []),
        (scored(), ["scoringStrategy.shape: Required value: at least one point must be specified"]),
        (
            scored((50, 0), (50, 1), (40, 2)),
            [
                "scoringStrategy.shape[1].utilization: Invalid value: 50: values must be sorted in"
                " increasing order"
            ],
        ),
        (
            scored((-1, 11)),
            [
                "scoringStrategy.shape[0].utilization: Invalid value: -1: not in valid range"
                " [0, 100]",
                "scoringStrategy.shape[0].score: Invalid value: 11: not in valid range [0, 10]",
            ],
        ),
    ],
)
def test_a_shape_has_points_of_rising_utilization(
    strategy: ScoringStrategy, errors: list[str]
) -> None:
    assert errors_of(strategy) == errors


@pytest.mark.parametrize(
    ("strategy", "crashes"),
    [
        (None, False),
        (LEAST, False),
        (scored((0, 0)), False),
        (ScoringStrategy("RequestedToCapacityRatio"), True),
    ],
)
def test_kube_scheduler_crashes_where_the_ratio_has_no_shape(
    strategy: ScoringStrategy | None, crashes: bool
) -> None:
    args = NodeResourcesFitArgs(scoring_strategy=strategy)
    assert (ARGS.startup_crash(args) is not None) == crashes
    assert error_texts(ARGS, args) == []


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (
            ScoringStrategy("RequestedToCapacityRatio", CPU_AND_MEMORY),
            "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type"
            " is RequestedToCapacityRatio",
        ),
        (
            replace(scored((0, 0)), type="LeastAllocated"),
            "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not"
            " RequestedToCapacityRatio",
        ),
        (
            scored(),
            "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point"
            " must be specified",
        ),
    ],
)
def test_from_1_36_on_the_type_says_whether_there_is_a_shape(
    strategy: ScoringStrategy, message: str
) -> None:
    args = NodeResourcesFitArgs(scoring_strategy=strategy)
    assert error_texts(fit_args(release_of("1.36")), args) == [message]
