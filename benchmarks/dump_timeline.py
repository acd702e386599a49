#!/usr/bin/env python3
"""The pods of a dump as a timeline for ksched replay: each comes when it was created, and runs as
long as it did.

    kubectl get pods -A -o json | dump_timeline.py > pods.jsonl
    kubectl get nodes -o json > nodes.json

A pod that has finished runs from its status.startTime to the end of its last container, another one
to the end of the replay. Nodes and statuses are left out: where and when a pod starts is what the
replay says. Pods of DaemonSets keep the affinity to their node; static pods are left out.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MIRROR = "kubernetes.io/config.mirror"
FINISHED = ("Succeeded", "Failed")

Manifest = dict[str, Any]


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def pods_of(document: Manifest) -> Iterator[Manifest]:
    """The pods of a list, or the one that the document is; without static ones."""
    for item in document.get("items", [document]):
        annotations = item.get("metadata", {}).get("annotations") or {}
        if item.get("kind", "Pod") == "Pod" and MIRROR not in annotations:
            yield item


def ended(pod: Manifest) -> str | None:
    """When the last container of a finished pod ended."""
    status = pod.get("status") or {}
    if status.get("phase") not in FINISHED:
        return None
    times = [
        container["state"]["terminated"]["finishedAt"]
        for container in status.get("containerStatuses") or ()
        if container.get("state", {}).get("terminated", {}).get("finishedAt")
    ]
    return max(times, key=moment, default=None)


def event_of(pod: Manifest, start: datetime.datetime) -> Manifest:
    metadata, spec = pod["metadata"], dict(pod["spec"])
    spec.pop("nodeName", None)
    copied = {
        key: metadata[key]
        for key in ("name", "namespace", "labels", "ownerReferences")
        if key in metadata
    }
    created = moment(metadata["creationTimestamp"])
    event: Manifest = {"at": (created - start).total_seconds()}
    event["pod"] = {"apiVersion": "v1", "kind": "Pod", "metadata": copied, "spec": spec}
    end = ended(pod)
    if end is not None:
        began = moment((pod["status"].get("startTime")) or metadata["creationTimestamp"])
        event["runsFor"] = max(0.0, (moment(end) - began).total_seconds())
    return event


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dump", nargs="*", help="JSON of pods; standard input unless given")
    options = parser.parse_args()
    try:
        texts = [Path(path).read_text() for path in options.dump] or [sys.stdin.read()]
        pods = [pod for text in texts for pod in pods_of(json.loads(text))]
        if not pods:
            parser.error("there are no pods in the dump")
        start = min(moment(pod["metadata"]["creationTimestamp"]) for pod in pods)
        events = [event_of(pod, start) for pod in pods]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    except (KeyError, TypeError) as error:
        parser.error(f"a pod of the dump has no {error}")
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": start.isoformat()}
    for line in (header, *sorted(events, key=lambda event: float(event["at"]))):
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
