#!/usr/bin/env python3
"""Copies docs/ for the site: links that leave it lead to the repository, lists begin after a blank
line, and code in tables has plain bars, as Python's Markdown wants them.

    site.py FOLDER
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path, PurePosixPath

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
OUTSIDE = re.compile(r"\]\((?P<path>\.\./[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
CODE = re.compile(r"`[^`\n]*`")
LIST = re.compile(r"^(?P<before>(?!\s*(?:[-*]|\d+\.) |\s*\||#|>|<)\S.*)\n(?=(?:[-*]|\d+\.) )", re.M)


def main() -> None:
    (folder,) = map(Path, sys.argv[1:])
    source = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for page in folder.glob("*.md"):
        page.write_text(for_site(page.read_text(encoding="utf-8"), source), encoding="utf-8")


def for_site(text: str, source: str) -> str:
    """The page with its code blocks as they are. source: the repository's address"""
    parts = [
        part if index % 2 else _prose(part, source)
        for index, part in enumerate(re.split(f"({FENCE.pattern})", text, flags=re.M | re.S))
    ]
    return "".join(parts)


def _prose(text: str, source: str) -> str:
    def in_repository(match: re.Match[str]) -> str:
        path = PurePosixPath(match["path"].removeprefix("../"))
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({source}/{kind}/main/{path}{match['anchor'] or ''})"

    text = CODE.sub(lambda code: code[0].replace("\\|", "|"), text)
    return LIST.sub(r"\g<before>\n\n", OUTSIDE.sub(in_repository, text))


if __name__ == "__main__":
    main()
