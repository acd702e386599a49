"""Releases: their gates as in upstream, and what --feature-gates takes."""

import inspect
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ksched_cli.config.load import default_configuration
from ksched_cli.errors import UsageError
from ksched_cli.framework.registry import Registry
from ksched_cli.kube.gates import FOLLOWED, INVISIBLE
from ksched_cli.kube.versions import (
    MINORS,
    NEWEST,
    PREVIEW,
    Rules,
    inferred_release,
    minor_of,
    refused_gates,
    release_of,
)
from ksched_cli.plugins import registry_of
from ksched_cli.testing import cluster, explanation, node, pod, simulation


def test_every_minor_has_its_own_gates() -> None:
    assert [release_of(minor).version for minor in MINORS] == [
        "v1.34.1",
        "v1.35.4",
        "v1.36.3",
        "v1.37.2",
        "v1.38.0-beta.0",
    ]
    defaults = [release_of(minor).enabled("DRAExtendedResource") for minor in MINORS]
    assert defaults == [False, False, True, True, True]
    assert not release_of("1.34").enabled("OpportunisticBatching")
    assert release_of("1.35").enabled("OpportunisticBatching")
    assert not release_of("1.36").enabled("CSIMigrationPortworx")


def test_the_newest_minor_decides_wherever_nobody_names_one() -> None:
    assert release_of().minor == NEWEST == MINORS[-2] != PREVIEW == MINORS[-1]
    assert release_of().rules == Rules()
    assert inferred_release(()).minor == NEWEST
    registry = Registry(())
    releases = [registry.release, default_configuration(registry_of(release_of())).release]
    state = cluster(node("a", taints=["k:NoSchedule"]), pod("p"))
    releases.append(simulation(state).configuration.release)
    assert [release.minor for release in releases] == [NEWEST] * 3
    assert explanation(state) == explanation(state, kubernetes_version=NEWEST)


def test_gates_that_code_asks_for_are_gates_of_some_minor() -> None:
    every = {gate for minor in MINORS for gate in release_of(minor).gates}
    assert every >= FOLLOWED | INVISIBLE


def test_a_minor_that_is_not_there_is_refused() -> None:
    for text in ("1.20", "1.34.x", "1.34.", "1.34.1.2", "1"):
        with pytest.raises(UsageError, match=f'takes {", ".join(MINORS)}, or .*; not "{text}"'):
            release_of(text)


# Patch release → the one that decides.
PATCHES = {
    "1.34": "v1.34.1",
    "1.34.0": "v1.34.0",
    "v1.34.3": "v1.34.3",
    "1.34.4": "v1.34.4",
    "1.34.99": "v1.34.10",
    "1.35": "v1.35.4",
    "1.35.0": "v1.35.0",
    "1.35.6": "v1.35.6",
    "1.35.9": "v1.35.8",
    "1.36": "v1.36.3",
    "1.36.1": "v1.36.1",
    "1.36.4": "v1.36.4",
    "1.37": "v1.37.2",
    "1.37.0": "v1.37.0",
    "1.37.3": "v1.37.2",
}


@pytest.mark.parametrize(("named", "version"), PATCHES.items())
def test_a_patch_release_is_decided_as_the_nearest_that_is_told_apart(
    named: str, version: str
) -> None:
    release = release_of(named)
    assert release.version == version
    assert release_of(release.number) == replace(release, inferred="")
    assert inferred_release([f"v{named.removeprefix('v')}-gke.7"]).version == version


def test_a_minor_before_its_release_is_said_to_be_a_beta() -> None:
    beta = "a beta, and the release may decide otherwise"
    for named in ("1.38", "v1.38.0-beta.0", "1.38.0"):
        release = release_of(named)
        assert (release.version, release.inferred) == ("v1.38.0-beta.0", beta)
    assert release_of("1.38.2").inferred == f"the newest of 1.38 that ksched knows; {beta}"
    assert inferred_release(["v1.38.0-beta.0"]).minor == "1.38"
    with pytest.raises(UsageError, match="or a patch release"):
        release_of("1.38.0-beta.1")


def test_a_later_patch_release_than_the_last_is_said_to_be_decided_as_that() -> None:
    assert release_of("1.36.9").inferred == "the newest of 1.36 that ksched knows"
    assert release_of("1.36.4").inferred == ""


