"""Volumes: claims bound and waiting, zones, limits, capacity, old in-tree volumes."""

from generate.world import HOST, ZONE, Draft, Draw, Object, World, small, sometimes

CSI = "csi.example.com"
MODES = ("ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod")


def add_classes(world: World) -> None:
    draw = world.draw
    for node in world.nodes:
        if draw.maybe(0.08):
            continue
        name = node["metadata"]["name"]
        driver = {
            "name": CSI,
            "nodeID": name,
            "allocatable": {"count": draw.randint(1, 3)},
            "topologyKeys": [ZONE],
        }
        world.others.append(storage("CSINode", name, spec={"drivers": [driver]}))
    late = {"provisioner": CSI, "volumeBindingMode": "WaitForFirstConsumer"}
    wait = storage("StorageClass", "wait", **late)
    if draw.maybe(0.35):
        values = draw.some("abc", 1, 2)
        expression = {"key": ZONE, "values": values}
        wait["allowedTopologies"] = [{"matchLabelExpressions": [expression]}]
    now = storage("StorageClass", "now", provisioner=CSI, volumeBindingMode="Immediate")
    local = {"provisioner": "kubernetes.io/no-provisioner"}
    local["volumeBindingMode"] = "WaitForFirstConsumer"
    world.others += [wait, now, storage("StorageClass", "local", **local)]
    if draw.maybe(0.35):
        capacity = {"storageCapacity": draw.maybe(0.9)}
        world.others.append(storage("CSIDriver", CSI, spec=capacity))
        for zone in draw.some("abc", 1, 3):
            capacity_object = storage(
                "CSIStorageCapacity",
                f"cap-{zone}",
                storageClassName="wait",
                capacity=draw.pick(("5Gi", "50Gi")),
                nodeTopology={"matchLabels": {ZONE: zone}},
            )
            if draw.maybe(0.3):
                capacity_object["maximumVolumeSize"] = draw.pick(("3Gi", "20Gi"))
            capacity_object["metadata"]["namespace"] = "default"
            world.others.append(capacity_object)


def storage(kind: str, name: str, **fields: object) -> Object:
    api = "storage.k8s.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **fields}


def add_claims(world: World) -> None:
    for i in range(world.draw.randint(2, 8)):
        add_claim(world, i)


def add_claim(world: World, i: int) -> None:
    draw = world.draw
    mode, name = draw.pick(MODES), f"c{i:02d}"
    meta: Object = {"name": name, "namespace": "default", "uid": name}
    claim: Object = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}
    spec: Object = {"accessModes": [mode]}
    spec["resources"] = {"requests": {"storage": f"{draw.randint(1, 9)}Gi"}}
    spec["storageClassName"] = draw.pick(("now", "now", "wait", "wait", "local", "local"))
    claim |= {"spec": spec, "status": {"phase": "Pending"}}
    bound = spec["storageClassName"] == "now" and draw.maybe(0.75)
    bound = bound or (spec["storageClassName"] == "local" and draw.maybe(0.3))
    if bound:
        volume = add_volume(world, i, spec["storageClassName"], mode)
        reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
        volume["spec"]["claimRef"] = {**reference, "uid": name}
        volume["status"] = {"phase": "Bound"}
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        spec["volumeName"] = f"pv{i:02d}"
        claim["status"] = {"phase": "Bound"}
        if draw.maybe(0.05):
            world.others.remove(volume)
    elif spec["storageClassName"] == "local":
        # Sizes differ, for upstream takes one of several equally good volumes at random.
        add_volume(world, i, "local", draw.pick((mode, mode, "ReadWriteOnce")))
    elif draw.maybe(0.06):
        spec["volumeName"], claim["status"] = "gone", {"phase": "Lost"}
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    if draw.maybe(0.06):
        meta |= {"deletionTimestamp": "2026-01-01T10:00:00Z", "finalizers": ["x/y"]}
    world.others.append(claim)


def add_volume(world: World, i: int, storage_class: str, mode: str) -> Object:
    draw = world.draw
    name = f"pv{i:02d}"
    size = 10 * draw.randint(0, 9) + i + 1
    spec: Object = {"capacity": {"storage": f"{size}Gi"}, "accessModes": [mode]}
    spec |= {"persistentVolumeReclaimPolicy": "Delete", "storageClassName": storage_class}
    meta: Object = {"name": name, "labels": {}}
    zone = draw.pick("abc")
    if storage_class == "local":
        spec["local"] = {"path": "/d"}
        spec["nodeAffinity"] = at(HOST, world.node_name())
    elif draw.maybe(0.12):
        spec["gcePersistentDisk"] = {"pdName": name}
        meta["labels"][ZONE] = draw.pick((zone, f"{zone}__{draw.pick('abc')}"))
    else:
        spec["csi"] = {"driver": CSI, "volumeHandle": f"h{i}"}
        if draw.maybe(0.3):
            meta["labels"][ZONE] = zone
        if draw.maybe(0.6):
            spec["nodeAffinity"] = at(ZONE, zone)
    volume: Object = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta}
    volume |= {"spec": spec, "status": {"phase": "Available"}}
    world.others.append(volume)
    return volume


def at(key: str, value: str) -> Object:
    expression = {"key": key, "operator": "In", "values": [value]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def mounted(world: World, pod: Object) -> None:
    draw = world.draw
    claims = [o for o in world.others if o["kind"] == "PersistentVolumeClaim"]
    chosen = [claim["metadata"]["name"] for claim in draw.some(claims, 0, 2)]
    if draw.maybe(0.03):
        chosen.append("nowhere")
    volumes: list[Object] = [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}}
        for i, name in enumerate(chosen)
    ]
    if draw.maybe(0.45):
        volumes.append({"name": "o", **in_tree(draw)})
    if draw.maybe(0.04):
        claim: Object = {"accessModes": ["ReadWriteOnce"], "storageClassName": "wait"}
        claim["resources"] = {"requests": {"storage": "1Gi"}}
        volumes.append({"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}})
    pod["spec"]["volumes"] = volumes


def in_tree(draw: Draw) -> Object:
    kind = draw.pick(("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"))
    kinds: dict[str, Object] = {
        "gcePersistentDisk": {"pdName": draw.pick(("d1", "d2"))},
        "awsElasticBlockStore": {"volumeID": draw.pick(("v1", "v2"))},
        "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.x:y", "lun": draw.pick((0, 1))},
        "rbd": {"monitors": draw.some("abcd", 2, 3), "image": "foo", "pool": "rbd"},
    }
    source = kinds[kind]
    if kind != "awsElasticBlockStore" and draw.maybe(0.5):
        source["readOnly"] = True
    return {kind: source}


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 6, zoned=0.97)
    add_classes(world)
    add_claims(world)
    world.add_pods(draw.randint(1, 6), draw.randint(4, 9), small, sometimes(0.9, mounted))
    return world.draft()
