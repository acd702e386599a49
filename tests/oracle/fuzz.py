#!/usr/bin/env python3
"""Random clusters and configurations, decided by kube-scheduler and by ksched.

    fuzz.py [--kubernetes-version MINOR] [--family F … | --with-extenders] [--count N] [--seed S]
            [--seconds T] [--jobs J] [--oracle-only]

Every difference is shown, made small and saved as a case of tests/conformance. A case that
kube-scheduler decides differently from run to run is counted as unsteady and left out; one in
which it panics counts as panics, where ksched says so, and is not saved. Exit
status 0 when nothing differs, 1 otherwise, 2 when the oracle cannot be built.
"""

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import subject
from cases import (
    GATES_FILE,
    OLDEST,
    TIMELINE_FILE,
    differs,
    differs_replay,
    expected_file,
)
from generate import DEFAULT_FAMILIES, FAMILIES, SINCE, WITH_EXTENDERS, Case
from generate import case as random_case
from releases import PATCHES, RELEASES
from shrink import Shrinker

from oracle import Oracle, UnavailableError, build, extender_server

HERE = Path(__file__).parent
CONFORMANCE = HERE.parent / "conformance"
# How often the oracle is asked once more before a difference counts: errors of gates, pools of
# devices and a group's victims come in the order of a map, which is often the same for a few.
AGAIN = 80
MINOR = OLDEST  # whose scheduler decides
ORACLE: Oracle | None = None  # of this process


def oracle() -> Oracle:
    global ORACLE
    if ORACLE is None:
        ORACLE = Oracle(MINOR)
    return ORACLE


@dataclass(frozen=True)
class Verdict:
    family: str
    seed: int
    kind: (
        str  # agrees, panics (both), differs, unsteady, or refused: the oracle takes no such state
    )
    difference: str = ""


def ask_oracle(case: Case) -> dict[str, Any]:
    if case.is_gates:
        return oracle().refused_gates(case.gates)
    if case.is_config:
        return oracle().config(case.config or "")
    if case.timeline:
        return oracle().replay(case.timeline, case.state, case.config, case.gates)
    return oracle().run(case.state, case.config, case.gates)


def ask_ksched(case: Case) -> dict[str, Any]:
    if case.is_gates:
        return subject.refused_gates(case.gates, MINOR)
    if case.timeline:
        return subject.replay(case.timeline, case.state, case.config, MINOR, case.gates)
    return (
        subject.describe(case.config or "", MINOR)
        if case.is_config
        else subject.decide(case.state, case.config, MINOR, case.gates)
    )


def compare(case: Case, oracle_only: bool = False) -> tuple[str, str]:
    """The kind of a verdict, and the difference if there is one."""
    upstream = ask_oracle(case)
    if panics(upstream):
        if oracle_only or "panics here" in json.dumps(ask_ksched(case)):
            return "panics", ""
        always = all(panics(ask_oracle(case)) for _ in range(AGAIN))
        return ("differs" if always else "unsteady"), upstream["error"].partition("\n")[0]
    if "result" not in upstream:
        return "refused", upstream["error"]
    expected = upstream["result"]
    if oracle_only:
        return ("agrees" if steady(case, expected, 1) else "unsteady"), ""
    got = ask_ksched(case)
    difference = difference_of(case, expected, got)
    if not difference:
        return "agrees", ""
    return ("differs" if steady(case, expected, AGAIN) else "unsteady"), difference


def panics(answer: dict[str, Any]) -> bool:
    """Whether kube-scheduler panics; ksched says so in the pod's error."""
    return str(answer.get("error", "")).startswith("panic: ")


def difference_of(case: Case, expected: dict[str, Any], got: dict[str, Any]) -> str | None:
    if case.is_gates:
        # A gate of which ksched has one side only is refused, where upstream takes it.
        if not expected["error"] and "ksched does not implement" in got["error"]:
            return None
        equal = expected["error"] == got["error"]
        return None if equal else f"gates: {expected['error']!r} or {got['error']!r}"
    if not case.is_config and "attempts" not in got and "error" in got:
        return str(got["error"])
    if case.timeline:
        return differs_replay(expected, got)
    return differs(expected, got, case.is_config)


def steady(case: Case, expected: dict[str, Any], times: int) -> bool:
    answers = (ask_oracle(case).get("result", {}) for _ in range(times))
    return all(difference_of(case, expected, answer) is None for answer in answers)


def examine(task: tuple[str, int], minor: str, oracle_only: bool) -> Verdict:
    """In a process of its own, perhaps, which has to be told the minor."""
    global MINOR
    MINOR = minor
    family, seed = task
    return Verdict(family, seed, *compare(case_of(family, seed), oracle_only))


def case_of(family: str, seed: int, minor: str = "") -> Case:
    """A random case, without gates that the minor has not or ksched does not follow, and with the
    API that it has."""
    case, minor = random_case(family, seed), minor or MINOR
    if minor >= "1.38":
        case = in_v1beta1(case)
    if case.is_gates or not case.gates:
        return case
    return replace(case, gates=subject.followed_gates(case.gates, minor))


