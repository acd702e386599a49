"""Timelines: pods come, run, end, are preempted, changed, deleted; nodes join, change and leave."""

from __future__ import annotations

import copy
from collections.abc import Callable

from generate import composites, group_claims, podgroups, workloads
from generate.claims import add_devices, claiming
from generate.device_events import DEVICE_EVENTS
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
from generate.story import Story, put, stored
from generate.taints import tolerations
from generate.volume_events import VOLUME_EVENTS
from generate.volumes import add_claims, mounted
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


GROUPS = ("PodGroup", "CompositePodGroup")


def group_change(story: Story) -> None:
    """The object of a group is gone, is there again, or wants another number of pods or groups."""
    groups, draw = stored(story, *GROUPS), story.draw
    if not groups:
        return
    group = draw.pick(groups)
    name, policy = group["metadata"]["name"], group["spec"].get("schedulingPolicy", {})
    if name not in story.absent and draw.maybe(0.3):
        story.absent.add(name)
        reference = {"kind": group["kind"], "namespace": "default", "name": name}
        story.tell(delete=reference)
        return
    if "gang" in policy and draw.maybe(0.7):
        (least,) = policy["gang"]
        policy["gang"][least] = draw.pick((1, 2, 3, 4))
    story.absent.discard(name)
    put(story, group)


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


def generate_of_devices(draw: Draw) -> Draft:
    """With pods that have claims for devices."""
    world = World(draw)
    world.add_nodes(1, 4)
    full_nodes(world)
    add_classes(world)
    add_devices(world)
    features = (amounts, *draw.some(FEATURES, 0, 3), sometimes(0.7, claiming))
    return _of_groups(world, features, (*EVENTS, *DEVICE_EVENTS))


def generate_groups(draw: Draw) -> Draft:
    """With pods of groups, in queues that take none from backoff: kube-scheduler would try a group
    again and again while it is idle."""
    world = _with_groups(draw, podgroups.add_groups)
    draft = _of_groups(
        world, (amounts, sometimes(0.7, podgroups.member), *draw.some(FEATURES, 0, 5))
    )
    draft.gates = f"{podgroups.GANGS},SchedulerPopFromBackoffQ=false"
    return draft


def generate_workloads(draw: Draw) -> Draft:
    """With pods of groups that are entities of the queue."""
    world = _with_groups(draw, workloads.add_groups)
    features = (amounts, *draw.some(FEATURES, 0, 5), sometimes(0.7, workloads.member))
    draft = _of_groups(world, features, (*EVENTS, *[group_change] * 3))
    draft.gates = workloads.GATES
    return draft


def generate_composites(draw: Draw) -> Draft:
    """With pods of groups that are parts of composite groups."""
    world = _with_groups(draw, composites.add_groups)
    features = (amounts, *draw.some(FEATURES, 0, 5), sometimes(0.8, composites.member))
    draft = _of_groups(world, features, (*EVENTS, *[group_change] * 3))
    draft.gates = composites.GATES
    return draft


def generate_workload_claims(draw: Draw) -> Draft:
    """With pods of groups that are entities of the queue, and have claims for devices."""
    world = _with_groups(draw, workloads.add_groups)
    add_devices(world)
    of_groups = draw.maybe(0.5)
    if of_groups:
        group_claims.add_group_claims(world)
    own = (amounts, sometimes(0.6, claiming), sometimes(0.7, workloads.member))
    features = (*own, sometimes(0.85, group_claims.sharing)) if of_groups else own
    draft = _of_groups(world, features, (*EVENTS, *[group_change] * 2, *DEVICE_EVENTS))
    draft.gates = workloads.GATES + (f",{group_claims.GATE}" if of_groups else "")
    return draft


def _with_groups(draw: Draw, add_groups: Callable[[World], None]) -> World:
    world = World(draw)
    world.add_nodes(1, 4)
    full_nodes(world)
    add_classes(world)
    add_groups(world)
    return world


def _of_groups(
    world: World,
    features: tuple[Feature, ...],
    events: tuple[Callable[[Story], None], ...] = EVENTS,
) -> Draft:
    """The pods that are there, and what happens to them and others."""
    draw = world.draw
    world.add_pods(draw.randint(0, 6), draw.randint(0, 6), *features)
    podgroups.begin_apart(world)
    nodes = {node["metadata"]["name"]: copy.deepcopy(node) for node in world.nodes}
    story = Story(world, features, nodes)
    if group_change in events:
        names = [group["metadata"]["name"] for group in stored(story, *GROUPS)]
        story.absent.update(name for name in names if draw.maybe(0.2))
    objects = copy.deepcopy(
        [each for each in world.others if each["metadata"]["name"] not in story.absent]
    )
    for _ in range(draw.randint(5, 40)):
        if draw.maybe(0.6):
            story.at = round(story.at + draw.pick((0.5, 1, 1, 2.25, 5, 10, 30)), 6)
        draw.pick(events)(story)
    world.others = objects
    draft = world.draft(backoff(draw))
    until = story.at + draw.pick((0, 10, 100))
    draft.timeline = {"start": START, "until": until, "events": story.events}
    return draft


def backoff(draw: Draw) -> Object | None:
    if draw.maybe(0.6):
        return None
    initial = draw.pick((1, 1, 2, 5))
    return configuration(podInitialBackoffSeconds=initial, podMaxBackoffSeconds=initial * 4)
