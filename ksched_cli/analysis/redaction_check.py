"""The check that a redacted state is decided as the state that it was made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ksched_cli.engine.records import RunRecord

Rename = Callable[[str], str]


def redaction_differences(
    run: RunRecord, redacted_run: RunRecord, pod: Rename, node: Rename
) -> list[str]:
    """Return the pods, by their own names, whose outcome differs: another node, pending, gated,
    evicted or not. pod, node: from a pod's key or a node's name to the redacted one."""
    fates, redacted_fates = _fates(run, node), _fates(redacted_run, str)
    renamed = {pod(key): key for key in fates}
    differing = [key for code, key in renamed.items() if redacted_fates.get(code) != fates[key]]
    return [*differing, *(code for code in redacted_fates if code not in renamed)]


def _fates(run: RunRecord, node: Rename) -> dict[str, tuple[str, str, bool]]:
    """Return, by pod, its outcome, its node, and whether it was evicted."""
    evicted = {eviction.pod for eviction in run.evicted}

    def all_of(pods: Iterable[str], what: str) -> dict[str, tuple[str, str, bool]]:
        return {key: (what, "", key in evicted) for key in pods}

    placed = {key: ("placed", node(name), key in evicted) for key, name in run.placements.items()}
    others = {eviction.pod: ("evicted", "", True) for eviction in run.evicted}
    return {**others, **all_of(run.pending, "pending"), **all_of(run.gated, "gated"), **placed}
