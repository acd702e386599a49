"""Showing a page in the browser."""

from __future__ import annotations

import sys
from pathlib import Path

from ksched_cli.errors import OutputError

NAME = "page.html"


def show_page(text: str) -> None:
    """Writes the page to a folder of its own, which stays, and has the browser show it; says where
    it is. Raises OutputError."""
    import tempfile
    import webbrowser

    try:
        path = _write(Path(tempfile.mkdtemp(prefix="ksched-")), text)
    except OSError as error:
        raise OutputError(error) from None
    if webbrowser.open(path.as_uri()):
        print(f"the page is {path}", file=sys.stderr)
    else:
        print(f"warning: there is no browser to show it; the page is {path}", file=sys.stderr)


def _write(folder: Path, text: str) -> Path:
    """Whole, or not at all: a browser never sees half of it."""
    part = folder / f"{NAME}.part"
    part.write_text(text + "\n", encoding="ascii")
    return part.rename(folder / NAME)
