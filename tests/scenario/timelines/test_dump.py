"""Pods of a dump as a timeline, with the times at which they came and how long they ran."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.scenario.timelines.dump import timeline_of_dump

Plain = dict[str, Any]


def pod(name: str, created: str, status: Plain | None = None, **metadata: Any) -> Plain:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "a", "creationTimestamp": created, **metadata},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "env": [{"name": "SECRET"}]}]},
        "status": status or {"phase": "Running"},
    }


def finished(begin: str, *ends: str, **status: Any) -> Plain:
    statuses = [{"name": "c", "state": {"terminated": {"finishedAt": end}}} for end in ends]
    return {"phase": "Succeeded", "startTime": begin, "containerStatuses": statuses, **status}


def events(folder: Path, *items: Plain) -> tuple[Plain, list[Plain]]:
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return timeline_of_dump([str(path)])


def test_pods_come_when_they_were_created_and_run_as_long_as_they_did(tmp_path: Path) -> None:
    ends = ("2026-01-01T00:02:00Z", "2026-01-01T00:02:40Z")
    static = {"annotations": {"kubernetes.io/config.mirror": "x"}}
    header, (done, runs) = events(
        tmp_path,
        pod("done", "2026-01-01T00:00:30Z", finished("2026-01-01T00:00:40Z", *ends)),
        pod("runs", "2026-01-01T00:01:00Z"),
        pod("static", "2026-01-01T00:00:00Z", **static),
    )
    assert header["start"] == "2026-01-01T00:00:30Z"
    assert (done["at"], done["pod"]["metadata"]["name"], done["runsFor"]) == (0, "done", 120)
    assert (runs["at"], runs["pod"]["metadata"]["name"]) == (30, "runs")
    assert "runsFor" not in runs
    assert runs["pod"]["spec"] == {"containers": [{"name": "c"}]}


def test_a_pod_ran_from_when_it_had_a_node(tmp_path: Path) -> None:
    time = "2026-01-01T00:00:35Z"
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": time}]
    status = finished("2026-01-01T00:00:40Z", "2026-01-01T00:01:35Z", conditions=conditions)
    _, (event,) = events(tmp_path, pod("done", "2026-01-01T00:00:30Z", status))
    assert event["runsFor"] == 60


def test_pods_of_one_name_follow_each_other(tmp_path: Path) -> None:
    _, (first, deletion, second) = events(
        tmp_path,
        pod("web-0", "2026-01-01T00:01:00Z", uid="2"),
        pod("web-0", "2026-01-01T00:00:00Z", uid="1"),
        pod("web-0", "2026-01-01T00:00:00Z", uid="1"),  # in another dump, too
    )
    assert [first["at"], deletion["at"], second["at"]] == [0, 60, 60]
    assert deletion["delete"] == {"kind": "Pod", "namespace": "a", "name": "web-0"}


def test_volumes_that_no_plugin_reads_do_not_make_pods_differ(tmp_path: Path) -> None:
    token: Plain = {"name": "kube-api-access-x7k2p", "projected": {"sources": []}}
    claim: Plain = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    items = [pod("a", "2026-01-01T00:00:00Z"), pod("b", "2026-01-01T00:00:00Z")]
    items[0]["spec"]["volumes"], items[1]["spec"]["volumes"] = [token], [token, claim]
    _, (without, with_claim) = events(tmp_path, *items)
    assert "volumes" not in without["pod"]["spec"]
    assert with_claim["pod"]["spec"]["volumes"] == [claim]


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}, "it has no pods"),
        ({"kind": "Pod", "metadata": {"name": "p"}}, "Pod default/p: it has no creationTimestamp"),
        (pod("p", "yesterday"), 'Pod a/p: metadata.creationTimestamp: "yesterday" is not a time'),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, item: Plain, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        events(tmp_path, item)