def in_v1beta1(case: Case) -> Case:
    """With composite groups of the API that takes the place of v1alpha3 in 1.38."""

    def renewed(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("k8s.io/v1alpha3", "k8s.io/v1beta1"))

    return replace(case, objects=renewed(case.objects), events=tuple(renewed(case.events)))


def signature(difference: str) -> str:
    """What a difference is about, so that shrinking does not drift to another one."""
    if difference.startswith("exit"):
        return difference.split("\n")[0]
    path = re.sub(r"^attempts\[\d+\]\([^)]*\)", "attempt", difference.split(": ")[0])
    steps = path.split(".")
    return ".".join([*steps[:2], *steps[3:4]]) if steps[0] == "attempt" else steps[0]


def shrunk(case: Case, difference: str, seconds: float) -> Case:
    def same(smaller: Case) -> bool:
        kind, smaller_difference = compare(smaller)
        return kind == "differs" and signature(smaller_difference) == signature(difference)

    return Shrinker(same, seconds).shrink(case)


def save(case: Case, name: str, conformance: Path = CONFORMANCE) -> Path:
    place = ("configs",) if case.is_config else ("cases", case.family)
    folder = conformance.joinpath(*place, name)
    folder.mkdir(parents=True, exist_ok=True)
    if not case.is_config:
        (folder / "state.yaml").write_text(case.state)
    if case.timeline:
        (folder / TIMELINE_FILE).write_text(case.timeline)
    if case.gates:
        (folder / GATES_FILE).write_text(case.gates + "\n")
    if case.config is not None:
        (folder / "config.yaml").write_text(case.config + "\n")
    result = json.dumps(ask_oracle(case)["result"], separators=(",", ":"))
    expected_file(folder, MINOR).write_text(result + "\n")
    return folder


def tasks(families: list[str], seed: int, count: int, end: float) -> Iterator[tuple[str, int]]:
    for i in range(count):
        for family in families:
            if time.monotonic() > end:
                return
            yield family, seed + i


def verdicts(options: argparse.Namespace, families: list[str]) -> Iterator[Verdict]:
    end = time.monotonic() + options.seconds
    todo = tasks(families, options.seed, options.count, end)
    minor = options.kubernetes_version
    check = partial(examine, minor=minor, oracle_only=options.oracle_only)
    if options.jobs == 1:
        yield from map(check, todo)
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        # In portions, for the pool would take all the tasks at once and miss the deadline.
        while portion := [task for _, task in zip(range(20 * options.jobs), todo, strict=False)]:
            yield from pool.map(check, portion)


def report(options: argparse.Namespace, verdict: Verdict, seen: Counter[str]) -> None:
    """Shows a verdict; of differences that look alike only the first is worked on."""
    alike = f"{verdict.family}: {signature(verdict.difference)}"
    seen[alike] += 1
    if seen[alike] > 1:
        return
    print(f"{verdict.family} seed {verdict.seed}: {verdict.kind}: {verdict.difference}", flush=True)
    if verdict.kind != "differs":
        return
    if verdict.family == "gates":
        return
    small = shrunk(case_of(verdict.family, verdict.seed), verdict.difference, options.shrink)
    _, difference = compare(small)
    print(f"    small: {len(small.objects)} objects: {difference}")
    if not options.no_save and not difference.startswith("panic: "):
        print(f"    saved: {save(small, f'fuzz-{verdict.seed}', options.conformance)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kubernetes-version", choices=list(RELEASES), default=OLDEST)
    parser.add_argument("--family", action="append", choices=list(FAMILIES), metavar="F")
    parser.add_argument("--count", type=int, default=100, help="cases per family")
    parser.add_argument("--with-extenders", action="store_true", help="and families that ask one")
    parser.add_argument("--seed", type=int, default=1, help="the first case's")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after that")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shrink", type=float, default=60, help="seconds to make a case small")
    parser.add_argument("--differences", type=int, default=10, help="stop after so many kinds")
    parser.add_argument("--no-save", action="store_true")
    parser.add_argument("--oracle-only", action="store_true", help="try the cases, not ksched")
    parser.add_argument("--conformance", type=Path, default=CONFORMANCE)
    options = parser.parse_args()
    global MINOR
    MINOR = options.kubernetes_version
    try:
        build(MINOR)
    except UnavailableError as why:
        print(f"no oracle: {why}", file=sys.stderr)
        return 2
    extenders = sorted(WITH_EXTENDERS) if options.with_extenders else ()
    families = options.family or [
        family
        for family in (*PATCHES.get(MINOR, DEFAULT_FAMILIES), *extenders)
        if SINCE.get(family, MINOR) <= MINOR
    ]
    counts = {family: Counter[str]() for family in families}
    with extender_server(options.conformance if WITH_EXTENDERS & set(families) else None):
        seen: Counter[str] = Counter()
        for verdict in verdicts(options, families):
            counts[verdict.family][verdict.kind] += 1
            if verdict.kind in ("differs", "refused"):
                report(options, verdict, seen)
            if len(seen) >= options.differences:
                break
    for alike, times in seen.items():
        print(f"{times:5d} times {alike}")
    for family, counter in counts.items():
        print(f"{family:20s} {sum(counter.values()):5d} cases: {dict(counter)}")
    return 1 if any(counter["differs"] for counter in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
