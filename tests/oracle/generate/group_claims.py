"""Pods of groups that have resource claims, of their own and shared by several of a group."""

from collections.abc import Callable

from generate import composites, podgroups, preempt, workloads
from generate.claims import add_devices, allocate_some, claiming
from generate.world import Draft, Draw, Feature, World, sometimes


def _world(draw: Draw, add_groups: Callable[[World], None], member: Feature) -> World:
    world = World(draw)
    preempt.add_classes(world)
    world.add_nodes(1, 5)
    preempt.full_nodes(world)
    add_devices(world)
    add_groups(world)
    features: list[Feature] = [podgroups.amounts]
    features += [feature for probability, feature in podgroups.FEATURES if draw.maybe(probability)]
    features += [sometimes(0.8, claiming), sometimes(0.8, member)]
    world.add_pods(draw.randint(0, 5), draw.randint(2, 9), *features)
    podgroups.begin_apart(world)
    if draw.maybe(0.4):
        allocate_some(world)
    return world


def generate(draw: Draw) -> Draft:
    """Groups of minors whose queue has none."""
    draft = _world(draw, podgroups.add_groups, podgroups.member).draft()
    draft.gates = draw.pick((podgroups.GANGS, podgroups.PREEMPTION))
    draft.gates += f",{podgroups.PLACEMENT}" if draw.maybe(0.4) else ""
    return draft


def generate_workloads(draw: Draw) -> Draft:
    """Groups that are entities of the queue, and trees of them."""
    if draw.maybe(0.3):
        draft = _world(draw, composites.add_groups, composites.member).draft()
        draft.gates = composites.GATES
        return draft
    draft = _world(draw, workloads.add_groups, workloads.member).draft()
    draft.gates = workloads.GATES
    draft.gates += f",{workloads.PLACEMENT}" if draw.maybe(0.4) else ""
    return draft
