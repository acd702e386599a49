"""Events of a timeline: claims of devices, and the devices themselves, change and go."""

from __future__ import annotations

from collections.abc import Callable

from generate.claims import GPU, gpus
from generate.story import Story, put, stored


def device_claim_change(story: Story) -> None:
    """A claim is as it was written, without devices, and without users: its controller took it
    back; or it is not there any more."""
    items = stored(story, "ResourceClaim")
    if not items:
        return
    item = story.draw.pick(items)
    if story.draw.maybe(0.7):
        put(story, item)
        return
    story.world.others.remove(item)
    name = item["metadata"]["name"]
    story.tell(delete={"kind": "ResourceClaim", "namespace": "default", "name": name})


def device_change(story: Story) -> None:
    """A driver publishes other devices of a node, or none; a class comes or goes."""
    draw = story.draw
    items = stored(story, "ResourceSlice", "DeviceClass")
    if not items:
        return
    item = draw.pick(items)
    if draw.maybe(0.25):
        story.world.others.remove(item)
        story.tell(delete={"kind": item["kind"], "name": item["metadata"]["name"]})
        return
    if item["kind"] == "ResourceSlice" and item["spec"]["driver"] == GPU:
        item["spec"]["devices"] = gpus(draw)
        item["spec"]["pool"]["generation"] += draw.pick((0, 1))
    put(story, item)


DEVICE_EVENTS: tuple[Callable[[Story], None], ...] = (
    *[device_claim_change] * 3,
    *[device_change] * 2,
)
