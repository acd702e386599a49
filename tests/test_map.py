"""The answers that a newcomer looks for are at most three clicks away from README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
MAP = "docs/index.md"


# The question → the links to click, each of the page before, and what the last page has.
PATHS = {
    "what exit codes mean": (["docs/commands.md#exit-codes"], "## Exit codes"),
    "a filter plugin with args": (["docs/first-plugin.md"], "args = PackingArgs"),
    "what differs in 1.36": (["docs/kubernetes-versions.md"], "| 1.36 |"),
    "how to redact": ([MAP, "docs/get-the-data.md#redact-it"], "--redact"),
    "what put does": ([MAP, "docs/replay.md#timelines"], "| `put` |"),
    "the JSON schema of explain": (["docs/files.md", "schemas/explanation.json"], "Explanation"),
    "how to sweep": ([MAP, "docs/sweeps.md"], "kind: Sweep"),
    "why two runs differ by ties": ([MAP, "docs/exactness.md#ties"], "## Ties"),
}


@pytest.mark.parametrize("question", PATHS)
def test_an_answer_is_three_clicks_from_the_readme(question: str) -> None:
    clicks, text = PATHS[question]
    assert len(clicks) <= 3
    page = ROOT / "README.md"
    for click in clicks:
        path, _, anchor = click.partition("#")
        links = [link.partition("#") for link in LINK.findall(page.read_text(encoding="utf-8"))]
        assert (ROOT / path, anchor) in {
            ((page.parent / target).resolve(), name if anchor else "") for target, _, name in links
        }, f"{page.name} has no link to {click}"
        page = ROOT / path
    assert text in page.read_text(encoding="utf-8")
