"""A timeline under construction, and what tells it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from generate.world import Draw, Feature, Object, World


@dataclass
class Story:
    """A timeline under construction.

    nodes, pods: the manifests of what is or was there, by name, as they were last written
    absent: names of the groups that are not there
    """

    world: World
    features: tuple[Feature, ...]
    nodes: dict[str, Object]
    pods: dict[str, Object] = field(default_factory=dict)
    events: list[Object] = field(default_factory=list)
    at: float = 0
    arrivals: int = 0
    claims: int = 20
    absent: set[str] = field(default_factory=set)

    @property
    def draw(self) -> Draw:
        return self.world.draw

    def tell(self, **event: object) -> None:
        self.events.append({"at": self.at, **event})


def put(story: Story, manifest: Object) -> None:
    """Writes an object to the timeline, as it is now."""
    story.tell(put=copy.deepcopy(manifest))


def stored(story: Story, *kinds: str) -> list[Object]:
    """The objects of these kinds, as they were last written."""
    return [item for item in story.world.others if item["kind"] in kinds]
