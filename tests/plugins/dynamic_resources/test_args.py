"""The args of DynamicResources: how long Filter may take."""

import pytest

from ksched_cli.plugins.dynamic_resources.args import ARGS, DynamicResourcesArgs
from tests.plugins.args_checks import error_texts

SECOND = 10**9


@pytest.mark.parametrize(("given", "timeout"), [(None, 10 * SECOND), (0, 0), (SECOND, SECOND)])
def test_ten_seconds_unless_it_is_given(given: int | None, timeout: int) -> None:
    args = ARGS.with_defaults(DynamicResourcesArgs(filter_timeout=given))
    assert args.filter_timeout == timeout
    assert error_texts(ARGS, args) == []


def test_a_negative_timeout_is_an_error() -> None:
    args = DynamicResourcesArgs(filter_timeout=-90 * SECOND)
    message = 'filterTimeout: Invalid value: "-1m30s": must be zero or positive'
    assert error_texts(ARGS, args) == [message]
