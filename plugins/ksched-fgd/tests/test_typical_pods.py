"""Which pods are typical of a workload."""

from __future__ import annotations

import pytest
from ksched_fgd.gpu_requests import GpuRequest
from ksched_fgd.typical_pods import Demand, manifest, of_manifest, typical_pods

SHARED = Demand(1000, GpuRequest(1, 500))
WHOLE = Demand(1000, GpuRequest(1, 1000))
NONE = Demand(2000, GpuRequest())


def test_the_most_frequent_come_first_and_the_rest_is_left_out() -> None:
    pods = typical_pods([SHARED] * 90 + [WHOLE] * 6 + [NONE] * 4)
    assert [pod.demand for pod in pods] == [SHARED, WHOLE]
    assert [pod.frequency for pod in pods] == [0.9 / 0.96, 0.06 / 0.96]


def test_the_larger_comes_first_among_equally_frequent() -> None:
    assert [pod.demand for pod in typical_pods([SHARED, WHOLE, NONE], 100)] == [NONE, WHOLE, SHARED]


def test_a_manifest_carries_them_unchanged() -> None:
    pods = typical_pods([SHARED] * 7 + [WHOLE] * 3 + [NONE])
    assert of_manifest(manifest("trace", pods)) == pods


def test_a_manifest_that_lacks_something_is_refused() -> None:
    plain = manifest("trace", typical_pods([SHARED]))
    del plain["pods"][0]["cpuMilli"]
    with pytest.raises(ValueError, match="TypicalPods trace: 'cpuMilli' is missing"):
        of_manifest(plain)
