"""Taints, tolerations and cordoned nodes."""

from generate.resources import light, plain
from generate.world import Draft, Draw, Object, World, sometimes, with_args

KEYS = ("k1", "k2", "dedicated")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute")


def taint_nodes(world: World, some: float = 0.65) -> None:
    draw = world.draw
    for node in world.nodes:
        if draw.maybe(some):
            node["spec"]["taints"] = [taint(draw) for _ in range(draw.randint(1, 3))]
        if draw.maybe(0.12):
            node["spec"]["unschedulable"] = True


def taint(draw: Draw) -> Object:
    one = {"key": draw.one(KEYS), "effect": draw.one(EFFECTS)}
    if draw.maybe(0.6):
        one["value"] = draw.one(("v1", "v2"))
    return one


def tolerations(world: World, pod: Object) -> None:
    draw = world.draw
    pod["spec"]["tolerations"] = [toleration(draw) for _ in range(draw.randint(1, 4))]


def toleration(draw: Draw) -> Object:
    if draw.maybe(0.06):
        return {"operator": "Exists"}
    if draw.maybe(0.08):
        return {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    one: Object = {"key": draw.one(KEYS)}
    if draw.maybe(0.5):
        one["operator"] = "Exists"
    else:
        if draw.maybe(0.7):
            one["operator"] = "Equal"
        if draw.maybe(0.85):
            one["value"] = draw.one(("v1", "v2"))
    if draw.maybe(0.6):
        one["effect"] = draw.one(("NoSchedule", "PreferNoSchedule", "NoExecute"))
    if one.get("effect") == "NoExecute" and draw.maybe(0.3):
        one["tolerationSeconds"] = 30
    return one


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 8)
    taint_nodes(world)
    amounts = draw.one((plain, light))
    world.add_pods(draw.randint(0, 5), draw.randint(4, 10), amounts, sometimes(0.85, tolerations))
    return world.draft(with_args() if draw.maybe(0.1) else None)
