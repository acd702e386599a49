"""Pods that a command line names."""

from typing import Any

import pytest

from ksched_cli.analysis import named_objects
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.errors import UsageError
from ksched_cli.testing import cluster, pod, simulation
from tests.narrowing import present


def find(name: str, *objects: dict[str, Any]) -> PodInfo | None:
    return named_objects.find_pod(simulation(cluster(*objects)), name)


def test_a_pod_is_found_by_name_or_with_its_namespace() -> None:
    pods = (pod("p"), pod("q", "blue"))
    assert present(find("p", *pods)).key == "default/p"
    assert present(find("blue/q", *pods)).key == "blue/q"


def test_a_name_in_several_namespaces_lists_them() -> None:
    pods = (pod("p"), pod("p", "blue"))
    with pytest.raises(UsageError, match='several pods are named "p": blue/p, default/p'):
        find("p", *pods)
    assert present(find("blue/p", *pods)).key == "blue/p"


def test_a_pod_that_is_not_there_has_near_names() -> None:
    with pytest.raises(UsageError, match=r'no pod "wbe" in .*; did you mean default/web'):
        find("wbe", pod("web"))
    with pytest.raises(UsageError, match=r'no pod "x" in the state .0 pods.$'):
        find("x")
