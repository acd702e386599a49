"""The configuration for other commands: right, or one InputError with its place."""

import pytest

from ksched_cli.config import load_configuration
from ksched_cli.errors import InputError, Position
from tests.config.registries import REGISTRY, configured


def test_a_refused_file_says_the_first_problem_and_how_many_more() -> None:
    text = configured("paralelism: 3\nfoo: 1\n")
    with pytest.raises(InputError) as caught:
        load_configuration(text, "config.yaml", REGISTRY)
    assert caught.value.position == Position(3, 1)
    assert "and 1 more" in caught.value.problem
    assert caught.value.hint == 'did you mean "parallelism"?'


def test_a_crash_of_upstream_is_refused_too() -> None:
    args = "{scoringStrategy: {type: RequestedToCapacityRatio}}"
    text = configured(f"profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {args}\n")
    with pytest.raises(InputError, match="has no shape"):
        load_configuration(text, "config.yaml", REGISTRY)
