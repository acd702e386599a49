"""Attempts as the conformance format has them: what `schedule --trace` adds to its JSON."""

from __future__ import annotations

from typing import Any

from ksched_cli.engine.records import Attempt, PostFilterRecord
from ksched_cli.framework.status import Status


def attempt(record: Attempt) -> dict[str, Any]:
    """Empty fields are left out, but for evaluatedNodes."""
    detail = record.detail
    fields: dict[str, Any] = {
        "pod": record.pod,
        "profile": record.profile,
        "preFilter": record.pre_filter and status(record.pre_filter),
        "filter": {node: status(rejection) for node, rejection in detail.filter.items()},
        "evaluatedNodes": record.evaluated,
        "feasible": list(detail.feasible),
        "scores": _scores(record),
        "totals": dict(sorted(detail.totals.items())),
        "ties": list(record.ties),
        "node": record.node,
        "reserve": record.reserve and status(record.reserve),
        "permit": record.permit and status(record.permit),
        "waitedSeconds": record.waited,
        "bind": record.bind and status(record.bind),
        "claims": {claim: list(devices) for claim, devices in record.claims.items()},
        "notes": record.notes and dict(record.notes),
        "message": record.message,
        "postFilter": record.post_filter and _post_filter(record.post_filter),
        "error": record.error,
    }
    return {
        key: value
        for key, value in fields.items()
        if key == "evaluatedNodes" or value not in (None, "", [], {})
    }


def status(value: Status) -> dict[str, Any]:
    """Without `plugin` where none is named, as of an extender."""
    plugin: dict[str, Any] = {"plugin": value.plugin} if value.plugin else {}
    return plugin | {"code": value.code.text, "reasons": list(value.reasons)}


def _scores(record: Attempt) -> dict[str, dict[str, int]]:
    """node → plugin → weighted score."""
    return {
        node: {source: score.weighted for source, score in record.detail.scores[node].items()}
        for node in record.detail.feasible
        if node in record.detail.scores
    }


def _post_filter(record: PostFilterRecord) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "code": record.status.code.text,
        "message": record.status.message,
        "node": record.node,
        "ties": list(record.ties),
        "victims": list(record.victims),
        "candidates": {
            node: {"victims": list(candidate.victims), "pdbViolations": candidate.pdb_violations}
            for node, candidate in record.candidates.items()
        },
    }
    return {key: value for key, value in fields.items() if value not in ("", [], {})}
