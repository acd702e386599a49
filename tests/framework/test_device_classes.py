"""Which device class backs an extended resource."""

from typing import Any

from ksched_cli.framework.handle import Handle
from ksched_cli.framework.resource_claims import BackingClasses, is_dra_resource_name
from ksched_cli.kube.versions import release_of
from ksched_cli.testing import cluster, find, pod, simulation
from tests.devices import thing
from tests.narrowing import present

GPU = "example.com/gpu"


def backing_of(*manifests: dict[str, Any], minor: str = "1.36") -> BackingClasses:
    handle = simulation(cluster(*manifests)).frameworks["default-scheduler"].handle
    release = release_of(minor)
    return BackingClasses(
        Handle(handle.snapshot, handle.cluster, handle.nominator, release=release)
    )


def test_the_newest_class_counts_then_the_first_by_name() -> None:
    times = {"b": "2026-01-02T00:00:00Z", "c": "2026-01-02T00:00:00Z", "a": "2026-01-01T00:00:00Z"}
    classes = [
        thing("DeviceClass", name, {"extendedResourceName": GPU}, creationTimestamp=created)
        for name, created in times.items()
    ]
    backing = backing_of(*classes)
    assert present(backing.of(GPU)).name == "b"
    assert present(backing.of("deviceclass.resource.kubernetes.io/a")).name == "a"


def test_without_the_gate_no_class_backs_anything() -> None:
    device_class = thing("DeviceClass", "a", {"extendedResourceName": GPU})
    assert backing_of(device_class)
    assert not backing_of(device_class, minor="1.35")


def test_what_a_pod_requests_of_backed_resources() -> None:
    requests = {"cpu": "1", GPU: "2", "example.com/other": "1"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    run = simulation(cluster(pod("p", spec={"containers": [container]})))
    backing = backing_of(thing("DeviceClass", "a", {"extendedResourceName": GPU}))
    assert backing.requested(find(run, "p")) == {GPU: 2}


def test_names_that_devices_can_back() -> None:
    assert is_dra_resource_name(GPU)
    assert is_dra_resource_name("deviceclass.resource.kubernetes.io/a")
    assert not is_dra_resource_name("cpu")
    assert not is_dra_resource_name("kubernetes.io/other")
