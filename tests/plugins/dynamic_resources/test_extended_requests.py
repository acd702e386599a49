"""The device requests that stand for requests of extended resources."""

from typing import Any

import pytest

from ksched_cli.framework.handle import Handle
from ksched_cli.framework.resource_claims import BackingClasses
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins.dynamic_resources.search import device_requests, has_mappings
from ksched_cli.testing import cluster, find, pod, simulation
from tests.narrowing import present
from tests.plugins.dynamic_resources.test_extended import BACKING, GPU

HANDLE_RELEASE = release_of("1.36")


def container(name: str, gpus: int = 0, **fields: Any) -> dict[str, Any]:
    requests = {"cpu": "1"} | ({GPU: str(gpus)} if gpus else {})
    return {"name": name, "image": "i", "resources": {"requests": requests}, **fields}


def requests_of(init: list[dict[str, Any]], containers: list[dict[str, Any]]) -> dict[str, int]:
    spec = {"initContainers": init, "containers": containers}
    run = simulation(cluster(BACKING, pod("p", spec=spec)))
    handle = run.frameworks["default-scheduler"].handle
    classes = BackingClasses(
        Handle(handle.snapshot, handle.cluster, handle.nominator, release=HANDLE_RELEASE)
    )
    requests = device_requests(find(run, "p").spec, [GPU], classes)
    return {request.name: present(request.exactly).count for request in requests}


def test_each_container_has_its_request_named_by_its_places() -> None:
    containers = [container("a", 2), container("b"), container("c", 1)]
    assert requests_of([], containers) == {"container-0-request-1": 2, "container-2-request-1": 1}


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ([container("i", 1)], {"container-1-request-1": 2}),
        ([container("i", 3)], {"container-0-request-1": 1, "container-1-request-1": 2}),
        (
            [container("i", 3), container("j", 5)],
            {"container-1-request-1": 3, "container-2-request-1": 2},
        ),
        (
            [container("s", 1, restartPolicy="Always")],
            {"container-0-request-1": 1, "container-1-request-1": 2},
        ),
    ],
)
def test_init_containers_use_the_devices_of_later_ones(
    init: list[dict[str, Any]], expected: dict[str, int]
) -> None:
    assert requests_of(init, [container("a", 2)]) == expected


def test_a_resource_that_no_container_requests_maps_to_nothing() -> None:
    run = simulation(cluster(pod("p", spec={"containers": [container("a", 1)]})))
    spec = find(run, "p").spec
    assert has_mappings(spec, [GPU])
    assert not has_mappings(spec, ["example.com/other"])
