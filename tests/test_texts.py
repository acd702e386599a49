"""What a machine can find in prose: phrases that read badly, dead links, a README that grows."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = (".py", ".md", ".yaml", ".yml", ".html", ".js", ".toml", "")
# A release's section says what one can do now; details are in the docs.
CHANGELOG_LINES = 90
# One screen of what and why, installation, five questions with answers, links.
README_LINES = 200

# A phrase, and what to write instead.
PHRASES = {
    r"unless told": "by default",
    r"(?:go|goes|going|gone|went) on with": "resumes, continues",
    r"has it that": "says",
    r"takes? part\b": "runs, counts",
    r"does not go with": "cannot be combined with",
    r"exclude each other": "cannot be combined with",
    r"does nothing (?:with|without|here)": "has no effect, requires",
    r"stands? where": "expected Y, got X",
    r"as [\w-]+ has (?:it|them)\b": "as in X, see X",
    r"that there (?:is|are) not\b": "unknown",
    # The beginning of a text, a sentence or an item: what the sentence is about comes first.
    r'(?:"""|^(?:\s*#|-|\|)? ?|[.!?]\s(?:\s*# )?|\| )Of (?!course)(?=[a-z])': "a subject first",
}
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)\)")


@cache
def _files(*suffixes: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    paths = (ROOT / name for name in listed.split("\0") if name)
    return sorted(p for p in paths if p.suffix in suffixes and p.is_file() and not p.is_symlink())


@cache
def _texts(*, is_lower: bool) -> dict[Path, str]:
    """The text of each file in which a phrase would be read; in small letters, because a search
    that ignores case takes four times as long."""
    if is_lower:
        return {path: text.lower() for path, text in _texts(is_lower=False).items()}
    return {
        path: path.read_text(encoding="utf-8", errors="replace")
        for path in _files(*TEXTS)
        if path != Path(__file__) and "corpus" not in path.parts
    }


PAGES = [path for path in _files(".md") if "tests" not in path.parts]


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_text_has_the_phrase(phrase: str) -> None:
    pattern = re.compile(phrase, re.M)
    places = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.end()) + 1}: {match[0].strip()}"
        for path, text in _texts(is_lower=phrase.islower()).items()
        for match in pattern.finditer(text)
    ]
    assert not places, f'write "{PHRASES[phrase]}" instead'


@cache
def _anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    anchors: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = anchors.get(slug, 0)
        anchors[slug] = count + 1
        if count:
            anchors[f"{slug}-{count}"] = 1
    return frozenset(anchors) | frozenset(re.findall(r'<a (?:id|name)="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    dead = []
    for match in LINK.finditer(text):
        target, _, anchor = match["target"].partition("#")
        if ":" in target:
            continue  # another site
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in _anchors(file)):
            dead.append(match[0])
    assert not dead


def test_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


def test_a_section_of_the_changelog_stays_short() -> None:
    sections = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert [
        section.splitlines()[0] for section in sections if section.count("\n") > CHANGELOG_LINES
    ] == []
