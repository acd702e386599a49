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


def named(name: str, created: str, resource: str = GPU) -> dict[str, Any]:
    spec = {"extendedResourceName": resource} if resource else {}
    return thing("DeviceClass", name, spec, creationTimestamp=f"2026-{created}T00:00:00Z")


OLD_OWN, NEW_OWN = (f"deviceclass.resource.kubernetes.io/{name}" for name in ("old", "new"))


def backs(
    *classes: dict[str, Any], before: BackingClasses | None = None, minor: str = "1.36"
) -> dict[str, str]:
    """The classes by resource, after others were heard of."""
    backing = backing_of(*classes, minor=minor)
    if before is not None:
        backing.carry_over(before)
    names = (GPU, "example.com/other", OLD_OWN, NEW_OWN)
    backed = {name: backing.of(name) for name in names}
    return {name: device_class.name for name, device_class in backed.items() if device_class}


def test_a_class_that_a_newer_one_came_before_backs_not_even_its_own_name() -> None:
    """They come by name."""
    assert backs(named("new", "02-01"), named("old", "01-01")) == {GPU: "new", NEW_OWN: "new"}
    both = backs(named("new", "01-01"), named("old", "02-01"))
    assert both == {GPU: "old", NEW_OWN: "new", OLD_OWN: "old"}


def test_no_class_takes_over_from_one_that_goes_until_it_changes() -> None:
    new, old = named("new", "02-01"), named("old", "01-01")
    before = backing_of(new, old)
    assert backs(old, before=before) == {}
    without = backing_of(old)
    without.carry_over(before)
    changed = {**old, "spec": {**old["spec"], "selectors": [{"cel": {"expression": "true"}}]}}
    assert backs(changed, before=without) == {GPU: "old", OLD_OWN: "old"}


def test_a_class_that_goes_takes_the_resource_from_the_one_that_has_it() -> None:
    new, old = named("new", "02-01"), named("old", "01-01")
    assert backs(new, before=backing_of(new, old)) == {NEW_OWN: "new"}


def test_a_class_that_names_another_resource_backs_that_one() -> None:
    new, other = named("new", "02-01"), named("new", "02-01", "example.com/other")
    assert backs(other, before=backing_of(new)) == {"example.com/other": "new", NEW_OWN: "new"}
    assert backs(named("new", "02-01", ""), before=backing_of(new)) == {NEW_OWN: "new"}


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


def test_from_1_38_on_every_class_backs_its_own_name_and_the_next_best_takes_over() -> None:
    new, old = named("new", "02-01"), named("old", "01-01")
    both = {GPU: "new", NEW_OWN: "new", OLD_OWN: "old"}
    assert backs(new, old, minor="1.38") == both
    before = backing_of(new, old, minor="1.38")
    assert backs(old, before=before, minor="1.38") == {GPU: "old", OLD_OWN: "old"}
