"""Cases as they lie in a folder, and how two decisions are compared."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

ATTEMPT = (
    "pod", "profile", "preFilter", "filter", "evaluatedNodes", "feasible", "scores", "totals",
    "ties", "node", "reserve", "permit", "claims", "message", "postFilter",
)  # fmt: skip
RUN = ("placements", "pending", "gated", "evicted")
CONFIG = ("profiles", "weights", "args")


OLDEST = "1.34"
GATES_FILE = "feature-gates"
TIMELINE_FILE = "timeline.jsonl"
REPLAYED = ("at", "pod", "result", "node", "nominatedNode", "victims", "message", "rejectedBy")


def expected_file(folder: Path, minor: str = OLDEST) -> Path:
    """What the kube-scheduler of a minor decided."""
    return folder / ("expected.json" if minor == OLDEST else f"expected-{minor}.json")


@dataclass(frozen=True)
class Case:
    folder: Path
    is_config: bool

    @cached_property
    def state(self) -> str:
        return (self.folder / "state.yaml").read_text()

    @property
    def config(self) -> str | None:
        file = self.folder / "config.yaml"
        return file.read_text() if file.exists() else None

    @property
    def gates(self) -> str:
        """What --feature-gates is given."""
        file = self.folder / GATES_FILE
        return file.read_text().strip() if file.exists() else ""

    @property
    def timeline(self) -> str:
        """JSON lines; "" where there is none."""
        file = self.folder / TIMELINE_FILE
        return file.read_text() if file.exists() else ""

    def expected(self, minor: str = OLDEST) -> dict[str, Any]:
        decided: dict[str, Any] = json.loads(expected_file(self.folder, minor).read_text())
        return decided


def families(folder: Path, selected: list[str]) -> dict[str, list[Case]]:
    by_family = {
        family.name: [Case(case, False) for case in sorted(family.iterdir())]
        for family in sorted((folder / "cases").glob("*"))
    }
    by_family["configs"] = [Case(case, True) for case in sorted((folder / "configs").glob("*"))]
    return {name: cases for name, cases in by_family.items() if not selected or name in selected}


def plain(value: Any) -> Any:
    """Drops what is empty and sorts reasons and gated pods, so that only meaning is compared: the
    oracle lists gated pods by name, ksched by creation."""
    if isinstance(value, dict):
        return {
            key: sorted(v) if key in ("reasons", "gated") and v else plain(v)
            for key, v in value.items()
            if v not in (None, "", [], {})
        }
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def first_difference(want: Any, got: Any, path: str) -> str | None:
    if want == got:
        return None
    if isinstance(want, dict) and isinstance(got, dict):
        for key in [*want, *(key for key in got if key not in want)]:
            if key not in want or key not in got:
                return f"{path}.{key}: {short(want.get(key))} or {short(got.get(key))}"
            if difference := first_difference(want[key], got[key], f"{path}.{key}"):
                return difference
        return None
    if isinstance(want, list) and isinstance(got, list):
        for i, pair in enumerate(zip(want, got, strict=False)):
            if difference := first_difference(*pair, f"{path}[{i}]"):
                return difference
        return None if len(want) == len(got) else f"{path}: {len(want)} or {len(got)} items"
    return f"{path}: {short(want)} or {short(got)}"


def short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 200 else text[:197] + "..."


def differs(want: dict[str, Any], got: dict[str, Any], is_config: bool) -> str | None:
    """Says where the second differs from the first, as conformance/README.md compares them."""
    if is_config:
        return differs_config(want, got)
    wants, gots = want.get("attempts") or [], got.get("attempts") or []
    for i, (w, g) in enumerate(zip(wants, gots, strict=False)):
        path = f"attempts[{i}]({w['pod']})"
        if w["pod"] != g.get("pod"):
            return f"{path}.pod: {short(w['pod'])} or {short(g.get('pod'))}"
        if w.get("error") or g.get("error"):
            if not (w.get("error") and g.get("error")):
                return f"{path}.error: {short(w.get('error'))} or {short(g.get('error'))}"
        elif difference := first_difference(only(ATTEMPT, w), only(ATTEMPT, g), path):
            return difference
    if len(wants) != len(gots):
        return f"{len(wants)} or {len(gots)} attempts"
    return first_difference(only(RUN, want), only(RUN, got), "result")


def differs_replay(want: dict[str, Any], got: dict[str, Any]) -> str | None:
    """The attempts in their order, and where the pods wait at the end."""
    wants, gots = (
        # That a pod waits for its gang is for the oracle no end of an attempt.
        [attempt for attempt in side["attempts"] if attempt["result"] != "waiting"]
        for side in (want, got)
    )
    for i, (w, g) in enumerate(zip(wants, gots, strict=False)):
        path = f"attempts[{i}]({w['pod']} at {w['at']})"
        if difference := first_difference(only(REPLAYED, w), only(REPLAYED, g), path):
            return difference
    if len(wants) != len(gots):
        shorter, longer = sorted((wants, gots), key=len)
        return f"attempts: {len(wants)} or {len(gots)}, then {short(longer[len(shorter)])}"
    want_queues, got_queues = (
        {name: sorted(pods) for name, pods in side["queues"].items() if pods}
        for side in (want, got)
    )
    return first_difference(want_queues, got_queues, "queues")


def differs_config(want: dict[str, Any], got: dict[str, Any]) -> str | None:
    """The error's words count where the configuration could be read; its stage does not."""
    if bool(want.get("stage")) != bool(got.get("stage")):
        return f"config.accepted: {short(want.get('error'))} or {short(got.get('error'))}"
    keys: tuple[str, ...] = CONFIG
    if want.get("stage"):
        keys = ("error",) if want["stage"] in ("validate", "framework") else ()
    return first_difference(only(keys, want), only(keys, got), "config")


def only(keys: tuple[str, ...], value: dict[str, Any]) -> dict[str, Any]:
    compared: dict[str, Any] = plain({key: value.get(key) for key in keys})
    return compared
