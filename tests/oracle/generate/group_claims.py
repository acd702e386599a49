"""Pods of groups that have resource claims, of their own and shared by several of a group."""

from collections.abc import Callable

from generate import composites, podgroups, preempt, workloads
from generate.claims import add_devices, allocate_some, claim, claiming
from generate.world import Draft, Draw, Feature, Object, World, is_bound, sometimes

GATE = "DRAWorkloadResourceClaims=true"


def add_group_claims(world: World) -> None:
    """Groups have claims of their own."""
    for group in [each for each in world.others if each["kind"] == "PodGroup"]:
        references, statuses = _claims_of(world, group)
        if references:
            group["spec"]["resourceClaims"] = references
        if statuses and world.draw.maybe(0.95):
            group["status"] = {"resourceClaimStatuses": statuses}


def sharing(world: World, pod: Object) -> None:
    """A pod of a group refers to the group's claims."""
    name = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
    groups = (each for each in world.others if each["kind"] == "PodGroup")
    group = next((each for each in groups if each["metadata"]["name"] == name), None)
    if group is None or is_bound(pod):
        return
    references = group["spec"].get("resourceClaims", [])
    statuses = group.get("status", {}).get("resourceClaimStatuses", [])
    if references:
        pod["spec"]["resourceClaims"] = [*pod["spec"].get("resourceClaims", []), *references]
    if statuses:
        own = pod["status"].get("resourceClaimStatuses", [])
        pod["status"]["resourceClaimStatuses"] = [*own, *statuses]


def _claims_of(world: World, group: Object) -> tuple[list[Object], list[Object]]:
    """Return references to claims, and the statuses of those that are made from templates."""
    draw, meta = world.draw, group["metadata"]
    references: list[Object] = []
    statuses: list[Object] = []
    for i in range(draw.pick((0, 1, 1, 2))):
        reference, name = f"s{i}", f"{meta['name']}-s{i}"
        if draw.maybe(0.5):
            references.append({"name": reference, "resourceClaimName": name})
            if draw.maybe(0.95):
                _reserve(world, claim(world, name), group)
            continue
        references.append({"name": reference, "resourceClaimTemplateName": "t"})
        if draw.maybe(0.93):
            group_claim = claim(world, name)
            owner = {"apiVersion": group["apiVersion"], "kind": "PodGroup"}
            owner |= {"name": meta["name"], "uid": meta["uid"], "controller": True}
            if draw.maybe(0.95):
                group_claim["metadata"]["ownerReferences"] = [owner]
            _reserve(world, group_claim, group)
            statuses.append({"name": reference, "resourceClaimName": name})
    return references, statuses


def _reserve(world: World, group_claim: Object, group: Object) -> None:
    """Some are allocated for the group already, by an earlier attempt."""
    slices = [
        each
        for each in world.others
        if each["kind"] == "ResourceSlice" and {"nodeName", "devices"} <= each["spec"].keys()
    ]
    draw = world.draw
    if not slices or len(group_claim["spec"]["devices"]["requests"]) > 1 or not draw.maybe(0.35):
        return
    spec = draw.pick(slices)["spec"]
    result = {"request": "g", "driver": spec["driver"], "pool": spec["nodeName"]}
    result["device"] = draw.pick(spec["devices"])["name"]
    field = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
    allocation: Object = {"devices": {"results": [result]}}
    allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    group_claim["status"] = {"allocation": allocation}
    if draw.maybe(0.7):
        user = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups"}
        user |= {"name": group["metadata"]["name"], "uid": group["metadata"]["uid"]}
        group_claim["status"]["reservedFor"] = [user]


def _world(
    draw: Draw, add_groups: Callable[[World], None], member: Feature, *, of_groups: bool = False
) -> World:
    """of_groups: groups have claims of their own"""
    world = World(draw)
    preempt.add_classes(world)
    world.add_nodes(1, 5)
    preempt.full_nodes(world)
    add_devices(world)
    add_groups(world)
    if of_groups:
        add_group_claims(world)
    features: list[Feature] = [podgroups.amounts]
    features += [feature for probability, feature in podgroups.FEATURES if draw.maybe(probability)]
    features += [sometimes(0.4 if of_groups else 0.8, claiming), sometimes(0.8, member)]
    features += [sometimes(0.85, sharing)] if of_groups else []
    world.add_pods(draw.randint(0, 5), draw.randint(2, 9), *features)
    podgroups.begin_apart(world)
    if draw.maybe(0.4):
        allocate_some(world)
    return world


def generate(draw: Draw) -> Draft:
    """Groups of minors whose queue has none."""
    of_groups = draw.maybe(0.6)
    draft = _world(draw, podgroups.add_groups, podgroups.member, of_groups=of_groups).draft()
    draft.gates = draw.pick((podgroups.GANGS, podgroups.PREEMPTION))
    draft.gates += f",{podgroups.PLACEMENT}" if draw.maybe(0.4) else ""
    draft.gates += f",{GATE}" if of_groups else ""
    return draft


def generate_workloads(draw: Draw) -> Draft:
    """Groups that are entities of the queue, and trees of them."""
    if draw.maybe(0.3):
        draft = _world(draw, composites.add_groups, composites.member).draft()
        draft.gates = composites.GATES
        return draft
    of_groups = draw.maybe(0.6)
    draft = _world(draw, workloads.add_groups, workloads.member, of_groups=of_groups).draft()
    draft.gates = workloads.GATES
    draft.gates += f",{workloads.PLACEMENT}" if draw.maybe(0.4) else ""
    draft.gates += f",{GATE}" if of_groups else ""
    return draft
