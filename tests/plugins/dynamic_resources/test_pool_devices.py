"""What is known of a device, by the features that are on."""

from ksched_cli.cluster.objects import Device, DeviceCapacity, DeviceTaint
from ksched_cli.kube.quantity import Quantity
from ksched_cli.plugins.dynamic_resources.features import NO_FEATURES, AllocatorFeatures
from ksched_cli.plugins.dynamic_resources.pool_devices import PLAIN, kind_of, traits_of

TAINT = DeviceTaint(key="k", effect="NoSchedule")
MEMORY = DeviceCapacity(value=Quantity.parse("1Gi"))
DEVICE = Device(
    name="a",
    taints=(TAINT,),
    capacity={"memory": MEMORY},
    allow_multiple_allocations=True,
    binding_conditions=("ready",),
)


def test_without_features_every_device_is_plain() -> None:
    assert traits_of(DEVICE, NO_FEATURES) is PLAIN


def test_each_feature_sees_its_fields() -> None:
    tainted = traits_of(DEVICE, AllocatorFeatures(device_taints=True))
    assert (tainted.taints, tainted.is_shared, tainted.has_capacity) == ((TAINT,), False, False)
    shared = traits_of(DEVICE, AllocatorFeatures(consumable_capacity=True))
    assert (shared.taints, shared.is_shared, shared.has_capacity) == ((), True, True)
    assert shared.capacities == (("memory", MEMORY),)


def test_binding_conditions_bar_a_device_where_they_are_off() -> None:
    assert kind_of("d", DEVICE, NO_FEATURES, True).has_binding_conditions
    on = AllocatorFeatures(binding_conditions=True)
    assert not kind_of("d", DEVICE, on, True).has_binding_conditions
