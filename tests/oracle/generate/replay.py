"""Timelines: pods come, run, end, are preempted, changed, deleted; nodes join, change and leave."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from generate.claims import GPU, add_devices, claiming, gpus
from generate.inter_pod import label_selector
from generate.preempt import (
    add_budgets,
    add_classes,
    amounts,
    anti_affinity,
    follower,
    full_nodes,
    host_port,
    in_zone,
    priority,
    spread,
)
from generate.profiles import gated
from generate.taints import tolerations
from generate.volumes import CSI, add_claim, add_claims, add_volume, mounted, storage
from generate.volumes import add_classes as add_storage
from generate.world import (
    APPS,
    ZONE,
    Draft,
    Draw,
    Feature,
    Object,
    World,
    configuration,
    requests,
    sometimes,
)

START = "2026-01-02T00:00:00Z"
LENGTHS = (0, 1, 5, 10, 30, 60, 200)
# The same texts as those of node taints elsewhere.
TAINTS = ({"key": "k1", "effect": "NoSchedule"}, {"key": "k1", "value": "v", "effect": "NoExecute"})


@dataclass
class Story:
    """A timeline under construction.

    nodes, pods: the manifests of what is or was there, by name, as they were last written
    """

    world: World
    features: tuple[Feature, ...]
    nodes: dict[str, Object]
    pods: dict[str, Object] = field(default_factory=dict)
    events: list[Object] = field(default_factory=list)
    at: float = 0
    arrivals: int = 0
    claims: int = 20

    @property
    def draw(self) -> Draw:
        return self.world.draw

    def tell(self, **event: object) -> None:
        self.events.append({"at": self.at, **event})


def arrival(story: Story) -> None:
    """A pod comes, which may end of its own accord."""
    world, draw = story.world, story.draw
    before, count = world.pods, len(world.others)
    world.pods = []
    story.arrivals += 1
    world.add_pod(f"t{story.arrivals:02d}", 0, story.features, None)
    (pod,) = world.pods
    world.pods = before
    pod["metadata"].pop("creationTimestamp")
    if draw.maybe(0.7):
        pod["spec"]["terminationGracePeriodSeconds"] = draw.pick((0, 0, 1, 5, 20, 400))
    story.pods[pod["metadata"]["name"]] = pod
    event: Object = {"pod": copy.deepcopy(pod)}
    if draw.maybe(0.7):
        event["runsFor"] = draw.pick(LENGTHS)
    claims = world.others[count:]
    is_first = draw.maybe(0.3)
    if is_first:
        story.tell(**event)
    for claim in claims:
        put(story, claim)
    if not is_first:
        story.tell(**event)


def burst(story: Story) -> None:
    """Pods like one that came before: they wait together where there is no room."""
    if not story.pods:
        return
    draw = story.draw
    model = story.pods[draw.pick(sorted(story.pods))]
    length = draw.pick(LENGTHS)
    for _ in range(draw.randint(2, 6)):
        story.arrivals += 1
        pod = copy.deepcopy(model)
        pod["metadata"] |= {"name": f"t{story.arrivals:02d}"}
        pod["metadata"].pop("uid", None)
        story.pods[pod["metadata"]["name"]] = pod
        event: Object = {"pod": copy.deepcopy(pod)}
        if draw.maybe(0.7):
            event["runsFor"] = length
        story.tell(**event)
        if draw.maybe(0.3):
            story.at = round(story.at + draw.pick((0.25, 1, 3)), 6)


def pod_change(story: Story) -> None:
    """A pod has other labels, more tolerations, less to request, or no gates any more."""
    if not story.pods:
        return
    draw = story.draw
    pod = story.pods[draw.pick(sorted(story.pods))]
    spec = pod["spec"]
    if "schedulingGates" in spec and draw.maybe(0.8):
        del spec["schedulingGates"]
    elif draw.maybe(0.4):
        pod["metadata"]["labels"] = {"app": draw.pick(APPS)}
    elif draw.maybe(0.5):
        spec.setdefault("tolerations", []).append({"key": "k1", "operator": "Exists"})
    else:
        requests(pod)["cpu"] = "100m"
    story.tell(put=copy.deepcopy(pod))


def pod_deletion(story: Story) -> None:
    if not story.pods:
        return
    name = story.draw.pick(sorted(story.pods))
    pod = story.pods.pop(name)
    reference = {"kind": "Pod", "namespace": pod["metadata"]["namespace"], "name": name}
    if story.draw.maybe(0.4):
        story.tell(delete=reference, gracePeriod=story.draw.pick((1, 10, 35)))
    else:
        story.tell(delete=reference)


def node_arrival(story: Story) -> None:
    draw = story.draw
    node = copy.deepcopy(draw.pick(story.world.nodes))
    name = f"m{len(story.events):02d}"
    node["metadata"] |= {"name": name}
    node["metadata"].pop("uid", None)
    node["metadata"]["labels"] = {
        **node["metadata"].get("labels", {}),
        "kubernetes.io/hostname": name,
    }
    story.nodes[name] = node
    story.tell(put=copy.deepcopy(node))


def node_change(story: Story) -> None:
    """A node has other taints, is cordoned or not, is larger or smaller, or in another zone."""
    if not story.nodes:
        return
    draw = story.draw
    node = story.nodes[draw.pick(sorted(story.nodes))]
    choice = draw.randint(0, 3)
    if choice == 0:
        node["spec"]["taints"] = draw.some(TAINTS, 0, 1)
    elif choice == 1:
        node["spec"]["unschedulable"] = not node["spec"].get("unschedulable", False)
    elif choice == 2:
        amount = draw.pick(("1", "2", "4", "6"))
        node["status"]["allocatable"]["cpu"] = amount
        node["status"]["capacity"]["cpu"] = amount
    else:
        node["metadata"].setdefault("labels", {})[ZONE] = draw.pick("abc")
    story.tell(put=copy.deepcopy(node))


def node_deletion(story: Story) -> None:
    if len(story.nodes) < 2:
        return
    name = story.draw.pick(sorted(story.nodes))
    del story.nodes[name]
    story.tell(delete={"kind": "Node", "name": name})


# -- volumes --------------------------------------------------------------------------------------


def put(story: Story, manifest: Object) -> None:
    """Writes an object to the timeline, as it is now."""
    story.tell(put=copy.deepcopy(manifest))


def stored(story: Story, *kinds: str) -> list[Object]:
    """The objects of these kinds, as they were last written."""
    return [item for item in story.world.others if item["kind"] in kinds]


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


# -- devices --------------------------------------------------------------------------------------


def device_claim_change(story: Story) -> None:
    """A claim is as it was written, without devices, and without users: its controller took it
    back; or it is not there any more."""
    items = stored(story, "ResourceClaim")
    if not items:
        return
    item = story.draw.pick(items)
    if story.draw.maybe(0.7):
        put(story, item)
        return
    story.world.others.remove(item)
    name = item["metadata"]["name"]
    story.tell(delete={"kind": "ResourceClaim", "namespace": "default", "name": name})


def device_change(story: Story) -> None:
    """A driver publishes other devices of a node, or none; a class comes or goes."""
    draw = story.draw
    items = stored(story, "ResourceSlice", "DeviceClass")
    if not items:
        return
    item = draw.pick(items)
    if draw.maybe(0.25):
        story.world.others.remove(item)
        story.tell(delete={"kind": item["kind"], "name": item["metadata"]["name"]})
        return
    if item["kind"] == "ResourceSlice" and item["spec"]["driver"] == GPU:
        item["spec"]["devices"] = gpus(draw)
        item["spec"]["pool"]["generation"] += draw.pick((0, 1))
    put(story, item)


DEVICE_EVENTS: tuple[Callable[[Story], None], ...] = (
    *[device_claim_change] * 3,
    *[device_change] * 2,
)


def spread_by_zone(world: World, pod: Object) -> None:
    rule: Object = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    rule["labelSelector"] = label_selector(world.draw)
    if world.draw.maybe(0.3):
        rule["nodeTaintsPolicy"] = "Honor"
    pod["spec"]["topologySpreadConstraints"] = [rule]


EVENTS: tuple[Callable[[Story], None], ...] = (
    *[arrival] * 12,
    *[burst] * 3,
    *[pod_change] * 2,
    *[pod_deletion] * 2,
    node_arrival,
    *[node_change] * 2,
    node_deletion,
)
FEATURES: tuple[Feature, ...] = (
    priority,
    sometimes(0.1, anti_affinity),
    sometimes(0.1, follower),
    sometimes(0.06, spread),
    sometimes(0.06, spread_by_zone),
    sometimes(0.1, host_port),
    sometimes(0.06, in_zone),
    sometimes(0.1, gated),
    sometimes(0.2, tolerations),
)


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(1, 4)
    full_nodes(world)
    add_classes(world)
    features = (amounts, *draw.some(FEATURES, 2, len(FEATURES)))
    events = EVENTS
    if draw.maybe(0.4):
        add_storage(world)
        add_claims(world)
        features = (*features, sometimes(0.7, mounted))
        events = (*EVENTS, *VOLUME_EVENTS)
    world.add_pods(draw.randint(0, 6), draw.randint(0, 3), *features)
    if draw.maybe(0.2):
        add_budgets(world)
    nodes = {node["metadata"]["name"]: copy.deepcopy(node) for node in world.nodes}
    if draw.maybe(0.3):
        add_devices(world)
        features = (*features, sometimes(0.6, claiming))
        events = (*events, *DEVICE_EVENTS)
    objects = copy.deepcopy(world.others)
    story = Story(world, features, nodes)
    for _ in range(draw.randint(10, 60)):
        if draw.maybe(0.75):
            story.at = round(story.at + draw.pick((0.5, 1, 1, 2.25, 5, 10, 10, 30, 0.000001)), 6)
        draw.pick(events)(story)
    until = story.at + draw.pick((0, 10, 100, 400))
    world.others = objects
    draft = world.draft(backoff(draw))
    draft.timeline = {"start": START, "until": until, "events": story.events}
    if draw.maybe(0.3):
        draft.gates = "SchedulerPopFromBackoffQ=false"
    return draft


def backoff(draw: Draw) -> Object | None:
    if draw.maybe(0.6):
        return None
    initial = draw.pick((1, 1, 2, 5))
    return configuration(podInitialBackoffSeconds=initial, podMaxBackoffSeconds=initial * 4)
