"""Affinity and anti-affinity between pods."""

from generate.node_affinity import label_nodes
from generate.world import APPS, HOST, ZONE, Draft, Draw, Object, World, small, sometimes, with_args

KEYS = (ZONE, ZONE, HOST, "rack", "disk")


def label_pods(world: World, pod: Object) -> None:
    draw, labels = world.draw, pod["metadata"].setdefault("labels", {})
    if draw.maybe(0.5):
        labels["rev"] = draw.pick("12")
    if draw.maybe(0.25):
        labels["tier"] = draw.pick("xy")
    if draw.maybe(0.04):
        pod["metadata"].pop("labels")


def label_selector(draw: Draw) -> Object:
    if draw.maybe(0.55):
        return {"matchLabels": {"app": draw.pick(APPS)}}
    if draw.maybe(0.05):
        return {}
    key = draw.pick(("app", "tier"))
    values = APPS if key == "app" else "xy"
    operator = draw.pick(("In", "NotIn", "NotIn", "Exists", "DoesNotExist"))
    expression: Object = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        expression["values"] = draw.some(values, 1, 2)
    return {"matchExpressions": [expression]}


def term(world: World) -> Object:
    draw = world.draw
    fields: Object = {"topologyKey": draw.pick(KEYS), "labelSelector": label_selector(draw)}
    if draw.maybe(0.2):
        fields["namespaces"] = draw.some(world.namespaces, 1, 2)
    if draw.maybe(0.15):
        fields["namespaceSelector"] = draw.pick(
            (
                {},
                {"matchLabels": {"team": "x"}},
                {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
            )
        )
    if draw.maybe(0.15):
        fields[draw.pick(("matchLabelKeys", "mismatchLabelKeys"))] = ["rev"]
    return fields


def required(kind: str) -> "Term":
    return Term(kind, "requiredDuringSchedulingIgnoredDuringExecution")


def preferred(kind: str) -> "Term":
    return Term(kind, "preferredDuringSchedulingIgnoredDuringExecution")


class Term:
    """A feature: terms of one kind and strength."""

    def __init__(self, kind: str, strength: str) -> None:
        self.kind, self.strength = kind, strength

    def __call__(self, world: World, pod: Object) -> None:
        terms = [term(world) for _ in range(world.draw.randint(1, 2))]
        if self.strength.startswith("preferred"):
            terms = [{"weight": world.draw.randint(1, 100), "podAffinityTerm": t} for t in terms]
        rules = pod["spec"].setdefault("affinity", {}).setdefault(self.kind, {})
        rules[self.strength] = terms


TERMS = (
    sometimes(0.25, required("podAffinity")),
    sometimes(0.3, required("podAntiAffinity")),
    sometimes(0.3, preferred("podAffinity")),
    sometimes(0.3, preferred("podAntiAffinity")),
)


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 7)
    label_nodes(world)
    world.add_namespaces()
    world.add_pods(draw.randint(2, 9), draw.randint(4, 9), small, label_pods, *TERMS)
    config = None
    if draw.maybe(0.5):
        args = {
            "hardPodAffinityWeight": draw.pick((0, 1, 5, 100)),
            "ignorePreferredTermsOfExistingPods": draw.maybe(0.4),
        }
        config = with_args(InterPodAffinity=args)
    return world.draft(config)
