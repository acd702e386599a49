#!/usr/bin/env python3
"""Writes random timelines with what kube-scheduler's queue does along them, for the tests.

decided_replays.py MINOR FAMILY SEED …    tests/engine/replay/decided/SEED.json, one per seed; of
                                          replay_groups, groups-SEED.json; of replay_workloads,
                                          workloads-SEED.json
"""

import json
import sys
from pathlib import Path

from generate import case

from oracle import Oracle

FOLDER = Path(__file__).parents[1] / "engine" / "replay" / "decided"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    minor, family, *seeds = sys.argv[1:]
    prefix = {"replay": "", "replay_groups": "groups-", "replay_workloads": "workloads-"}[family]
    with Oracle(minor) as oracle:
        for seed in seeds:
            drawn = case(family, int(seed))
            answer = oracle.replay(drawn.timeline, drawn.state, drawn.config, drawn.gates)
            decided = {
                "minor": minor,
                "objects": drawn.objects,
                "config": drawn.config,
                "gates": drawn.gates,
                "header": drawn.header,
                "events": drawn.events,
                "expected": answer["result"],
            }
            text = json.dumps(decided, separators=(",", ":"))
            (FOLDER / f"{prefix}{seed}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
