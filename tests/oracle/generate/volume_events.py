"""Events of a timeline: volumes, their claims, classes and drivers come, change and go."""

from __future__ import annotations

from collections.abc import Callable

from generate.story import Story, put, stored
from generate.volumes import CSI, add_claim, add_volume, storage
from generate.world import ZONE


def claim_arrival(story: Story) -> None:
    """A claim comes, with a volume or without, in either order."""
    others = story.world.others
    count = len(others)
    story.claims += 1
    add_claim(story.world, story.claims)
    added = others[count:]
    if story.draw.maybe(0.5):
        added.reverse()
    for manifest in added:
        put(story, manifest)


def volume_arrival(story: Story) -> None:
    story.claims += 1
    put(story, add_volume(story.world, story.claims, "local", "ReadWriteOnce"))


def claim_binding(story: Story) -> None:
    """The volume controller binds a claim whose class does not wait for a pod."""
    waiting = [
        item
        for item in stored(story, "PersistentVolumeClaim")
        if item["spec"]["storageClassName"] == "now" and "volumeName" not in item["spec"]
    ]
    if not waiting:
        return
    claim = story.draw.pick(waiting)
    story.claims += 1
    volume = add_volume(story.world, story.claims, "now", claim["spec"]["accessModes"][0])
    name = claim["metadata"]["name"]
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
    volume["spec"]["claimRef"] = {**reference, "uid": name}
    volume["status"] = {"phase": "Bound"}
    put(story, volume)
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    claim["spec"]["volumeName"] = volume["metadata"]["name"]
    claim["status"] = {"phase": "Bound"}
    put(story, claim)


def storage_change(story: Story) -> None:
    """A node takes more or fewer volumes, a class has other topologies, a pool more room, a volume
    is of another zone."""
    draw = story.draw
    kinds = ("CSINode", "StorageClass", "CSIStorageCapacity", "PersistentVolume", "CSIDriver")
    items = stored(story, *kinds)
    if not items:
        return
    item = draw.pick(items)
    if item["kind"] == "CSINode":
        item["spec"]["drivers"][0]["allocatable"]["count"] = draw.randint(1, 4)
    elif item["kind"] == "StorageClass":
        expression = {"key": ZONE, "values": draw.some("abc", 1, 3)}
        item["allowedTopologies"] = [{"matchLabelExpressions": [expression]}]
    elif item["kind"] == "CSIStorageCapacity":
        item["capacity"] = draw.pick(("1Gi", "5Gi", "50Gi", "90Gi"))
    elif item["kind"] == "CSIDriver":
        item["spec"]["storageCapacity"] = not item["spec"]["storageCapacity"]
    else:
        item["metadata"].setdefault("labels", {})[ZONE] = draw.pick("abc")
    put(story, item)


def storage_arrival(story: Story) -> None:
    """What a node was missing: its driver, or one more pool of storage."""
    draw = story.draw
    present = {item["metadata"]["name"] for item in stored(story, "CSINode")}
    names = sorted(story.nodes.keys() - present)
    if not names:
        return
    name = draw.pick(names)
    driver = {"name": CSI, "nodeID": name, "allocatable": {"count": 2}, "topologyKeys": [ZONE]}
    csi_node = storage("CSINode", name, spec={"drivers": [driver]})
    story.world.others.append(csi_node)
    put(story, csi_node)


def storage_deletion(story: Story) -> None:
    kinds = ("PersistentVolumeClaim", "PersistentVolume", "CSIStorageCapacity", "CSINode")
    items = stored(story, *kinds)
    if not items:
        return
    item = story.draw.pick(items)
    story.world.others.remove(item)
    reference = {"kind": item["kind"], "name": item["metadata"]["name"]}
    if item["kind"] in ("PersistentVolumeClaim", "CSIStorageCapacity"):
        reference["namespace"] = "default"
    story.tell(delete=reference)


VOLUME_EVENTS: tuple[Callable[[Story], None], ...] = (
    *[claim_arrival] * 2,
    volume_arrival,
    *[claim_binding] * 2,
    *[storage_change] * 2,
    storage_arrival,
    storage_deletion,
)
