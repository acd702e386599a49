"""Bindings of a real recording, moved to another node one by one: does the audit find each?

    python -m tests.live.control_plane.spoilt FOLDER [--kubernetes-version MINOR] [--count N]

FOLDER: of a day (--keep), in which no two nodes are equally good: each other node is worse, or the
pod does not fit on it. A recording is cut off behind the binding: what follows happened to another
cluster. Exit code 1 when one is not found.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.control_plane.build import MINORS
from tests.live.control_plane.day import ksched

Plain = dict[str, Any]


def nodes_before(items: list[Plain], events: list[Plain]) -> set[str]:
    """The nodes that there are after the events."""
    here = {item["metadata"]["name"] for item in items if item["kind"] == "Node"}
    for event in events:
        if event.get("put", {}).get("kind") == "Node":
            here.add(event["put"]["metadata"]["name"])
        elif event.get("delete", {}).get("kind") == "Node":
            here.discard(event["delete"]["name"])
    return here


@dataclass(frozen=True, slots=True)
class Spoilt:
    """A binding that was moved. line: of the recording; verdict: found, not judged or agrees"""

    line: int
    pod: str
    node: str
    moved_to: str
    verdict: str
    reason: str
    false_alarms: list[str]


def spoil(folder: Path, minor: str, count: int, first: int, seed: int) -> Iterator[Spoilt]:
    """first: how many lines the bindings are drawn from"""
    head, *lines = (folder / "recorded.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines[:first]]
    items = json.loads((folder / "recorded.state.json").read_text())["items"]
    draw = random.Random(seed)
    decisions = [event.get("decision", {}) for event in events]
    are_bindings = [bool(each.get("node")) and "evictedFor" not in each for each in decisions]
    places = [n for n, is_bound in enumerate(are_bindings) if is_bound]
    rules = ("--config", str(folder / "scheduler.yaml"), "--kubernetes-version", minor)
    with tempfile.TemporaryDirectory(prefix="ksched-spoilt-") as aside:
        (Path(aside) / "day.state.json").symlink_to((folder / "recorded.state.json").absolute())
        timeline = Path(aside) / "day.jsonl"
        for place in draw.sample(places, min(count, len(places))):
            decision = events[place]["decision"]
            node = draw.choice(sorted(nodes_before(items, events[:place]) - {decision["node"]}))
            moved = {**events[place], "decision": {**decision, "node": node}}
            timeline.write_text("\n".join([head, *lines[:place], json.dumps(moved)]) + "\n")
            audit = json.loads(
                ksched("audit", "--timeline", str(timeline), "-o", "json", *rules)[0]
            )
            pod = f"{decision['namespace']}/{decision['name']}"
            differ = [item["pod"] for item in audit["differ"]]
            reasons = [item["reason"] for item in audit["unexplained"] if item["pod"] == pod]
            verdict = "found" if pod in differ else "not judged" if reasons else "agrees"
            alarms = [each for each in differ if each != pod]
            where = (place + 2, pod, decision["node"], node)
            yield Spoilt(*where, verdict, "; ".join(reasons), alarms)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kubernetes-version", default="1.34", choices=MINORS)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=2_000, help="lines to draw bindings from")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    verdicts = Counter[str]()
    draws = (options.count, options.first, options.seed)
    for each in spoil(options.folder, options.kubernetes_version, *draws):
        verdicts[each.verdict] += 1
        verdicts["false alarms"] += len(each.false_alarms)
        if each.verdict != "found" or each.false_alarms:
            print(each, flush=True)
    spoilt = verdicts["found"] + verdicts["not judged"] + verdicts["agrees"]
    print(f"{verdicts['found']} of {spoilt} spoilt bindings found: {dict(verdicts)}")
    return 0 if verdicts["found"] == spoilt else 1


if __name__ == "__main__":
    sys.exit(main())
