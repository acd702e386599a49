"""`ksched replay --from-now`: when pending pods start, worked out by hand.

A node of one core. It is 01:00:00. `runs-0` of the Job `long` has run for 100 s on it; pods of the
Job before ran for 300 s, so that it ends at 200 s from now. Among the pending ones `next-0`,
another one of `long`, is older: it starts then and runs for 300 s. `last-0`, of another Job,
starts at 500 s.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import Manifest, node
from tests.commands.runners import Ksched, WriteState

DAY = "2026-11-23T"


def job_pod(name: str, job: str, created: str, **fields: Any) -> Manifest:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": job, "controller": True}
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": name,
        "creationTimestamp": f"{DAY}{created}Z",
        "ownerReferences": [owner],
    }
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], **fields.pop("spec", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **fields}


def running(name: str, job: str, since: str, **spec: Any) -> Manifest:
    status = {"phase": "Running", "startTime": f"{DAY}{since}Z"}
    return job_pod(name, job, since, spec={"nodeName": "n", **spec}, status=status)


def finished(name: str, job: str, since: str, until: str) -> Manifest:
    terminated = {"exitCode": 0, "finishedAt": f"{DAY}{until}Z"}
    statuses = [{"name": "c", "state": {"terminated": terminated}}]
    status = {
        "phase": "Succeeded",
        "startTime": f"{DAY}{since}Z",
        "containerStatuses": statuses,
    }
    return job_pod(name, job, since, spec={"nodeName": "n"}, status=status)


HISTORY = [finished("done-0", "long", "00:10:00", "00:15:00")]
QUEUE = [
    job_pod("next-0", "long", "00:59:00"),
    job_pod("last-0", "other", "01:00:00"),
]


def look(ksched: Ksched, *args: object) -> tuple[int, dict[str, Any]]:
    code, out, err = ksched("replay", "--from-now", *args, "-o", "json")
    assert out, err
    return code, json.loads(out)


def starts(document: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    return {each["pod"].partition("/")[2]: (each["p50"], each["p90"]) for each in document["pods"]}


def test_pods_start_as_worked_out_by_hand(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("n", cpu="1"), running("runs-0", "long", "00:58:20"), *HISTORY, *QUEUE)
    code, document = look(ksched, "--state", state, "--seeds", "3")
    assert code == 0
    assert document["now"] == f"{DAY}01:00:00Z"
    assert starts(document) == {"next-0": (200, 200), "last-0": (500, 500)}
    assert [
        (each["owner"], each["running"], each["basis"], each["samples"])
        for each in document["assumptions"]
    ] == [
        ("default/Job/long", False, "history", 1),
        ("default/Job/long", True, "history", 1),
        ("default/Job/other", False, "none", 0),
    ]
    code, out, _ = ksched("replay", "--from-now", "--state", state, "--seeds", "3")
    assert code == 0
    assert out.splitlines() == [
        "2 of 2 pending pods start in nine of ten draws (3 draws from 2026-11-23T01:00:00Z on)",
        "",
        "Pending pods",
        "POD             STARTS IN (P50)     P90  IN DRAWS",
        "default/next-0           3m 20s  3m 20s      100%",
        "default/last-0           8m 20s  8m 20s      100%",
        "",
        "Assumed",
        "1 pending pod of default/Job/long ends as its 1 finished pod did",
        "1 running pod of default/Job/long ends as its 1 finished pod did",
        "1 pending pod without a known run time stays once placed",
    ]
    code, page, _ = ksched("replay", "--from-now", "--state", state, "-o", "html")
    assert (code, "Pending pods" in page, "3m 20s" in page) == (0, True, True)


def test_a_deadline_is_the_latest_end(ksched: Ksched, write_state: WriteState) -> None:
    """100 of 150 s are over. The Job's own deadline of 130 s, whose time began 10 s earlier, leaves
    20."""
    pods = [running("runs-0", "long", "00:58:20", activeDeadlineSeconds=150), *QUEUE]
    state = write_state(node("n", cpu="1"), *pods)
    _, document = look(ksched, "--state", state, "--seeds", "2")
    assert starts(document)["next-0"] == (50, 50)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "long", "namespace": "default", "uid": "long"},
        "spec": {"activeDeadlineSeconds": 130, "parallelism": 2, "completions": 2},
        "status": {"startTime": f"{DAY}00:58:10Z"},
    }
    state = write_state(node("n", cpu="1"), *pods, *HISTORY, job)
    _, document = look(ksched, "--state", state, "--seeds", "2")
    assert starts(document)["next-0"] == (20, 20)


def test_pods_of_which_nothing_is_known_stay(ksched: Ksched, write_state: WriteState) -> None:
    """It has run for longer than any before."""
    pods = [running("runs-0", "long", "00:50:00"), *HISTORY, *QUEUE]
    code, document = look(ksched, "--state", write_state(node("n", cpu="1"), *pods))
    assert code == 1
    assert starts(document) == {"next-0": (None, None), "last-0": (None, None)}
    assert {each["started"] for each in document["pods"]} == {0}
    assert "Insufficient cpu" in document["pods"][0]["message"]


def test_a_history_has_quantiles_over_draws(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    """After 100 s the pods of 150, 200 and 900 s are left: 50, 100 and 800 s more, as likely each.
    The one of 60 s would have ended."""
    history = tmp_path / "week.jsonl"
    pod = QUEUE[0]
    events = [
        {"at": 0, "pod": {**pod, "metadata": {**pod["metadata"], "name": f"p{t}", "uid": f"p{t}"}}}
        | {"runsFor": t}
        for t in (150, 900, 60, 200)
    ]
    header = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    history.write_text("\n".join(map(json.dumps, (header, *events))) + "\n")
    state = write_state(node("n", cpu="1"), running("runs-0", "long", "00:58:20"), *QUEUE)
    args = ("--state", state, "--history", history, "--seeds", "40")
    _, document = look(ksched, *args)
    assert starts(document)["next-0"] == (100, 800)
    assert look(ksched, *args)[1] == document
    assert look(ksched, *args, "--until", "90")[1]["pods"][0]["p50"] is None


def test_a_timeline_says_what_comes_from_now_on(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    timeline = tmp_path / "later.yaml"
    put = json.dumps({**node("m", cpu="1"), "apiVersion": "v1", "kind": "Node"})
    timeline.write_text(
        f"apiVersion: ksched/v1\nkind: Timeline\nevents:\n- {{at: '{DAY}01:00:40Z', put: {put}}}\n"
        "start: 2026-11-23T00:00:00Z\n"
    )
    state = write_state(node("n", cpu="1"), running("runs-0", "x", "00:58:20"), *QUEUE)
    code, document = look(ksched, timeline, "--state", state)
    assert code == 1
    assert starts(document) == {"next-0": (40, 40), "last-0": (None, None)}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ((), "replay requires a TIMELINE or --from-now"),
        (("t.yaml", "--history", "h"), "--history has no effect without --from-now"),
        (("--from-now", "--save-state", "s.json"), "--from-now cannot be combined with"),
    ],
)
def test_options_that_do_not_go_together(
    args: tuple[str, ...], problem: str, ksched: Ksched, write_state: WriteState
) -> None:
    code, out, err = ksched("replay", *args, "--state", write_state(node("n")))
    assert (code, out, problem in err) == (2, "", True), err
