"""Pods of groups that are entities of the queue: PodGroups of scheduling.k8s.io/v1beta1."""

from generate import podgroups, preempt
from generate.world import Draft, Draw, Feature, Object, World, configuration, sometimes

GATES = "GenericWorkload=true"
PLACEMENT = "TopologyAwareWorkloadScheduling=true"
POLICY = "PodGroupPreemptionPolicy=true"


def add_groups(world: World) -> None:
    draw = world.draw
    for group in podgroups.drawn_groups(world, "v1beta1"):
        group["spec"]["priority"] = draw.pick((-1, 0, 3, 10, 10))
        if draw.maybe(0.5):
            group["spec"]["disruptionMode"] = {draw.pick(("single", "all", "all")): {}}
        if draw.maybe(0.1):
            group["spec"]["preemptionPolicy"] = draw.pick(("Never", "PreemptLowerPriority"))
        if draw.maybe(0.4):
            group["spec"]["schedulingConstraints"] = podgroups.topology(draw)


def member(world: World, pod: Object) -> None:
    """Pods of the group's priority, as the scheduler wants it."""
    name = world.draw.pick(podgroups.NAMES)
    pod["spec"]["schedulingGroup"] = {"podGroupName": name}
    groups = (each for each in world.others if each["kind"] == "PodGroup")
    for group in groups:
        if group["metadata"]["name"] == name and world.draw.maybe(0.98):
            pod["spec"].pop("priorityClassName", None)
            pod["spec"].pop("preemptionPolicy", None)
            pod["spec"]["priority"] = group["spec"]["priority"]
            policy = group["spec"].get("preemptionPolicy")
            if policy is not None:
                pod["spec"]["preemptionPolicy"] = policy


def generate(draw: Draw) -> Draft:
    world = World(draw)
    preempt.add_classes(world)
    world.add_nodes(1, 6)
    preempt.full_nodes(world)
    add_groups(world)
    if draw.maybe(0.3):
        preempt.add_budgets(world)
    preempt.add_solo(world)
    features: list[Feature] = [podgroups.amounts]
    features += [feature for probability, feature in podgroups.FEATURES if draw.maybe(probability)]
    if draw.maybe(0.2):
        features += [sometimes(0.3, draw.pick(podgroups.AFFINITY)) for _ in range(3)]
    features.append(sometimes(0.7, member))
    world.add_pods(draw.randint(0, 8), draw.randint(2, 12), *features)
    podgroups.begin_apart(world)
    draft = world.draft(drawn_config(draw))
    draft.gates = GATES
    draft.gates += "".join(f",{gate}" for gate in (PLACEMENT, POLICY) if draw.maybe(0.4))
    return draft


def drawn_config(draw: Draw) -> Object | None:
    if draw.maybe(0.7):
        return None
    profile: Object = {"schedulerName": "default-scheduler"}
    if draw.maybe(0.5):
        profile["plugins"] = {"multiPoint": {"disabled": [{"name": "GangScheduling"}]}}
    if draw.maybe(0.4):
        profile["plugins"] = {"podGroupPostFilter": {"disabled": [{"name": "*"}]}}
    return configuration(profile, percentageOfNodesToScore=draw.pick((0, 50)))
