"""Pods of groups that are parts of CompositePodGroups, which are scheduled as one tree."""

from generate import podgroups, preempt, workloads
from generate.world import Draft, Draw, Feature, Object, World, moment, sometimes

GATES = f"{workloads.GATES},{workloads.PLACEMENT},CompositePodGroup=true"
NAMES = ("job", "wing", "core")


def add_groups(world: World) -> None:
    """A tree of some depth, with groups beside it."""
    draw = world.draw
    priority = draw.pick((-1, 0, 3, 10, 10))
    names = NAMES[: draw.randint(1, 3)]
    for index, name in enumerate(names):
        if draw.maybe(0.05):
            continue  # what is in it waits for it
        group = _composite(draw, name)
        if index and draw.maybe(0.8):
            group["spec"]["parentCompositePodGroupName"] = draw.pick(names[:index])
        world.others.append(group)
    workloads.add_groups(world)
    for group in world.others:
        if group["kind"] == "PodGroup" and draw.maybe(0.8):
            group["spec"]["parentCompositePodGroupName"] = draw.pick(names)
            group["spec"]["workloadRef"] = {"workloadName": "work", "templateName": "pods"}
        if group["kind"] in ("PodGroup", "CompositePodGroup"):
            if draw.maybe(0.97):
                group["spec"]["priority"] = priority
            if draw.maybe(0.5):
                group["metadata"]["creationTimestamp"] = moment(draw.randint(0, 60))
    if draw.maybe(0.85):
        _agree(world)


def _composite(draw: Draw, name: str) -> Object:
    policy: Object = {"basic": {}}
    if draw.maybe(0.7):
        policy = {"gang": {"minGroupCount": draw.pick((1, 1, 2, 2, 3))}}
    spec: Object = {"schedulingPolicy": policy}
    if draw.maybe(0.5):
        spec["disruptionMode"] = {draw.pick(("single", "all", "all")): {}}
    if draw.maybe(0.1):
        spec["preemptionPolicy"] = draw.pick(("Never", "PreemptLowerPriority"))
    if draw.maybe(0.5):
        spec["schedulingConstraints"] = podgroups.topology(draw)
    spec["workloadRef"] = {"workloadName": "work", "templateName": name}
    metadata = {"name": name, "namespace": "default", "uid": f"composite-{name}"}
    version = "scheduling.k8s.io/v1alpha3"
    return {
        "apiVersion": version,
        "kind": "CompositePodGroup",
        "metadata": metadata,
        "spec": spec,
    }


def member(world: World, pod: Object) -> None:
    """Pods of the tree's priority and policy, as the scheduler wants it."""
    workloads.member(world, pod)
    name = pod["spec"]["schedulingGroup"]["podGroupName"]
    groups = {each["metadata"]["name"]: each for each in world.others if "spec" in each}
    root = groups.get(name, {})
    while (parent := root.get("spec", {}).get("parentCompositePodGroupName")) in groups:
        root = groups[parent]
    policy = root.get("spec", {}).get("preemptionPolicy")
    pod["spec"].pop("preemptionPolicy", None)
    if policy is not None and world.draw.maybe(0.9):
        pod["spec"]["preemptionPolicy"] = policy


def _agree(world: World) -> None:
    """Let the groups of trees be such as 1.38 takes: those in a gang are gangs, those in a group
    that is evicted as one are, too, and the outermost alone has a policy of preemption."""
    specs = {
        each["metadata"]["name"]: (each["kind"], each["spec"])
        for each in world.others
        if each["kind"] in ("PodGroup", "CompositePodGroup")
    }
    for _ in specs:  # from the outside, whatever their order
        for kind, spec in specs.values():
            _, parent = specs.get(spec.get("parentCompositePodGroupName", ""), ("", None))
            if parent is None:
                continue
            spec.pop("preemptionPolicy", None)
            if "gang" in parent["schedulingPolicy"] and "basic" in spec["schedulingPolicy"]:
                count = "minCount" if kind == "PodGroup" else "minGroupCount"
                spec["schedulingPolicy"] = {"gang": {count: 1}}
            if "all" in parent.get("disruptionMode", {}):
                spec["disruptionMode"] = {"all": {}}


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
    features.append(sometimes(0.8, member))
    world.add_pods(draw.randint(0, 8), draw.randint(3, 14), *features)
    podgroups.begin_apart(world)
    draft = world.draft(workloads.drawn_config(draw))
    draft.gates = GATES + (f",{workloads.POLICY}" if draw.maybe(0.4) else "")
    return draft
