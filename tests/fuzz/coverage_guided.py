#!/usr/bin/env python3
"""The functions that read texts, with inputs that an engine finds by the code that they reach.

    coverage_guided.py FUNCTION [FOLDER]... [libFuzzer's options, as -max_total_time=600]

Needs atheris (`pip install atheris`), which has wheels for some versions of Python only. What it
finds is kept in the first FOLDER; grow_corpus.py keeps the fewest of it in git. Ends with the first
input that breaks a rule, which it writes to a file.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import atheris

# tests/ is a package, its folders `fuzz` and `oracle` have scripts.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "oracle"))

with atheris.instrument_imports(include=["ksched_cli"]):
    from functions import FUNCTIONS, Function

BY_NAME = {function.name: function for function in FUNCTIONS if function.corpus is not None}
LENGTH_MAX = 20_000


def seed_corpus(function: Function, folder: Path) -> None:
    """Writes what the function is tried with otherwise, a file each."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = function.corpus() if function.corpus is not None else ()
    for index, text in enumerate(texts):
        (folder / f"seed-{index:04d}").write_text(text)


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in BY_NAME:
        raise SystemExit(f"{__doc__}\nFUNCTION is one of: {', '.join(BY_NAME)}")
    name, *options = sys.argv[1:]
    function = BY_NAME[name]
    folders = [option for option in options if not option.startswith("-")]
    folders = folders or [tempfile.mkdtemp()]
    seed_corpus(function, Path(folders[0]))
    refusals: tuple[type[Exception], ...] = (UnicodeDecodeError, *function.refusals)
    warnings.simplefilter("error", RuntimeWarning)

    def read(data: bytes) -> None:
        with suppress(*refusals):
            function.read(data.decode())

    limits = ["-timeout=10", "-rss_limit_mb=2000", f"-max_len={LENGTH_MAX}"]
    flags = [option for option in options if option.startswith("-")]
    atheris.Setup([sys.argv[0], *folders, *limits, *flags], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
