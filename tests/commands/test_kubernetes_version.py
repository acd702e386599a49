"""--kubernetes-version and --feature-gates: whose rules, and where the result says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.kube.versions import MINORS, PREVIEW, release_of
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms

ENVIRONMENT = "KSCHED_KUBERNETES_VERSION"


def with_kubelet(name: str, version: str, **fields: Any) -> dict[str, Any]:
    manifest: dict[str, Any] = node(name, **fields)
    manifest["status"]["nodeInfo"] = {"kubeletVersion": version}
    return manifest


@pytest.fixture
def state(write_state: WriteState) -> str:
    """A pod that fits nowhere for a taint's sake; kubelets of two minors."""
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    tainted = with_kubelet("b", "v1.35.2-eks")
    tainted["spec"]["taints"] = [taint]
    return str(write_state(with_kubelet("a", "v1.34.9", unschedulable=True), tainted, pod("p")))


def schedule(ksched: Ksched, *args: str) -> tuple[dict[str, Any], str]:
    _, out, err = ksched("schedule", "-o", "json", *args)
    assert out, err
    return conforms(json.loads(out), "schedule_result"), err


def message(result: dict[str, Any]) -> str:
    text: str = result["messages"]["default/p"]
    return text


def test_the_minor_of_the_option_decides(ksched: Ksched, state: str) -> None:
    named, _ = schedule(ksched, "--state", state, "--kubernetes-version", "1.34")
    unnamed, err = schedule(ksched, "--state", state, "--kubernetes-version", "1.36")
    assert "untolerated taint {gpu: yes}" in message(named)
    assert "untolerated taint(s)" in message(unnamed)
    assert (named["kubernetesVersion"], unnamed["kubernetesVersion"]) == ("v1.34.1", "v1.36.3")
    assert "kubernetesVersionFrom" not in unnamed
    assert "Kubernetes" not in err


def test_without_it_the_newest_kubelet_decides_and_the_result_says_so(
    ksched: Ksched, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENVIRONMENT)
    result, err = schedule(ksched, "--state", state)
    assert result["kubernetesVersion"] == "v1.35.2"
    assert result["kubernetesVersionFrom"] == "the newest kubelet of the nodes is v1.35.2-eks"
    assert (
        err.splitlines()[0] == "Kubernetes 1.35.2 (the newest kubelet of the nodes is v1.35.2-eks)"
    )


@pytest.mark.parametrize(("kubelet", "minor"), [("v1.31.4", MINORS[0]), ("v1.99.0", MINORS[-1])])
def test_a_kubelet_of_a_minor_that_it_does_not_know_is_warned_of(
    ksched: Ksched,
    write_state: WriteState,
    monkeypatch: pytest.MonkeyPatch,
    kubelet: str,
    minor: str,
) -> None:
    monkeypatch.delenv(ENVIRONMENT)
    path = str(write_state(with_kubelet("a", kubelet), pod("p")))
    warning = (
        f"the newest kubelet of the nodes is {kubelet}, but ksched knows only Kubernetes "
        f"{MINORS[0]} to {MINORS[-1]}: the rules of {minor} apply"
    )
    result, err = schedule(ksched, "--state", path)
    assert result["warnings"] == [warning]
    assert f"warning: {warning}\n" in err
    origin = f"nearest to {kubelet}, the newest kubelet of the nodes"
    if minor == PREVIEW:
        origin += "; a beta, and the release may decide otherwise"
    assert (result["kubernetesVersion"], result["kubernetesVersionFrom"]) == (
        release_of(minor).version,
        origin,
    )
    for command in (["explain", "p"], ["capacity", "p"], ["drift"], ["compare"]):
        vs = ["--vs"] if command == ["compare"] else []
        assert ksched(*command, "--state", path, *vs)[2].count(warning) == 1
    assert schedule(ksched, "--state", path, "--kubernetes-version", minor)[0]["warnings"] == []


def test_the_page_names_the_newest_kubelet(
    ksched: Ksched, write_state: WriteState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENVIRONMENT)
    path = str(write_state(with_kubelet("a", "v1.34.2"), pod("p")))
    _, page, _ = ksched("schedule", "--state", path, "-o", "html")
    assert "Kubernetes v1.34.2 (the newest kubelet of the nodes is v1.34.2)" in page


