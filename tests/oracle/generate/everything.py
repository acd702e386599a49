"""Several families in one cluster, with their constraints on the same pods."""

from generate import (
    claims,
    inter_pod,
    node_affinity,
    ports_images,
    preempt,
    profiles,
    resources,
    spread,
    taints,
    volumes,
)
from generate.world import Draft, Draw, Feature, World, configuration, sometimes


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 8)
    node_affinity.label_nodes(world)
    features: list[Feature] = [draw.pick((resources.light, resources.plain, preempt.amounts))]
    # Twice in the list is a better chance, not twice in a case.
    for add in dict.fromkeys(draw.some(PARTS, 3, 6)):
        features += add(world)
    world.add_pods(draw.randint(2, 14), draw.randint(4, 12), *features)
    for pod in world.pods:
        # The parts put their namespaced objects into this one.
        if "volumes" in pod["spec"] or "resourceClaims" in pod["spec"]:
            pod["metadata"]["namespace"] = "default"
    config = None
    if draw.maybe(0.25):
        config = resources.strategies(draw)
    elif draw.maybe(0.25):
        config = spread.defaults(draw)
    if any(pod["spec"].get("schedulerName") for pod in world.pods):
        config = configuration({"schedulerName": "default-scheduler"}, profiles.packing(draw))
    return world.draft(config)


def with_resources(world: World) -> list[Feature]:
    resources.extend_nodes(world)
    return list(resources.MORE)


def with_taints(world: World) -> list[Feature]:
    taints.taint_nodes(world, 0.4)
    return [sometimes(0.5, taints.tolerations)]


def with_node_affinity(world: World) -> list[Feature]:
    return [sometimes(0.35, node_affinity.affinity), sometimes(0.1, node_affinity.selector)]


def with_neighbours(world: World) -> list[Feature]:
    world.add_namespaces()
    return [inter_pod.label_pods, *inter_pod.TERMS]


def with_spread(world: World) -> list[Feature]:
    return [sometimes(0.5, spread.constraints)]


def with_workloads(world: World) -> list[Feature]:
    spread.add_workloads(world)
    return [sometimes(0.4, spread.owned)]


def with_images(world: World) -> list[Feature]:
    ports_images.image_nodes(world)
    return [sometimes(0.4, ports_images.ports), sometimes(0.1, ports_images.sidecar)]


def with_priorities(world: World) -> list[Feature]:
    preempt.full_nodes(world)
    preempt.add_classes(world)
    preempt.add_budgets(world)
    return [
        preempt.priority,
        sometimes(0.08, preempt.leaving),
        sometimes(0.1, preempt.nominated),
    ]


def with_volumes(world: World) -> list[Feature]:
    volumes.add_classes(world)
    volumes.add_claims(world)
    return [sometimes(0.4, volumes.mounted)]


def with_claims(world: World) -> list[Feature]:
    claims.add_devices(world)
    return [sometimes(0.3, claims.claiming)]


def with_gates(world: World) -> list[Feature]:
    return [sometimes(0.08, profiles.gated)]


def with_profiles(world: World) -> list[Feature]:
    return [profiles.of_profile]


PARTS = (
    with_resources,
    with_taints,
    with_node_affinity,
    with_neighbours,
    with_neighbours,
    with_spread,
    with_spread,
    with_workloads,
    with_images,
    with_priorities,
    with_priorities,
    with_volumes,
    with_claims,
    with_gates,
    with_profiles,
)
