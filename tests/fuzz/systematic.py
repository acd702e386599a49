#!/usr/bin/env python3
"""Gives ksched every file that it reads with something else in one place, place after place.

    systematic.py [--format NAME]... [--every N] [--from M] [--shift K] [--seconds S]

What run_fuzz.py meets by chance now and then, this meets once: null, an empty object, a number out
of every range, a key twice and the like (`substitutes.py`) in each place of each format
(`formats.py`), judged by the same rules. The commands that read a format are asked in turn:
--shift begins with another one. --every N takes each Nth only. Exits with 1 if a rule was broken.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from itertools import islice
from pathlib import Path

# tests/ is a package, its folders `fuzz` and `oracle` have scripts.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "oracle"))

from format import Format
from formats import FORMATS
from judge import Verdict, judged


def verdicts(
    form: Format,
    folder: Path,
    every: int = 1,
    first: int = 0,
    shift: int = 0,
    last: int | None = None,
) -> Iterator[tuple[str, tuple[str, ...], Verdict]]:
    """Label, command and what came of it, of each Nth variant from the first to before the last."""
    form.prepare(folder)
    path = folder / form.file
    for index, (label, make) in enumerate(islice(form.variants(), first, last, every)):
        path.write_bytes(make())
        commands = form.commands(str(path), folder)
        command = commands[(index + shift) % len(commands)]
        with chdir(folder):  # where files are written that a changed name names
            yield label, command, judged(command, path)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--format", action="append", choices=[form.name for form in FORMATS])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--shift", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="of each format, at most")
    arguments = parser.parse_args()
    broken = 0
    for form in FORMATS:
        if arguments.format and form.name not in arguments.format:
            continue
        counts: Counter[str] = Counter()
        deadline = time.monotonic() + arguments.seconds
        with tempfile.TemporaryDirectory() as name:
            os.environ["TMPDIR"] = tempfile.tempdir = name
            for label, command, verdict in verdicts(
                form, Path(name), arguments.every, arguments.first, arguments.shift
            ):
                counts["inputs"] += 1
                counts[f"exit {verdict.code}"] += 1
                if verdict.rule:
                    broken += 1
                    counts[verdict.rule] += 1
                    print(f"{form.name}: {label}: {verdict.rule}: {verdict.detail}")
                    print(f"  ksched {' '.join(command)}"[:1000], flush=True)
                if time.monotonic() > deadline:
                    counts["out of time"] += 1
                    break
            tempfile.tempdir = None
        print(
            f"{form.name:20} " + ", ".join(f"{k}: {n}" for k, n in sorted(counts.items())),
            flush=True,
        )
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
