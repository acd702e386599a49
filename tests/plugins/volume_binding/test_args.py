"""The args of VolumeBinding: how long binding may take, and no shape without its gate."""

import pytest

from ksched_cli.plugins.helper.function_shape import UtilizationShapePoint
from ksched_cli.plugins.volume_binding.args import ARGS, VolumeBindingArgs
from tests.plugins.args_checks import error_texts


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
