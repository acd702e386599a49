"""The Kubernetes releases whose rules ksched knows: their feature gates, and what else differs.

Code asks a release for a gate (`release.enabled("DRADeviceTaints")`) or for a rule
(`release.rules.names_taint`), once, when something is made; nothing else compares versions. Rules
and gates name the first patch release that has them.

gates-MINOR.json holds the gates of a minor as its own releases have them (tests/oracle/releases.py
writes it); only that of the minor that decides is read.

Upstream: component-base/featuregate/feature_gate.go, pkg/features/kube_features.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.errors import UsageError
from ksched_cli.kube.field_errors import aggregate
from ksched_cli.kube.gates import FOLLOWED, FOLLOWED_FROM_BETA, FOLLOWED_IN, INVISIBLE

_VERSION = re.compile(r"v?\d{1,4}(\.\d{1,4})*")
_MINOR = re.compile(r"v?(\d{1,4}\.\d{1,4})(?:\D|$)")
_NAMED = re.compile(r"v?(\d+\.\d+)(?:\.(\d{1,4}))?")
_COMPATIBLE = re.compile(r"(?:kube=)?v?(\d+)\.(\d+)(?:\.0)?")
# --min-compatibility-version goes back so many minors, and not beyond 1.31.
_COMPATIBLE_MINORS, _FIRST_COMPATIBLE = 3, 31
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class Rules(Struct, frozen=True):
    """What changed between releases without a feature gate. The defaults are those of the newest.

    absent_fields:  "GO TYPE.KEY" of configuration fields that come later
    absent_plugins: in-tree plugins that come later
    absent_points:  keys of extension points that come later
    scheme:         the name of the configuration's scheme in decoding errors
    checks_gate_dependencies: a gate that is on needs those it depends on
    has_compatibility_version: kube-scheduler has --min-compatibility-version
    names_taint:    TaintToleration's message has the taint
    names_label_keys: a label key with too many slashes is called one; else a qualified name
    names_owner_kind: the message about a claim of another owner has the kind Pod, in capitals
    filter_timeout_is_error: of DynamicResources; else the node is rejected
    scores_devices: DynamicResources extends Score
    scores_allocated_claims: it knows claims that were allocated before; else it fails over them
    skips_unusable_pools: pools of devices that are incomplete (counted over all slices of the
        cluster), obsolete or invalid are passed over; else they are used, or fail the pod
    picks_allocator: of devices: the stable one where no feature needs another
    shows_sharing: selectors see whether a device may be shared, though none is; with
        picks_allocator that depends on the allocator
    refuses_capacity_requests: a claim that asks for capacity fails where the gate is off; else that
        is not looked at
    has_distinct_attributes: claims may have distinctAttribute constraints
    compares_distinct_values: these compare values; else no two devices are ever alike
    tells_subrequests_apart: in mode All; else the second alternative of a list is taken for the
        first
    ends_at_terminating_victims: a preemption whose victims are all being deleted already clears no
        nominations of less important pods to their node
    clears_nomination: a pod's nomination is cleared where no PostFilter plugin runs
    reserves_gangs: GangScheduling extends Reserve
    tells_why_pods_wait: the status of a pod that Permit has wait has the last plugin's reasons, and
        not the pod's name
    names_score_plugins: an error in weights of score plugins begins with "score plugins: "
    checks_strategy_type: requestedToCapacityRatio is required or forbidden by the strategy's type
    follows_nominated_pods: for a pod that InterPodAffinity rejected, other pods count from their
        nomination, pods that went by their own anti-affinity too, and any change of its labels
    binding_frees_nomination: to the queue, a nominated pod that is bound has left its node: pods of
        no more priority are asked about
    adds_taint_events: to the queue, a plugin that hears of new nodes hears of every change of
        taints too, whatever its hints
    flushes_gated_pods: pods that a plugin holds back are asked about anew when they have been in
        the queue for long
    remembers_flushes: these pods then stay as long again; else until the next flush
    hears_of_deleted_claims: DynamicResources
    hears_of_unscheduled_pods: PodTopologySpread and InterPodAffinity are registered for events of
        pods without a node as well; else for those with one and the rejected pod
    avoids_any_term: to the hints of InterPodAffinity, a pod matches anti-affinity that matches one
        of its terms; else all of them
    balances_change: NodeResourcesBalancedAllocation compares the node with and without the pod
    counts_image_volumes: ImageLocality sees volumes of images
    migrates_portworx: always, not where the node says so
    pre_filters_node_name: NodeName is the first Filter plugin of the default list, and extends
        PreFilter; so do NodeUnschedulable and TaintToleration, which do nothing there
    tells_candidate: DefaultPreemption names the node and counts the victims where it succeeds
    device_post_filter_is_silent: DynamicResources says nothing in PostFilter unless it gives a
        claim back
    ages_victims_once: the age of a victim without a start time is taken once, in the order of its
        node's pods; else anew at each comparison
    stops_at_violated_budget: of several disruption budgets that a victim matches, those after the
        first that it violates do not count it
    rescores_last_node: a batch continues if the node taken last still has room: it is scored again
    threshold_counts_image_volumes: ImageLocality's threshold grows with them too
    needs_mount_options: a pod whose volumes are mounted with bindMountOptions needs a node that
        declares VolumeBindMountOptions
    names_device_in_errors: a selector that fails on a device names the device, with a hint where a
        key is missing
    reads_lists: attributes of devices that are lists are values in selectors; else they fail them
    tells_pools_apart: counters are kept per driver and pool; else two drivers share those of pools
        of one name
    places_counters: slices with counters count on the nodes that they are for; else on every node
    counts_bare_shares: a device of which a claim has a share without capacity is in use too, and
        does not pay its counters again
    counts_shared_devices: devices of which claims have shares take from the counters of their pool
    counts_all_devices: requests for all devices work with devices that take from counters; else
        kube-scheduler panics
    takes_all_back: the allocator takes back all that a device took that it rejects or gives back;
        else counters, constraints and shares without capacity stay
    keeps_full_devices: in mode All a device with too little capacity left fails the request; else
        it is left out
    aborts_at_bad_capacity: requests for capacity that are negative or cannot be rounded are errors
    counts_devices_per_request: the error about a claim with too many devices names the request
    needs_device_selector: a DeviceTaintRule without a selector is about no device; else about all
    skips_compatibility_groups: slices whose devices name compatibility groups are passed over
    remembers_distinct_values: distinctAttribute compares with every device; else with the last of
        each request
    nominates_gated_pods: the nomination of a pod counts that a plugin holds back from the start
    queues_groups: pod groups are entities of the queue, have plugins of their own that make room,
        and the API v1beta1; else their pods are queued one by one
    sums_whole_pods: a pod's requests while it is resized are the most of three sums over its
        containers; else the sum of each container's most
    """

    absent_fields: frozenset[str] = frozenset()
    absent_plugins: frozenset[str] = frozenset()
    absent_points: frozenset[str] = frozenset()
    scheme: str = "pkg/runtime/scheme.go:111"
    checks_gate_dependencies: bool = True
    has_compatibility_version: bool = True
    names_taint: bool = False
    names_label_keys: bool = True
    names_owner_kind: bool = True
    filter_timeout_is_error: bool = True
    scores_devices: bool = True
    scores_allocated_claims: bool = True
    skips_unusable_pools: bool = True
    picks_allocator: bool = True
    shows_sharing: bool = True
    refuses_capacity_requests: bool = True
    has_distinct_attributes: bool = True
    compares_distinct_values: bool = True
    tells_subrequests_apart: bool = True
    ends_at_terminating_victims: bool = True
    clears_nomination: bool = True
    reserves_gangs: bool = False
    tells_why_pods_wait: bool = True
    names_score_plugins: bool = True
    checks_strategy_type: bool = True
    follows_nominated_pods: bool = True
    binding_frees_nomination: bool = False
    adds_taint_events: bool = False
    flushes_gated_pods: bool = True
    remembers_flushes: bool = True
    hears_of_deleted_claims: bool = True
    hears_of_unscheduled_pods: bool = False
    avoids_any_term: bool = True
    balances_change: bool = True
    counts_image_volumes: bool = True
    migrates_portworx: bool = True
    pre_filters_node_name: bool = True
    tells_candidate: bool = True
    device_post_filter_is_silent: bool = True
    ages_victims_once: bool = True
    stops_at_violated_budget: bool = True
    rescores_last_node: bool = True
    threshold_counts_image_volumes: bool = True
    needs_mount_options: bool = True
    names_device_in_errors: bool = True
    reads_lists: bool = True
    tells_pools_apart: bool = True
    places_counters: bool = True
    counts_bare_shares: bool = True
    counts_shared_devices: bool = True
    counts_all_devices: bool = True
    takes_all_back: bool = True
    keeps_full_devices: bool = True
    aborts_at_bad_capacity: bool = True
    counts_devices_per_request: bool = True
    needs_device_selector: bool = True
    skips_compatibility_groups: bool = True
    remembers_distinct_values: bool = True
    nominates_gated_pods: bool = True
    queues_groups: bool = True
    sums_whole_pods: bool = True


_RULES_1_37 = replace(Rules(), counts_devices_per_request=False, needs_device_selector=False)
_RULES_1_36 = replace(
    _RULES_1_37,
    absent_fields=frozenset({"v1.Plugins.podGroupPostFilter"}),
    absent_plugins=frozenset({"DeferredPodScheduling"}),
    absent_points=frozenset({"podGroupPostFilter"}),
    adds_taint_events=True,
    flushes_gated_pods=False,
    hears_of_deleted_claims=False,
    hears_of_unscheduled_pods=True,
    avoids_any_term=False,
    pre_filters_node_name=False,
    tells_candidate=False,
    device_post_filter_is_silent=False,
    ages_victims_once=False,
    stops_at_violated_budget=False,
    rescores_last_node=False,
    threshold_counts_image_volumes=False,
    needs_mount_options=False,
    names_device_in_errors=False,
    reads_lists=False,
    tells_pools_apart=False,
    places_counters=False,
    counts_bare_shares=False,
    counts_shared_devices=False,
    counts_all_devices=False,
    takes_all_back=False,
    scores_allocated_claims=False,
    keeps_full_devices=False,
    aborts_at_bad_capacity=False,
    skips_compatibility_groups=False,
    remembers_distinct_values=False,
    nominates_gated_pods=False,
    queues_groups=False,
    sums_whole_pods=False,
)
_RULES_1_35 = replace(
    _RULES_1_36,
    absent_fields=_RULES_1_36.absent_fields
    | {"v1.Plugins.placementGenerate", "v1.Plugins.placementScore"},
    absent_plugins=_RULES_1_36.absent_plugins | {"TopologyPlacementGenerator", "PodGroupPodsCount"},
    absent_points=_RULES_1_36.absent_points | {"placementGenerate", "placementScore"},
    names_owner_kind=False,
    filter_timeout_is_error=False,
    reserves_gangs=True,
    tells_why_pods_wait=False,
    names_score_plugins=False,
    picks_allocator=False,
    shows_sharing=False,
    refuses_capacity_requests=False,
    has_distinct_attributes=False,
    compares_distinct_values=False,
    tells_subrequests_apart=False,
    checks_strategy_type=False,
    follows_nominated_pods=False,
    balances_change=False,
    counts_image_volumes=False,
    migrates_portworx=False,
)
_RULES_1_34 = replace(
    _RULES_1_35,
    absent_fields=_RULES_1_35.absent_fields | {"v1.DynamicResourcesArgs.bindingTimeout"},
    absent_plugins=_RULES_1_35.absent_plugins | {"GangScheduling", "NodeDeclaredFeatures"},
    scheme="k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:29",
    checks_gate_dependencies=False,
    has_compatibility_version=False,
    binding_frees_nomination=True,
    names_taint=True,
    names_label_keys=False,
    skips_unusable_pools=False,
    shows_sharing=True,
    refuses_capacity_requests=True,
    has_distinct_attributes=True,
    scores_devices=False,
    clears_nomination=False,
)
# The first release of each minor, oldest first: the last is the newest that ksched knows, and the
# default everywhere.
_RULES = {"1.34": _RULES_1_34, "1.35": _RULES_1_35, "1.36": _RULES_1_36, "1.37": _RULES_1_37}
MINORS = tuple(_RULES)
NEWEST = MINORS[-1]
# The newest patch release of each minor; later ones are decided as that.
_LAST_PATCH = {"1.34": 10, "1.35": 8, "1.36": 4, "1.37": 2}
# The first patch release that differs from those before → the rules that do.
_PATCHES: dict[str, dict[int, dict[str, Any]]] = {
    "1.34": {2: {"names_taint": False, "ends_at_terminating_victims": False}},
    "1.35": {
        6: {"scores_allocated_claims": True},
        8: {"flushes_gated_pods": True, "remembers_flushes": False},
    },
    "1.36": {
        2: {
            "counts_shared_devices": True,
            "counts_all_devices": True,
            "scores_allocated_claims": True,
        },
        3: {"takes_all_back": True},
        4: {"flushes_gated_pods": True, "tells_pools_apart": True},
    },
    "1.37": {1: {"counts_devices_per_request": True, "needs_device_selector": True}},
}


class Gate(Struct, frozen=True):
    """A feature gate of one minor.

    stage: ALPHA, BETA, "" (GA) or DEPRECATED; needs: the gates it depends on
    schedules: the scheduler's own code asks for it
    """

    stage: str
    default: bool
    locked: bool = False
    needs: tuple[str, ...] = ()
    schedules: bool = False


class Release(Struct, frozen=True):
    """The rules of one Kubernetes release.

    minor:    as "1.36"
    version:  of the release that decides, as "v1.36.3"
    gates:    every feature gate that this minor knows → whether it is on
    inferred: where the release comes from, "" where the user named it
    unknown:  what it was inferred from, where the minor of that is not known
    """

    minor: str
    version: str
    gates: Mapping[str, bool]
    rules: Rules
    inferred: str = ""
    unknown: str = ""

    @property
    def number(self) -> str:
        """As --kubernetes-version names this release: "1.36.3"."""
        return self.version.removeprefix("v")

    @property
    def gate_table(self) -> Mapping[str, Gate]:
        return _gates(self.minor, int(self.version.rpartition(".")[2]))

    def enabled(self, gate: str) -> bool:
        """Whether a feature gate is on; one that this minor does not know is not."""
        return self.gates.get(gate, False)


def release_of(
    named: str = NEWEST,
    feature_gates: str = "",
    inferred: str = "",
    unknown: str = "",
    *,
    compatibility: str = "",
) -> Release:
    """A release, with its feature gates set as kube-scheduler's --feature-gates and
    --min-compatibility-version (compatibility) do.

    named: as "1.34.4"; a minor alone is its release that ksched's rules were first read from
    Raises UsageError for a minor that ksched does not know, for gates and versions that
    kube-scheduler refuses, and for gates that ksched does not follow.
    """
    match = _NAMED.fullmatch(named)
    if match is None or match[1] not in _RULES:
        raise UsageError(
            f"--kubernetes-version takes {', '.join(MINORS)}, or a patch release such as"
            f' {MINORS[0]}.4; not "{named}"'
        )
    minor, (version, patch, rules) = match[1], _patch(match[1], match[2])
    if not inferred and match[2] and int(match[2]) > patch:
        inferred = f"the newest of {minor} that ksched knows"
    settings = _parsed(feature_gates)
    # Without the option it is the minor before, whose schedulers may be beside.
    is_own = bool(compatibility) and _compatible_minor(compatibility, minor) == minor
    enabled = _defaults(minor, patch, is_own)
    if settings:
        enabled = _switched(_gates(minor, patch, is_own), settings, rules)
        _check_followed(minor, patch, enabled)
    return Release(minor, version, enabled, rules, inferred, unknown)


def _patch(minor: str, number: str | None) -> tuple[str, int, Rules]:
    """The version, the number and the rules of the nearest patch release."""
    version: str = _data(minor)["version"]
    patch = min(int(number or version.rpartition(".")[2]), _LAST_PATCH[minor])
    changes: dict[str, Any] = {}
    for since, rules in _PATCHES.get(minor, {}).items():
        if since <= patch:
            changes |= rules
    return f"v{minor}.{patch}", patch, replace(_RULES[minor], **changes)


def _compatible_minor(text: str, minor: str) -> str:
    """The value of --min-compatibility-version. Upstream: component-base compatibility
    (registry.go, version.go), apiserver util/compatibility. Raises UsageError."""
    option = "--min-compatibility-version"
    if not _RULES[minor].has_compatibility_version:
        raise UsageError(f"kube-scheduler {minor} has no {option}")
    match = _COMPATIBLE.fullmatch(text)
    if match is None:
        raise UsageError(f'{option} must be a minor such as {minor}; not "{text}"')
    first, number = (int(part) for part in minor.split("."))
    floor = first, max(number - _COMPATIBLE_MINORS, _FIRST_COMPATIBLE)
    if not floor <= (int(match[1]), int(match[2])) <= (first, number):
        raise UsageError(
            f"{option}: minCompatibilityVersion version {match[1]}.{match[2]} is not between"
            f" [{floor[0]}.{floor[1]}, {minor}]"
        )
    return f"{match[1]}.{match[2]}"


def refused_gates(release: Release, feature_gates: str) -> str:
    """Why kube-scheduler of a release refuses a value of --feature-gates that is well-formed, or
    ""."""
    try:
        _switched(release.gate_table, _parsed(feature_gates), release.rules)
    except UsageError as error:
        return str(error)
    return ""


def minor_of(version: str) -> str:
    """ "v1.36.2-gke.1" → "1.36"; "" for anything that is not a version."""
    match = _MINOR.match(version)
    return match[1] if match else ""


def inferred_release(
    kubelets: Iterable[str], feature_gates: str = "", compatibility: str = "", *, server: str = ""
) -> Release:
    """The release nearest to that of the cluster's API server, else to the newest of the nodes'
    kubelets, else the newest minor that ksched knows.

    server: "" where it is not known
    Raises UsageError for feature gates and compatibility, see release_of."""
    newest, subject = server, "the cluster's API server"
    if not minor_of(server):
        newest = max((each for each in kubelets if minor_of(each)), key=_numbers, default="")
        subject = "the newest kubelet of the nodes"
    minor, unknown = minor_of(newest), ""
    if not newest:
        named, inferred = NEWEST, "the newest that ksched knows"
    elif minor in MINORS:
        named, inferred = _number(newest), f"{subject} is {newest}"
    else:
        named = MINORS[0] if _numbers(minor) < _numbers(MINORS[0]) else NEWEST
        inferred, unknown = f"nearest to {newest}, {subject}", f"{subject} is {newest}"
    return release_of(named, feature_gates, inferred, unknown, compatibility=compatibility)


def _number(version: str) -> str:
    """ "v1.36.2-gke.1" → "1.36.2" """
    match = _NAMED.match(version)
    assert match is not None, "its minor is known"
    return match[0].removeprefix("v")


def unknown_minor_warning(release: Release) -> str:
    """A line where ksched does not know the minor that the release was inferred from, or ""."""
    if not release.unknown:
        return ""
    return (
        f"{release.unknown}, but ksched knows only Kubernetes {MINORS[0]} to {NEWEST}: the rules"
        f" of {release.minor} apply"
    )


def _numbers(version: str) -> tuple[int, ...]:
    """ "v1.36.2-gke.1" → (1, 36, 2)"""
    match = _VERSION.match(version)
    return tuple(map(int, match[0].lstrip("v").split("."))) if match else ()


def later_releases(release: Release) -> list[Release]:
    """The later minors, with their default feature gates."""
    return [release_of(minor) for minor in MINORS[MINORS.index(release.minor) + 1 :]]


@cache
def _data(minor: str) -> dict[str, Any]:
    file = Path(__file__).with_name(f"gates-{minor}.json")
    data: dict[str, Any] = json.loads(file.read_bytes())
    return data


@cache
def _gates(minor: str, patch: int, is_own_compatibility: bool = False) -> Mapping[str, Gate]:
    """is_own_compatibility: --min-compatibility-version is the minor itself"""
    return {
        name: Gate(
            row["stage"],
            row["default"] ^ (is_own_compatibility and row.get("flips", False)),
            row.get("locked", False),
            tuple(row.get("needs", ())),
            row.get("schedules", False),
        )
        for name, row in _rows_of_gates(minor, patch)
    }


def _rows_of_gates(minor: str, patch: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """since: the first patch release that has a gate; patches: the first that has other values of
    it → these"""
    for name, row in _data(minor)["gates"].items():
        if row.get("since", 0) <= patch:
            changes = row.get("patches", {}).items()
            yield (
                name,
                row
                | {
                    field: value
                    for since, change in changes
                    if int(since) <= patch
                    for field, value in change.items()
                },
            )


@cache
def _defaults(minor: str, patch: int, is_own_compatibility: bool = False) -> Mapping[str, bool]:
    gates = _gates(minor, patch, is_own_compatibility)
    return MappingProxyType({name: gate.default for name, gate in gates.items()})


# -- --feature-gates ------------------------------------------------------------------------------


def _parsed(text: str) -> dict[str, bool]:
    """featureGate.Set. Raises UsageError."""
    settings: dict[str, bool] = {}
    for part in text.split(","):
        name, equals, value = part.strip().removeprefix("kube:").partition("=")
        name, value = name.strip(), value.strip()
        if not part:
            continue
        if not equals:
            raise _refused(f"missing bool value for {name}")
        if value not in (*_TRUE, *_FALSE):
            parse_error = f'strconv.ParseBool: parsing "{value}": invalid syntax'
            raise _refused(f"invalid value of {name}={value}, err: {parse_error}")
        settings[name] = value in _TRUE
    return settings


def _switched(
    gates: Mapping[str, Gate], settings: Mapping[str, bool], rules: Rules
) -> Mapping[str, bool]:
    """featureGate.SetFromMap, which stops at an unknown gate. Upstream's order is a map's; ours is
    by name."""
    errors: list[str] = []
    for name in sorted(settings):
        if name not in gates:
            errors.append(f"unrecognized feature gate: {name}")
            raise _refused(aggregate(errors), _near(name, gates))
        gate, on = gates[name], settings[name]
        if gate.locked and gate.default != on:
            default = str(gate.default).lower()
            errors.append(
                f"cannot set feature gate {name} to {str(on).lower()},"
                f" feature is locked to {default}"
            )
    if errors:
        raise _refused(aggregate(errors))
    enabled = {name: gate.default for name, gate in gates.items()}
    for group, stage in (("AllAlpha", "ALPHA"), ("AllBeta", "BETA")):
        if group in settings:
            enabled |= {
                name: settings[group]
                for name, gate in gates.items()
                if gate.stage == stage and name not in ("AllAlpha", "AllBeta")
            }
    enabled |= settings
    errors = list(_unmet(gates, enabled)) if rules.checks_gate_dependencies else []
    if errors:
        raise _refused(aggregate(errors))
    return MappingProxyType(enabled)


def _unmet(gates: Mapping[str, Gate], enabled: Mapping[str, bool]) -> Iterator[str]:
    for name, gate in sorted(gates.items()):
        disabled = [other for other in gate.needs if not enabled[other]]
        if enabled[name] and disabled:
            listed = " ".join(disabled)
            yield f"{name} is enabled, but depends on features that are disabled: [{listed}]"


def _check_followed(minor: str, patch: int, enabled: Mapping[str, bool]) -> None:
    """Gates that change what the scheduler decides, and that ksched has only one side of."""
    gates, followed = _gates(minor, patch), FOLLOWED | FOLLOWED_IN.get(minor, frozenset())
    names = [
        name
        for name, gate in sorted(gates.items())
        if gate.schedules
        and enabled[name] != gate.default
        and name not in followed
        and not (gate.default and name in FOLLOWED_FROM_BETA)
        and name not in INVISIBLE
    ]
    if names:
        settings = ", ".join(f"{name}={str(enabled[name]).lower()}" for name in names)
        raise UsageError(f"--feature-gates: ksched does not implement {settings}")


def _near(name: str, gates: Mapping[str, Gate]) -> str:
    from difflib import get_close_matches

    matches = get_close_matches(name, gates, n=1)
    return f"; did you mean {matches[0]}?" if matches else ""


def _refused(message: str, hint: str = "") -> UsageError:
    return UsageError(f"--feature-gates: {message}{hint}")
