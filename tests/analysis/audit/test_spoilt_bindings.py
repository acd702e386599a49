"""Bindings of a recording that are moved to fuller nodes are found, and no others."""

import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from ksched_cli.analysis.audit.replayed_cluster import NOTICED_WITHIN
from ksched_cli.engine.live_cluster import LiveCluster
from ksched_cli.testing import Manifest, cluster, node, pod, simulation
from tests.analysis.audit.test_recorded_decisions import Event, bind, leaves, recorded
from tests.thorough import first

SIZES = (8, 8, 8, 16)
STEPS = 300
# How much fuller a node is, at least, that a binding is moved to.
FULLER = 0.25


class Life(NamedTuple):
    """A recording that a run of ksched decided. spoilt: the place of each binding, and a fuller
    node"""

    objects: list[Manifest]
    events: list[Event]
    spoilt: list[tuple[int, str]]


def machine(number: int, *, is_cordoned: bool = False) -> Manifest:
    return node(f"n{number:02}", cpu=SIZES[number % len(SIZES)], unschedulable=is_cordoned)


def size_of(name: str) -> int:
    return SIZES[int(name[1:]) % len(SIZES)]


@cache
def life(seed: int) -> Life:
    """Pods come and go, nodes are cordoned and opened again, all a second or two apart."""
    chance = random.Random(seed)
    nodes = [machine(number) for number in range(16)]
    busy = [pod(f"s{number}", cpu=5, node=f"n{number:02}") for number in range(0, 16, 5)]
    state = cluster(*nodes, *busy)
    live = LiveCluster(simulation(state), state)
    cordoned: set[int] = set()
    # When a node last was cordoned or opened, or lost a pod.
    changed_at: dict[str, float] = {}
    running: list[tuple[str, str]] = []

    def is_open(name: str) -> bool:
        return int(name[1:]) not in cordoned

    events: list[Event] = []
    spoilt: list[tuple[int, str]] = []
    at = 100.0
    for step in range(STEPS):
        at += chance.uniform(0.3, 2)
        draw = chance.random()
        if draw < 0.2:
            number = chance.randrange(len(nodes))
            cordoned ^= {number}
            changed_at[nodes[number]["metadata"]["name"]] = at
            changed = machine(number, is_cordoned=number in cordoned)
            events.append({"at": at, "put": changed})
            live.replace_nodes({each.name: each for each in cluster(changed).nodes})
        elif draw < 0.4 and running:
            name, on = running.pop(chance.randrange(len(running)))
            changed_at[on] = at
            events.append({"at": at, **leaves(name)})
            gone = live.pod(f"default/{name}", on)
            assert gone is not None
            live.remove([gone.pod])
        else:
            name = f"p{step:03}"
            came = pod(name, cpu=chance.choice(("500m", "1", "1500m")))
            live.arrive(cluster(came).pods)
            used = dict(zip(live.snapshot.names, _used(live), strict=True))
            chosen = live.run()[f"default/{name}"].node
            if not chosen:
                live.remove([*live.waiting.values()])
                continue
            events.append({"at": at, "pod": came})
            # A node that has been better for as long as nobody may have noticed a change of it.
            steady = [name for name in used if at - changed_at.get(name, 0) > NOTICED_WITHIN + 1]
            for fuller in sorted(used, key=used.__getitem__, reverse=True)[:2]:
                alike = [name for name in steady if size_of(name) == size_of(fuller)]
                if any(used[fuller] - used[name] > FULLER for name in alike if is_open(name)):
                    spoilt.append((len(events), fuller))
            events.append({"at": at + 0.05, **bind(name, chosen)})
            running.append((name, chosen))
    return Life([*nodes, *busy], events, spoilt)


def _used(live: LiveCluster) -> list[float]:
    return (live.snapshot.requested("cpu") / live.snapshot.allocatable("cpu")).tolist()


SEEDS = range(3)


@pytest.mark.parametrize("seed", first(1, SEEDS))
def test_of_a_recording_that_is_not_spoilt_every_decision_agrees(seed: int, tmp_path: Path) -> None:
    answer = recorded(tmp_path, life(seed).objects, *life(seed).events)
    assert (answer.differ, answer.unexplained) == ((), ())
    assert answer.decisions > STEPS / 3


@pytest.mark.parametrize(
    ("count", "seeds"), [(3, SEEDS[:1]), pytest.param(200, SEEDS, marks=pytest.mark.slow)]
)
def test_each_spoilt_binding_is_found(tmp_path: Path, count: int, seeds: range) -> None:
    bindings = [(seed, *each) for seed in seeds for each in life(seed).spoilt]
    for seed, place, fuller in random.Random(1).sample(bindings, count):
        objects, events, _ = life(seed)
        event = events[place]
        spoilt = {**event, "decision": {**event["decision"], "node": fuller}}
        answer = recorded(tmp_path, objects, *events[:place], spoilt)
        key = f"default/{event['decision']['name']}"
        assert [(each.pod, each.node) for each in answer.differ] == [(key, fuller)], (seed, place)
