"""The args of VolumeBinding: how long binding may take, and no shape without its gate."""

import pytest

from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.args import UtilizationShapePoint, VolumeBindingArgs, volume_binding_args
from tests.plugins.args_checks import error_texts

ARGS = volume_binding_args(release_of("1.36"))
SCORING = volume_binding_args(release_of("1.37"))


@pytest.mark.parametrize(("given", "timeout"), [(None, 600), (0, 0), (30, 30)])
def test_ten_minutes_unless_it_is_given(given: int | None, timeout: int) -> None:
    args = ARGS.with_defaults(VolumeBindingArgs(bind_timeout_seconds=given))
    assert args.bind_timeout_seconds == timeout
    assert error_texts(ARGS, args) == []


def test_a_negative_timeout_is_an_error() -> None:
    assert error_texts(ARGS, VolumeBindingArgs(bind_timeout_seconds=-1)) == [
        "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a"
        " negative value"
    ]


@pytest.mark.parametrize(
    ("shape", "value"),
    [((), "[]"), ((UtilizationShapePoint(0, 10),), '[{"Utilization":0,"Score":10}]')],
)
def test_a_shape_needs_a_gate_that_is_off(
    shape: tuple[UtilizationShapePoint, ...], value: str
) -> None:
    assert error_texts(ARGS, VolumeBindingArgs(shape=shape)) == [
        f"shape: Invalid value: {value}: unexpected field `shape`, remove it or turn on the"
        " feature gate StorageCapacityScoring"
    ]


def test_a_shape_is_more_room_wins_by_default_where_the_gate_is_on() -> None:
    args = SCORING.with_defaults(VolumeBindingArgs())
    assert args.shape == (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))
    assert error_texts(SCORING, args) == []


def test_the_points_of_a_shape_are_checked_where_the_gate_is_on() -> None:
    shape = (UtilizationShapePoint(50, 11), UtilizationShapePoint(50, 0))
    assert error_texts(SCORING, VolumeBindingArgs(shape=shape)) == [
        "shape[1].utilization: Invalid value: 50: values must be sorted in increasing order",
        "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
    ]
    off = volume_binding_args(release_of("1.37", "StorageCapacityScoring=false"))
    assert "unexpected field" in error_texts(off, VolumeBindingArgs(shape=shape))[0]
