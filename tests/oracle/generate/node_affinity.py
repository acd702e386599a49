"""Node selectors, required and preferred node affinity, named nodes, added affinity."""

from generate.resources import light, plain
from generate.world import ZONE, Draft, Draw, Object, World, sometimes, with_args

LABELS = {
    "disk": ("ssd", "hdd"),
    "cores": ("2", "4", "8", "16", "many"),
    "gpu": ("true",),
    "rack": ("r1", "r2"),
    "tier": ("x", "y"),
}


def label_nodes(world: World) -> None:
    for node in world.nodes:
        for key, values in LABELS.items():
            if world.draw.maybe(0.6):
                node["metadata"]["labels"][key] = world.draw.pick(values)


def requirement(draw: Draw) -> Object:
    key = draw.pick((ZONE, "disk", "disk", "cores", "gpu", "tier"))
    if key == "cores" and draw.maybe(0.6):
        values = [draw.pick(("2", "4", "8"))]
        return {"key": key, "operator": draw.pick(("Gt", "Lt")), "values": values}
    operator = draw.pick(("In", "In", "NotIn", "Exists", "DoesNotExist"))
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    values = draw.some("abc" if key == ZONE else LABELS[key], 1, 2)
    return {"key": key, "operator": operator, "values": values}


def term(world: World) -> Object:
    draw = world.draw
    fields: Object = {}
    if draw.maybe(0.8):
        fields["matchExpressions"] = [requirement(draw) for _ in range(draw.randint(1, 2))]
    if draw.maybe(0.3) or (not fields and draw.maybe(0.8)):
        name = world.node_name() if draw.maybe(0.85) else "n99"
        operator = draw.pick(("In", "In", "In", "NotIn"))
        field = {"key": "metadata.name", "operator": operator, "values": [name]}
        fields["matchFields"] = [field]
    return fields


def affinity(world: World, pod: Object) -> None:
    draw = world.draw
    rules: Object = {}
    if draw.maybe(0.55):
        terms = [term(world) for _ in range(draw.randint(1, 3))]
        rules["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if draw.maybe(0.65):
        rules["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": draw.randint(1, 100), "preference": term(world)}
            for _ in range(draw.randint(1, 3))
        ]
    pod["spec"].setdefault("affinity", {})["nodeAffinity"] = rules


def named(world: World, pod: Object) -> None:
    """Every required term names nodes, so that PreFilter narrows the search."""
    draw = world.draw
    terms = []
    for _ in range(draw.randint(1, 3)):
        name = world.node_name() if draw.maybe(0.9) else "n99"
        fields: Object = {
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]
        }
        if draw.maybe(0.3):
            fields["matchExpressions"] = [requirement(draw)]
        terms.append(fields)
    required = {"nodeSelectorTerms": terms}
    rules = pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    rules["requiredDuringSchedulingIgnoredDuringExecution"] = required


def selector(world: World, pod: Object) -> None:
    draw = world.draw
    key, value = draw.pick(((ZONE, draw.pick("abc")), ("disk", draw.pick(LABELS["disk"]))))
    if draw.maybe(0.08):
        key, value = "nope", "x"
    pod["spec"]["nodeSelector"] = {key: value}


def added(world: World) -> Object:
    draw = world.draw
    rules: Object = {}
    if draw.maybe(0.6):
        terms = [term(world) for _ in range(draw.randint(1, 2))]
        rules["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [preferred for preferred in terms if preferred]
            or [{"matchExpressions": []}]
        }
    if draw.maybe(0.6):
        preference = term(world) or {"matchExpressions": [requirement(draw)]}
        preferred = {"weight": draw.randint(1, 100), "preference": preference}
        rules["preferredDuringSchedulingIgnoredDuringExecution"] = [preferred]
    return with_args(NodeAffinity={"addedAffinity": rules})


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 8)
    label_nodes(world)
    features = (
        draw.pick((plain, light)),
        sometimes(0.75, affinity),
        sometimes(0.15, named),
        sometimes(0.3, selector),
    )
    world.add_pods(draw.randint(0, 5), draw.randint(4, 10), *features)
    return world.draft(added(world) if draw.maybe(0.35) else None)
