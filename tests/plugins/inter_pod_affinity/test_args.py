"""The args of InterPodAffinity: what a required term weighs in Score."""

import pytest

from ksched_cli.plugins.args import INTER_POD_AFFINITY_ARGS as ARGS
from ksched_cli.plugins.args import InterPodAffinityArgs
from tests.plugins.args_checks import error_texts


@pytest.mark.parametrize(("given", "weight"), [(None, 1), (0, 0), (100, 100)])
def test_a_required_term_weighs_one_unless_it_is_given(given: int | None, weight: int) -> None:
    args = ARGS.with_defaults(InterPodAffinityArgs(hard_pod_affinity_weight=given))
    assert args.hard_pod_affinity_weight == weight
    assert error_texts(ARGS, args) == []


@pytest.mark.parametrize("weight", [-1, 101])
def test_a_weight_outside_its_range_is_an_error(weight: int) -> None:
    message = f"hardPodAffinityWeight: Invalid value: {weight}: not in valid range [0, 100]"
    assert error_texts(ARGS, InterPodAffinityArgs(hard_pod_affinity_weight=weight)) == [message]
