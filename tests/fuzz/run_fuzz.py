#!/usr/bin/env python3
"""Feeds mutated inputs to ksched and counts what breaks a rule that holds for any input.

    run_fuzz.py [--subject NAME]... [--count N] [--seconds S] [--seed N] [--save FOLDER]

Rules: no traceback, no hang (10 s), no memory past ten times the input plus 200 MB, exit codes as
documented, valid JSON or none, no file left open, no control character in a table or a message, no
message past 3,000 characters. Each input has a seed of its own (printed), so that it can be made
again; `--save` writes what broke a rule, made smaller, into a folder. Exits with 1 if anything did.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from itertools import chain
from pathlib import Path

# tests/ is a package, its folders `fuzz` and `oracle` have scripts.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "oracle"))

from functions import FUNCTIONS, Function
from inputs import Input, Subject
from judge import Verdict, judged, judged_call
from subjects import SUBJECTS
from texts import grown_texts


def mutated_input(subject: Subject, seed: int, folder: Path) -> tuple[Input, Verdict]:
    """The input of a seed, and what came of it. The file stays in `folder`."""
    mutated = subject.make(random.Random(seed), folder)
    path = folder / mutated.name
    path.write_bytes(mutated.data)
    return mutated, judged(mutated.arguments, path)


def command_of(mutated: Input) -> str:
    """As `explain` or `config show`."""
    count = 2 if mutated.arguments[0] == "config" else 1
    return " ".join(mutated.arguments[:count])


def run(subject: Subject, seeds: range, deadline: float, save: Path | None) -> Counter[str]:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TMPDIR"] = name
        for seed in seeds:
            if time.monotonic() > deadline:
                break
            mutated, verdict = mutated_input(subject, seed, folder)
            counts["inputs"] += 1
            counts[f"exit {verdict.code}"] += 1
            counts[command_of(mutated)] += 1
            if verdict.rule:
                counts[verdict.rule] += 1
                counts["broken"] += 1
                print(f"{subject.name} seed {seed}: {verdict.rule}: {verdict.detail}")
                print(f"  ksched {' '.join(mutated.arguments)}", flush=True)
                if save:
                    save.mkdir(parents=True, exist_ok=True)
                    (save / f"{subject.name}-{seed}-{mutated.name}").write_bytes(mutated.data)
    return counts


def run_function(function: Function, seeds: range, deadline: float) -> Counter[str]:
    counts: Counter[str] = Counter()
    grown = ((f"text {i}", text) for i, text in enumerate(grown_texts(function.name)))
    mutated = ((f"seed {seed}", function.make(random.Random(seed))) for seed in seeds)
    for origin, value in chain(grown, mutated):
        if time.monotonic() > deadline:
            break
        verdict = judged_call(function.read, value, function.refusals)
        counts["inputs"] += 1
        counts["refused" if verdict.code == 2 else "read"] += 1
        if verdict.rule:
            counts[verdict.rule] += 1
            counts["broken"] += 1
            print(f"{function.name} {origin}: {verdict.rule}: {verdict.detail}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [subject.name for subject in (*SUBJECTS, *FUNCTIONS)]
    parser.add_argument("--subject", action="append", choices=names)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    chosen = [
        subject
        for subject in (*SUBJECTS, *FUNCTIONS)
        if not arguments.subject or subject.name in arguments.subject
    ]
    broken = 0
    for subject in chosen:
        deadline = time.monotonic() + arguments.seconds / len(chosen)
        seeds = range(arguments.seed, arguments.seed + arguments.count)
        if isinstance(subject, Function):
            counts = run_function(subject, seeds, deadline)
        else:
            counts = run(subject, seeds, deadline, arguments.save)
        broken += counts.pop("broken", 0)
        print(f"{subject.name:14} " + ", ".join(f"{k}: {n}" for k, n in sorted(counts.items())))
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
