#!/usr/bin/env python3
"""Keeps the fewest texts that libFuzzer found which reach all lines that any of them reaches.

    coverage_guided.py FUNCTION FOLDER -max_total_time=600
    grow_corpus.py FUNCTION FOLDER

writes corpus/texts/FUNCTION.jsonl anew, a text a line, from what was there and what is in FOLDER;
texts past 200 bytes are left out. run_fuzz.py reads each of them, and makes others of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

# tests/ is a package, its folders `fuzz` and `oracle` have scripts.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "oracle"))

from functions import FUNCTIONS, Function
from texts import grown_texts, write_grown_texts

LENGTH_MAX = 200
BY_NAME = {function.name: function for function in FUNCTIONS if function.corpus is not None}
Step = tuple[str, int, int]


def steps_of(function: Function, text: str) -> set[Step]:
    """From which line to which, by file, ksched goes while it reads a text."""
    steps: set[Step] = set()
    last: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if "ksched_cli" not in file:
            return None
        steps.add((file, last.get(frame, 0), frame.f_lineno))
        last[frame] = frame.f_lineno
        return trace

    # A tracer that is there, as that of coverage, goes on afterwards.
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(*function.refusals):
            function.read(text)
    finally:
        sys.settrace(before)
    return steps


def fewest(function: Function, texts: Iterable[str]) -> Iterator[str]:
    """Short ones first; each that goes where none before it went."""
    reached: set[Step] = set()
    for text in sorted(set(texts), key=lambda text: (len(text), text)):
        steps = steps_of(function, text)
        if not steps <= reached:
            reached |= steps
            yield text


def texts_in(folder: Path) -> Iterator[str]:
    for path in folder.iterdir():
        with suppress(UnicodeDecodeError):
            text = path.read_bytes().decode()
            if len(text) <= LENGTH_MAX:
                yield text


def main() -> None:
    if len(sys.argv) != 3 or sys.argv[1] not in BY_NAME:
        raise SystemExit(f"{__doc__}\nFUNCTION is one of: {', '.join(BY_NAME)}")
    name, folder = sys.argv[1:]
    texts = list(fewest(BY_NAME[name], (*grown_texts(name), *texts_in(Path(folder)))))
    write_grown_texts(name, texts)
    print(f"{name}: {len(texts)} texts, {sum(map(len, texts)):,} characters")


if __name__ == "__main__":
    main()
