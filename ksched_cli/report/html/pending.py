"""The page of all pods that stay pending: a block for each group, with its reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ksched_cli.report.html.columns import column
from ksched_cli.report.html.explanation import REASON_HEADERS, reason_row
from ksched_cli.report.html.sections import Grid, Group, Groups, Page, Section, Tile
from ksched_cli.report.owners import group_name, shared_owner
from ksched_cli.report.table import counted

NAMED_PODS = 20


def page(document: Mapping[str, Any], headline: str, figures: Mapping[str, Any]) -> Page:
    """headline: the counts, as in the table"""
    summary, groups = document["summary"], document["groups"]
    tiles = [
        Tile("pending", f"{summary['pending']:,}", "bad" if summary["pending"] else "good"),
        Tile("gated", f"{summary['gated']:,}", "warn" if summary["gated"] else ""),
        Tile("left out", f"{summary['ignored']:,}"),
        Tile("nodes", f"{summary['nodes']:,}"),
    ]
    sections: list[Section] = []
    if groups:
        sections.append(Groups("Why they wait", [_group(group) for group in merged(groups)]))
        sections.append(_pods(document))
    title = "No pod stays pending"
    if groups:
        verb = "stays" if summary["pending"] == 1 else "stay"
        title = f"{counted(summary['pending'], 'pod')} {verb} pending"
    return Page(title, (), tiles, sections)


def merged(groups: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Groups as the table has them: pods of one namespace without a controller that stay pending
    with the same message are one, with the reasons of the first; those of the most pods first."""
    by_key: dict[object, dict[str, Any]] = {}
    for group in groups:
        key = (_owner(group), group["message"], group["undecided"])
        first = by_key.setdefault(key, {**group, "pods": []})
        first["pods"].extend(group["pods"])
    return sorted(by_key.values(), key=lambda group: -len(group["pods"]))


def _owner(group: Mapping[str, Any]) -> str:
    return shared_owner(f"{group['namespace']}/{group['owner']}")


def _group(group: Mapping[str, Any]) -> Group:
    pods = group["pods"]
    heading = group_name(_owner(group), pods)
    if heading not in pods:
        heading = f"{counted(len(pods), 'pod')} of {heading}"
    return Group(
        heading,
        group["message"],
        "cannot be decided" if group["undecided"] else "pending",
        "bad",
        REASON_HEADERS if group["reasons"] else (),
        [reason_row(reason) for reason in group["reasons"]],
        pods[:NAMED_PODS],
        len(pods),
    )


def _pods(document: Mapping[str, Any]) -> Grid:
    rows = [(pod, group) for group in document["groups"] for pod in group["pods"]]
    columns = [
        column("Pod", [pod for pod, _ in rows]),
        column("Owner", [_owner(group) for _, group in rows]),
        column("Message", [group["message"] for _, group in rows]),
    ]
    return Grid("Table of pods", "pods", columns)
