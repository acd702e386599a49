"""Running pods whose node has deferred their resize, which preempt others there, behind the gate:
cases of other families, some of whose running pods want more than they have."""

import copy

from generate import (
    declared_features,
    everything,
    inter_pod,
    preempt,
    replay,
    spread,
    taints,
    volumes,
)
from generate.world import Draft, Draw, Object, is_bound, requests

GATE = "InPlacePodVerticalScalingSchedulerPreemption=true"
FAMILIES = (preempt, preempt, preempt, everything, taints, spread, volumes, inter_pod)
PRIORITY = ("priority", "priorityClassName")
CPU = ("200m", "500m", "1", "1500m", "2", "3", "5")


def generate(draw: Draw) -> Draft:
    family = draw.pick((*FAMILIES, declared_features))
    draft: Draft = family.generate(draw)
    return _changed(draw, draft)


def generate_replay(draw: Draw) -> Draft:
    draft = replay.generate(draw)
    events = draft.timeline["events"] if draft.timeline else []
    for event in events:
        obj = event.get("put")
        if obj is not None and obj.get("kind") == "Node":
            _node(draw, obj)
    _changed(draw, draft)
    # The API server takes no pod with a node that is to wait, or of another priority than before.
    gone = [event["delete"]["name"] for event in events if "delete" in event]
    running = [
        obj
        for obj in draft.objects
        if obj["kind"] == "Pod" and is_bound(obj) and obj["spec"]["nodeName"] not in gone
    ]
    last = events[-1]["at"] if events else 0
    for _ in range(draw.randint(0, 8) if running else 0):
        # Its spec changes, its node grants or defers the change, or finds it infeasible.
        pod = copy.deepcopy(draw.pick(running))
        if draw.maybe(0.5):
            pod["status"].pop("conditions", None)
        priority = {key: pod["spec"].pop(key) for key in PRIORITY if key in pod["spec"]}
        _running(draw, pod)
        for key in PRIORITY:
            pod["spec"].pop(key, None)
        pod["spec"] |= priority
        at = round(draw.pick((0.1, 0.4, 0.7, 1)) * last + draw.pick((0, 0.5, 7)), 6)
        events.append({"at": at, "put": pod})
    events.sort(key=lambda event: event["at"])
    return draft


def _changed(draw: Draw, draft: Draft) -> Draft:
    gates = [draft.gates] if draft.gates else []
    draft.gates = ",".join([*gates, *[GATE] * draw.maybe(0.93)])
    for obj in draft.objects:
        if obj["kind"] == "Node":
            _node(draw, obj)
        elif obj["kind"] == "Pod" and is_bound(obj):
            _running(draw, obj)
    return draft


def _node(draw: Draw, obj: Object) -> None:
    if draw.maybe(0.15):
        disabled = ["a.example.com/operator"] if draw.maybe(0.7) else []
        obj["spec"]["podPreemptionPolicy"] = {"disableResizePreemption": disabled}


def _running(draw: Draw, pod: Object) -> None:
    if not draw.maybe(0.5):
        return
    spec, status = pod["spec"], pod["status"]
    spec.pop("schedulingGates", None)
    if draw.maybe(0.7):
        spec["priority"] = draw.pick((0, 5, 100, 2000))
        spec.pop("priorityClassName", None)
    had = dict(requests(pod))
    for name, amounts in (
        ("cpu", CPU),
        ("memory", ("512Mi", "3Gi")),
        ("example.com/x", ("1", "3")),
    ):
        if draw.maybe(0.8 if name == "cpu" else 0.15):
            requests(pod)[name] = draw.pick(amounts)
    if draw.maybe(0.8):
        container: Object = {"name": spec["containers"][0]["name"], "allocatedResources": had}
        if draw.maybe(0.7):
            container["resources"] = {"requests": had}
        status["containerStatuses"] = [container]
    reason = draw.pick(("Deferred",) * 6 + ("Infeasible",))
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    if draw.maybe(0.1):
        conditions.append({**conditions[0], "reason": "Infeasible"})
    status["conditions"] = [*status.get("conditions", ()), *conditions]
