#!/usr/bin/env python3
"""Draws who imports whom into docs/architecture.md, from the code.

    draw_imports.py            writes the picture between the marks
    draw_imports.py --check    exit 1 where the picture is not the one the code gives

An arrow from one room to another means that a module of the first imports one of the second. Arrows
that follow from others are left out: a → c where a → b → c is drawn.
"""

from __future__ import annotations

import sys
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path(__file__).with_name("architecture.md")
BEGIN, END = "<!-- imports: drawn by docs/draw_imports.py -->", "<!-- /imports -->"
PACKAGE = "ksched_cli"
# What plugin authors and users start from stands above the rooms, and is not one.
ENTRANCES = {"__main__", "api", "testing", "schemas"}

Graph = dict[str, set[str]]


def rooms() -> Graph:
    """Each direct child of the package, and those that it imports."""
    graph = grimp.build_graph(PACKAGE, include_external_packages=False)
    children = sorted(graph.find_children(PACKAGE))
    names = {child: child.removeprefix(f"{PACKAGE}.") for child in children}
    imports: Graph = {name: set() for name in names.values() if name not in ENTRANCES}
    for module in graph.modules:
        importer = _room(module)
        if importer not in imports:
            continue
        for imported in graph.find_modules_directly_imported_by(module):
            room = _room(imported)
            if room in imports and room != importer:
                imports[importer].add(room)
    return imports


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def reduced(graph: Graph) -> Graph:
    """Without the arrows that follow from others. graph: without circles."""

    def reach(room: str) -> set[str]:
        return graph[room].union(*(reach(other) for other in graph[room]))

    return {
        room: targets - set().union(*(reach(target) for target in targets))
        for room, targets in graph.items()
    }


def picture() -> str:
    """A Mermaid flow chart, as GitHub shows it."""
    graph = rooms()
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    {room}["{_label(room)}"]' for room in sorted(graph)]
    for room, targets in sorted(reduced(graph).items()):
        lines += [f"    {room} --> {target}" for target in sorted(targets)]
    lines.append("```")
    return "\n".join(lines)


def _label(room: str) -> str:
    return f"{room}/" if (ROOT / PACKAGE / room).is_dir() else f"{room}.py"


def main() -> int:
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    drawn = f"{before}{BEGIN}\n{picture()}\n{END}{after}"
    if "--check" in sys.argv[1:]:
        if drawn == text:
            return 0
        print(f"{PAGE.name} is out of date: run docs/draw_imports.py", file=sys.stderr)
        return 1
    PAGE.write_text(drawn, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
