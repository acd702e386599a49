#!/usr/bin/env python3
"""Draws docs/terminal.svg, README's picture: commands in a terminal, in its colours.

draw_terminal.py            runs the commands and writes the picture
draw_terminal.py --check    exit 1 where the commands print something else now
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = Path(__file__).with_name("terminal.svg")
FOLDER = ROOT / "examples" / "first-cluster"  # where ksched finds the state by its name
COMMANDS = ("explain too-big", "explain web-2")
COLUMNS = 92

# In pixels: a column, a line, what is around the text, and the bar above it.
WIDTH, HEIGHT, MARGIN, BAR = 8.0, 19, 18, 34
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "1": "#ffffff", "2": "#8b949e"}
ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


def printed(command: str) -> str:
    """What ksched prints in a terminal of so many columns, without what goes to standard error."""
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "ksched_cli", *command.split(), "--no-pager"],
        cwd=FOLDER,
        stdout=writer,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "", "PYTHONPATH": str(ROOT)},
    )
    os.close(writer)
    text = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # Linux's word for the end of a pseudo-terminal
            break
        if not part:
            break
        text += part
    process.wait()
    return text.decode().replace("\r\n", "\n").rstrip()


def spans(line: str) -> Iterator[tuple[int, str, str]]:
    """The parts of a line that are not blank: the column, the text, the colour's code."""
    column, code = 0, ""
    for index, part in enumerate(ESCAPE.split(line)):
        if index % 2:
            code = part if part not in ("", "0") else ""
            continue
        for word in re.finditer(r"\S+(?: \S+)*", part):
            yield column + word.start(), word[0], code
        column += len(part)


def drawn(lines: list[str]) -> str:
    """The lines as a picture. Each span is stretched to its columns, whatever font there is."""
    width = 2 * MARGIN + COLUMNS * WIDTH
    height = BAR + MARGIN + len(lines) * HEIGHT
    texts = [
        f'<text x="{MARGIN + column * WIDTH:g}" y="{BAR + (row + 1) * HEIGHT - 5}" '
        f'textLength="{len(text) * WIDTH:g}" lengthAdjust="spacingAndGlyphs"'
        f"{_fill(code)}>{escape(text)}</text>"
        for row, line in enumerate(lines)
        for column, text, code in spans(line)
    ]
    dots = [
        f'<circle cx="{MARGIN + 6 + 20 * index}" cy="17" r="6" fill="{fill}"/>'
        for index, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img" '
            f'aria-label="ksched explain in a terminal">',
            f'<rect width="{width:g}" height="{height}" rx="8" fill="#0d1117"/>',
            *dots,
            '<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" '
            'fill="#e6edf3" xml:space="preserve">',
            *texts,
            "</g></svg>\n",
        )
    )


def _fill(code: str) -> str:
    colour = next((COLOURS[part] for part in code.split(";") if part in COLOURS), "")
    return f' fill="{colour}"' if colour else ""


def main() -> int:
    lines: list[str] = []
    for command in COMMANDS:
        lines += ["", f"\x1b[2m$\x1b[0m \x1b[1mksched {command}\x1b[0m"]
        lines += printed(command).splitlines()
    picture = drawn(lines[1:])
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(picture, encoding="utf-8")
        return 0
    if PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == picture:
        return 0
    print(f"{PICTURE} is out of date: python docs/draw_terminal.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
