"""The page of a validation: the findings, and what kube-scheduler itself would say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ksched_cli.report.html.sections import Group, Groups, Page, Prose, Section, Tile
from ksched_cli.report.table import counted

TONES = {"error": "bad", "warning": "warn", "info": ""}


def page(document: Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """headline: the file and the verdict"""
    title, *lede = headline.split("\n")
    counts = Counter(finding["severity"] for finding in document["findings"])
    tiles = [Tile("valid", "yes" if document["valid"] else "no",
                  "good" if document["valid"] else "bad")]  # fmt: skip
    tiles += [
        Tile(f"{severity}s" if severity != "info" else severity, f"{counts[severity]:,}",
             tone if counts[severity] else "")
        for severity, tone in TONES.items()
    ]  # fmt: skip
    return Page(title, lede, tiles, _sections(document, ""))


def page_of_files(document: Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """Of several files; the sections of each are headed by its path."""
    files = document["files"]
    valid = sum(file["valid"] for file in files)
    sections: list[Section] = []
    for file in files:
        text = "valid" if file["valid"] else "not valid"
        sections.append(Prose(file["path"], [text], "" if file["valid"] else "bad"))
        sections += _sections(file, f"{file['path']}: ")
    title = f"{valid:,} of {counted(len(files), 'file')} valid"
    return Page(title, headline.split("\n"), (), sections)


def _sections(document: Mapping[str, Any], begin: str) -> list[Section]:
    sections: list[Section] = []
    verdict = document["kubeScheduler"]
    if not verdict["accepts"]:
        outcome = "crashes" if verdict["stage"] == "panic" else f"refuses it at {verdict['stage']}"
        text = [verdict["error"] or ""]
        sections.append(Prose(f"{begin}kube-scheduler {verdict['version']} {outcome}", text, "bad"))
    if document["findings"]:
        groups = [_group(finding) for finding in document["findings"]]
        sections.append(Groups(f"{begin}Findings", groups, opened=len(groups)))
    return sections


def _group(finding: Mapping[str, Any]) -> Group:
    where = f"line {finding['line']}, column {finding['column']}: " if finding["line"] else ""
    hint = f"\n{finding['hint']}" if finding["hint"] else ""
    return Group(
        f"{where}{finding['path'] or 'the file'}",
        f"{finding['message']}{hint}",
        finding["severity"],
        TONES[finding["severity"]],
        names=(finding["rule"],),
    )