@pytest.mark.parametrize(
    ("kubelet", "reason"),
    [
        ("v1.34.1", "node(s) had untolerated taint {a: b}"),
        ("v1.34.4", "node(s) had untolerated taint(s)"),
    ],
)
def test_a_state_is_decided_as_the_patch_release_of_its_kubelets(
    kubelet: str,
    reason: str,
    ksched: Ksched,
    write_state: WriteState,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tainted = with_kubelet("a", kubelet)
    tainted["spec"]["taints"] = [{"key": "a", "value": "b", "effect": "NoSchedule"}]
    path = str(write_state(tainted, pod("p")))
    named = schedule(ksched, "--state", path, "--kubernetes-version", kubelet)[0]
    monkeypatch.delenv(ENVIRONMENT)
    inferred = schedule(ksched, "--state", path)[0]
    for result in (named, inferred):
        assert result["kubernetesVersion"] == kubelet
        assert reason in result["messages"]["default/p"]


def test_a_snapshot_is_decided_as_the_release_of_its_api_server(
    ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENVIRONMENT)
    items = [with_kubelet("a", "v1.35.1"), pod("p")]
    about = {"serverVersion": "v1.36.2-gke.1", "lists": []}
    path, saved, copy, redacted = (
        tmp_path / name for name in ("a.json", "b.json", "c.json", "d.json")
    )
    path.write_text(json.dumps({"kind": "List", "items": items, "snapshot": about}))
    timeline = tmp_path / "timeline.json"
    timeline.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": []}))
    ksched("replay", timeline, "--state", path, "--save-state", saved)
    ksched("snapshot", copy, "--state", path)
    ksched("snapshot", redacted, "--state", path, "--redact")
    for state, suffix in ((path, "-gke.1"), (saved, "-gke.1"), (copy, "-gke.1"), (redacted, "")):
        result = schedule(ksched, "--state", str(state))[0]
        assert (result["kubernetesVersion"], result["kubernetesVersionFrom"]) == (
            "v1.36.2",
            f"the cluster's API server is v1.36.2{suffix}",
        )


def test_without_kubelets_the_newest_minor_decides(
    ksched: Ksched, write_state: WriteState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENVIRONMENT)
    result, _ = schedule(ksched, "--state", str(write_state(node("a"), pod("p"))))
    assert result["kubernetesVersion"] == release_of().version
    assert result["kubernetesVersionFrom"] == "the newest that ksched knows"


def test_the_effective_configuration_is_the_minors(ksched: Ksched) -> None:
    shown = {}
    for minor in ("1.34", "1.36"):
        _, out, _ = ksched("config", "show", "-o", "json", "--kubernetes-version", minor)
        shown[minor] = conforms(json.loads(out), "effective_configuration")
    assert "DynamicResources" not in shown["1.34"]["weights"]["default-scheduler"]
    assert shown["1.36"]["weights"]["default-scheduler"]["DynamicResources"] == 2
    assert "NodeDeclaredFeatures" in shown["1.36"]["profiles"]["default-scheduler"]["filter"]
    assert "placementScore" not in shown["1.34"]["profiles"]["default-scheduler"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--kubernetes-version", "1.20"], f"--kubernetes-version takes {', '.join(MINORS)}"),
        (["--feature-gates", "Nothing=true"], "unrecognized feature gate: Nothing"),
    ],
)
def test_what_it_does_not_know_is_refused(
    ksched: Ksched, state: str, args: list[str], message: str
) -> None:
    code, out, err = ksched("schedule", "--state", state, *args)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(("patch", "times"), [("1.34.1", [1]), ("1.34.2", [1, 11])])
def test_a_nomination_may_lapse_for_a_pod_that_asks_for_a_victim_that_is_leaving(
    patch: str, times: list[int], ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    low = pod("low", node="a", cpu=4, priority=0)
    low["spec"]["terminationGracePeriodSeconds"] = 400
    events = [
        {"at": 1, "pod": pod("middle", cpu=4, priority=10)},
        {"at": 11, "pod": pod("high", cpu=4, priority=100)},
    ]
    timeline = tmp_path / "timeline.json"
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "until": 60}
    timeline.write_text(json.dumps({**header, "events": events}))
    command = ("replay", timeline, "--state", write_state(node("a", cpu=4), low), "--trace")
    _, out, err = ksched(*command, "-o", "json", "--kubernetes-version", patch)
    attempts = json.loads(out)["attempts"]
    assert [each["at"] for each in attempts if each["pod"] == "default/middle"] == times, err
