#!/usr/bin/env python3
"""Writes every expected.json of tests/conformance anew, as the oracle decides; of a later minor,
every expected-MINOR.json.

    regenerate.py [--kubernetes-version MINOR] [--cases DIR] [--add N [--seed S]] [FAMILY ...]

With --add it first adds N random cases per family. A case that kube-scheduler decides
differently from run to run is reported and keeps its expected.json.
"""

import argparse
import json
import sys
from pathlib import Path

import subject
from cases import OLDEST, Case, differs, expected_file, families
from generate import FAMILIES
from releases import MODULES

import fuzz
from oracle import Oracle, UnavailableError, extender_server


def add(family: str, count: int, seed: int, folder: Path) -> None:
    """Adds the first so many cases from a seed on that upstream decides the same every time."""
    while count:
        candidate = fuzz.case_of(family, seed)
        answer = fuzz.ask_oracle(candidate)
        if "result" in answer and fuzz.steady(candidate, answer["result"], fuzz.AGAIN):
            fuzz.save(candidate, f"{seed:03d}", folder)
            count -= 1
        seed += 1


def regenerate(oracle: Oracle, case: Case, minor: str) -> str:
    """Says what became of a case's expected.json."""
    if case.gates and subject.refused_gates(case.gates, minor)["error"]:
        return ""  # a case of other minors
    answers = [oracle.ask(case) for _ in range(4)]
    if "result" not in answers[0]:
        return f"refused: {answers[0]['error']}"
    decided = answers[0]["result"]
    if any(differs(decided, a.get("result", {}), case.is_config) for a in answers):
        return "unsteady, kept"
    file = expected_file(case.folder, minor)
    if file.exists() and differs(case.expected(minor), decided, case.is_config) is None:
        return ""
    file.write_text(json.dumps(decided, separators=(",", ":")) + "\n")
    return "written"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, default=fuzz.CONFORMANCE)
    parser.add_argument("--kubernetes-version", choices=list(MODULES), default=OLDEST)
    parser.add_argument("--add", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("families", nargs="*")
    options = parser.parse_args()
    minor = fuzz.MINOR = options.kubernetes_version
    with Oracle(minor) as oracle, extender_server(options.cases):
        for family in options.families or FAMILIES:
            add(family, options.add, options.seed, options.cases)
        for family, family_cases in families(options.cases, options.families).items():
            news = [(case, regenerate(oracle, case, minor)) for case in family_cases]
            print(f"{family:20s} {len(family_cases):4d} cases")
            for case, what in news:
                if what:
                    print(f"    {case.folder.name}: {what}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnavailableError as why:
        print(f"no oracle: {why}", file=sys.stderr)
        sys.exit(2)
