"""HTTP extenders, as conformance/extender.py answers."""

from collections.abc import Sequence

from generate import preempt, replay, taints
from generate.resources import light
from generate.world import Draft, Draw, Object, World, configuration, requests, sometimes

HOST = "http://127.0.0.1:18700"
FILTERS = ("even", "zone", "none", "broken", "garbage", "error")
SCORERS = ("number", "number", "few", "broken", "garbage")
PREEMPTERS = ("evenvictims", "evenvictims", "novictims", "broken")
BINDERS = ("number", "number", "broken", "garbage", "error")


def random_extender(draw: Draw, crowded: bool) -> Object:
    extender: Object = {"httpTimeout": "20s", "nodeCacheCapable": draw.maybe(0.5)}
    if draw.maybe(0.5):
        extender["ignorable"] = draw.maybe(0.6)
    if crowded and draw.maybe(0.6):
        extender |= {"urlPrefix": f"{HOST}/{draw.pick(PREEMPTERS)}", "preemptVerb": "preempt"}
    elif draw.maybe(0.5):
        extender |= {"urlPrefix": f"{HOST}/{draw.pick(FILTERS)}", "filterVerb": "filter"}
    else:
        extender |= {"urlPrefix": f"{HOST}/{draw.pick(SCORERS)}", "prioritizeVerb": "prioritize"}
        extender["weight"] = draw.pick((1, 2, 5))
    if draw.maybe(0.3):
        managed = {"name": "example.com/foo", "ignoredByScheduler": draw.maybe(0.6)}
        extender["managedResources"] = [managed]
    return extender


def random_extenders(draw: Draw, crowded: bool, binders: Sequence[str] = BINDERS) -> list[Object]:
    extenders = [random_extender(draw, crowded) for _ in range(draw.pick((1, 1, 2)))]
    if draw.maybe(0.4):
        binder: Object = {"urlPrefix": f"{HOST}/{draw.pick(binders)}", "bindVerb": "bind"}
        extenders.append({**binder, "httpTimeout": "20s", "ignorable": draw.maybe(0.4)})
        if draw.maybe(0.3):
            extenders.reverse()
            extenders[0]["managedResources"] = [{"name": "example.com/foo"}]
    for extender in extenders[1:]:
        extender.pop("managedResources", None)  # no two may manage the same
    return extenders


def foo(world: World, pod: Object) -> None:
    requests(pod)["example.com/foo"] = "1"


def generate(draw: Draw) -> Draft:
    crowded = draw.maybe(0.5)
    if crowded:
        draft = preempt.crowded(draw, 0.1)
    else:
        world = World(draw)
        world.add_nodes(3, 6)
        taints.taint_nodes(world, 0.3)
        world.add_pods(draw.randint(0, 3), draw.randint(3, 7), light, sometimes(0.3, foo))
        draft = world.draft()
    draft.config = configuration(extenders=random_extenders(draw, crowded))
    return draft


def generate_replay(draw: Draw) -> Draft:
    """A timeline with extenders. Binders bind: a replay of ksched does not call them."""
    draft = replay.generate(draw)
    config = configuration() if draft.config is None else draft.config
    assert isinstance(config, dict)
    extenders = random_extenders(draw, draw.maybe(0.5), ("number",))
    draft.config = {**config, "extenders": extenders}
    return draft