def test_rules_and_gates_name_the_first_patch_that_has_them() -> None:
    before, after = release_of("1.34.1"), release_of("1.34.2")
    assert (before.rules.names_taint, after.rules.names_taint) == (True, False)
    changed = vars(after.rules).items() - vars(before.rules).items()
    assert changed == {("names_taint", False), ("ends_at_terminating_victims", False)}
    assert vars(after.rules).keys() == vars(before.rules).keys()
    differing = {
        gate
        for gate in {*before.gates, *after.gates}
        if before.gates.get(gate) != after.gates.get(gate)
    }
    assert differing == {"SchedulerAsyncAPICalls", "StatefulSetSemanticRevisionComparison"}
    assert after.gates["SchedulerAsyncAPICalls"] is False
    gate = "StatefulSetSemanticRevisionComparison=true"
    assert release_of("1.34.2", gate).enabled("StatefulSetSemanticRevisionComparison")
    with pytest.raises(UsageError, match="unrecognized feature gate"):
        release_of("1.34.1", gate)
    assert refused_gates(before, gate)
    assert not refused_gates(after, gate)


@pytest.mark.parametrize(
    ("gate", "before", "after"),
    [
        ("SchedulerAsyncAPICalls", "1.35.0", "1.35.1"),
        ("MaxUnavailableStatefulSet", "1.35.3", "1.35.4"),
    ],
)
def test_gates_that_a_patch_release_switches_off(gate: str, before: str, after: str) -> None:
    assert release_of(before).enabled(gate)
    assert not release_of(after).enabled(gate)


@pytest.mark.parametrize(
    ("version", "minor"),
    [("v1.36.2-gke.1", "1.36"), ("1.35", "1.35"), ("v1.3", "1.3"), ("", ""), ("latest", "")],
)
def test_the_minor_of_a_kubelets_version(version: str, minor: str) -> None:
    assert minor_of(version) == minor


@pytest.mark.parametrize(
    ("kubelets", "version", "unknown"),
    [
        (["v1.34.10", "v1.34.9", "v1.9.0"], "v1.34.10", ""),
        (["v1.36." + "9" * 5000, "v1." + "9" * 5000], "v1.36.4", ""),
        (["", "latest", "v1.35.0-gke.1"], "v1.35.0", ""),
        ([f"v{MINORS[0]}.3", "v1.20.1"], f"v{MINORS[0]}.3", ""),
        (["v1.9.1", "v1.31.4"], "v1.34.1", "v1.31.4"),
        (["v1.99.0", "v1.35.0"], "v1.38.0-beta.0", "v1.99.0"),
        (["v2.0.0"], "v1.38.0-beta.0", "v2.0.0"),
        (["", "latest"], "v1.37.2", ""),
    ],
)
def test_the_release_nearest_to_the_newest_kubelet_counts(
    kubelets: list[str], version: str, unknown: str
) -> None:
    release = inferred_release(kubelets)
    subject = f"the newest kubelet of the nodes is {unknown}" if unknown else ""
    assert (release.version, release.unknown) == (version, subject)


@pytest.mark.parametrize(
    ("server", "version", "inferred"),
    [
        ("v1.36.2-gke.1", "v1.36.2", "the cluster's API server is v1.36.2-gke.1"),
        (
            "v1.99.0",
            "v1.38.0-beta.0",
            "nearest to v1.99.0, the cluster's API server; a beta, and the release may decide"
            " otherwise",
        ),
        ("unknown", "v1.35.1", "the newest kubelet of the nodes is v1.35.1"),
    ],
)
def test_the_api_server_counts_before_kubelets(server: str, version: str, inferred: str) -> None:
    release = inferred_release(["v1.35.1"], server=server)
    assert (release.version, release.inferred) == (version, inferred)


def test_the_newest_kubelet_is_named() -> None:
    release = inferred_release(["v1.34.10", "v1.34.9"])
    assert release.inferred == "the newest kubelet of the nodes is v1.34.10"


