#!/usr/bin/env python3
"""Writes a timeline of pods that come, run and end, as JSON lines.

    make_timeline.py PODS [--every SECONDS] > timeline.jsonl

Pods of four templates come one by one at random times, and run for 1 to 14 hours. By default as
many as a million come in a week, so that 45,000 run at a time.
"""

import argparse
import json
import random

WEEK, MILLION = 604_800, 1_000_000
LONGEST = 14 * 3600


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pods", type=int)
    parser.add_argument("--every", type=float, default=WEEK / MILLION)
    options = parser.parse_args()
    templates = {
        f"t{i}": {
            "metadata": {"namespace": "batch", "labels": {"app": f"t{i}"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]},
        }
        for i, requests in enumerate(
            {"cpu": f"{cpu}m", "memory": f"{cpu * 4}Mi"} for cpu in (100, 250, 500, 1000)
        )
    }
    header = {
        "apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-11-23T00:00:00Z",
        "templates": templates,
    }  # fmt: skip
    print(json.dumps(header))
    draw = random.Random(1)
    at = 0.0
    for i in range(options.pods):
        at += draw.expovariate(1 / options.every)
        event = {
            "at": round(at, 6), "pod": f"p{i}", "template": f"t{draw.randrange(4)}",
            "runsFor": draw.randrange(3600, LONGEST),
        }  # fmt: skip
        print(json.dumps(event))


if __name__ == "__main__":
    main()
