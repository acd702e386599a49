"""Taints, tolerations and cordoned nodes."""

from generate.resources import light, plain
from generate.world import Draft, Draw, Object, World, sometimes, with_args

KEYS = ("k1", "k2", "dedicated")
VALUES = ("v1", "v2", "v1", "-5", "0", "7", "07", "9223372036854775808")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute")


def taint_nodes(world: World, some: float = 0.65) -> None:
    draw = world.draw
    for node in world.nodes:
        if draw.maybe(some):
            node["spec"]["taints"] = [taint(draw) for _ in range(draw.randint(1, 3))]
        if draw.maybe(0.12):
            node["spec"]["unschedulable"] = True


def taint(draw: Draw) -> Object:
    fields = {"key": draw.pick(KEYS), "effect": draw.pick(EFFECTS)}
    if draw.maybe(0.6):
        fields["value"] = draw.pick(VALUES)
    return fields


def tolerations(world: World, pod: Object) -> None:
    draw = world.draw
    pod["spec"]["tolerations"] = [toleration(draw) for _ in range(draw.randint(1, 4))]


def toleration(draw: Draw) -> Object:
    if draw.maybe(0.06):
        return {"operator": "Exists"}
    if draw.maybe(0.08):
        return {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    fields: Object = {"key": draw.pick(KEYS)}
    if draw.maybe(0.4):
        fields["operator"] = "Exists"
    elif draw.maybe(0.35):
        fields |= {"operator": draw.pick(("Lt", "Gt")), "value": draw.pick(VALUES)}
    else:
        if draw.maybe(0.7):
            fields["operator"] = "Equal"
        if draw.maybe(0.85):
            fields["value"] = draw.pick(VALUES)
    if draw.maybe(0.6):
        fields["effect"] = draw.pick(("NoSchedule", "PreferNoSchedule", "NoExecute"))
    if fields.get("effect") == "NoExecute" and draw.maybe(0.3):
        fields["tolerationSeconds"] = 30
    return fields


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 8)
    taint_nodes(world)
    amounts = draw.pick((plain, light))
    world.add_pods(draw.randint(0, 5), draw.randint(4, 10), amounts, sometimes(0.85, tolerations))
    draft = world.draft(with_args() if draw.maybe(0.1) else None)
    if draw.maybe(0.6):
        draft.gates = "TaintTolerationComparisonOperators=true"
    return draft