@pytest.mark.parametrize(
    ("minor", "gates", "message"),
    [
        ("1.34", "NoSuchGate=true", "unrecognized feature gate: NoSuchGate"),
        (
            "1.35",
            "DynamicResourceAllocation=false,SidecarContainers=false,Unknown=true",
            "[cannot set feature gate DynamicResourceAllocation to false, feature is locked to"
            " true, cannot set feature gate SidecarContainers to false, feature is locked to true,"
            " unrecognized feature gate: Unknown]",
        ),
        ("1.34", "SchedulerAsyncAPICall=true", "did you mean SchedulerAsyncAPICalls?"),
        ("1.34", "DRAAdminAccess", "missing bool value for DRAAdminAccess"),
        (
            "1.34",
            "DRAAdminAccess=maybe",
            "invalid value of DRAAdminAccess=maybe, err: strconv.ParseBool: parsing"
            ' "maybe": invalid syntax',
        ),
        (
            "1.34",
            "SidecarContainers=false",
            "cannot set feature gate SidecarContainers to false, feature is locked to true",
        ),
        (
            "1.36",
            "TopologyAwareWorkloadScheduling=true",
            "TopologyAwareWorkloadScheduling is enabled, but depends on features that are disabled",
        ),
        ("1.36", "VolumeLimitScaling=true", "ksched does not implement VolumeLimitScaling=true"),
        ("1.34", "AllAlpha=true", "ksched does not implement "),
    ],
)
def test_gates_are_refused_in_upstreams_words(minor: str, gates: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        release_of(minor, gates)
    assert str(error.value).startswith("--feature-gates: ")
    assert message in str(error.value)


def test_a_gate_that_shows_in_no_decision_may_be_set() -> None:
    release = release_of("1.36", "SchedulerAsyncAPICalls=true, kube:SchedulerAsyncPreemption=0,")
    assert release.enabled("SchedulerAsyncAPICalls")
    assert not release.enabled("SchedulerAsyncPreemption")
    assert not release_of("1.36").enabled("SchedulerAsyncAPICalls")


def test_a_default_may_depend_on_the_compatibility_version() -> None:
    gate = "DRAFractionalCapacityRange"
    assert not release_of("1.37").enabled(gate)
    assert not release_of("1.37", compatibility="1.36").enabled(gate)
    assert release_of("1.37", compatibility="1.37").enabled(gate)
    assert inferred_release(["v1.37.0"], compatibility="kube=1.37").enabled(gate)
    switched = release_of("1.37", f"{gate}=false", compatibility="1.37")
    assert not switched.enabled(gate)


@pytest.mark.parametrize(
    ("minor", "version", "message"),
    [
        ("1.37", "1.38", "version 1.38 is not between [1.34, 1.37]"),
        ("1.37", "1.33", "version 1.33 is not between [1.34, 1.37]"),
        ("1.35", "1.31", "version 1.31 is not between [1.32, 1.35]"),
        ("1.36", "1.36.1", 'must be a minor such as 1.36; not "1.36.1"'),
        ("1.34", "1.34", "kube-scheduler 1.34 has no --min-compatibility-version"),
    ],
)
def test_a_compatibility_version_is_of_the_minor_or_the_three_before(
    minor: str, version: str, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        release_of(minor, compatibility=version)
    assert message in str(error.value)


def test_dependencies_between_gates_count_from_the_second_minor_on() -> None:
    with pytest.raises(UsageError, match="depends on features that are disabled"):
        release_of("1.36", "NodeDeclaredFeatures=false")
    assert not release_of("1.34").rules.checks_gate_dependencies


def test_the_rules_that_go_with_the_oldest_minor_are_marked() -> None:
    oldest, *others = MINORS
    patches = {minor: range(11) for minor in MINORS}

    def values(name: str, minors: list[str]) -> set[object]:
        releases = (release_of(f"{minor}.{patch}") for minor in minors for patch in patches[minor])
        return {getattr(release.rules, name) for release in releases}

    going = {name for name in vars(release_of().rules) if len(values(name, others)) == 1}
    going = {name for name in going if len(values(name, [*MINORS])) > 1}
    text = Path(inspect.getsourcefile(Rules) or "").read_text(encoding="utf-8")
    marked = re.findall(rf"self\.(\w+) = .*# removed with {oldest}", text)
    assert set(marked) == going
