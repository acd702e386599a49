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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from inspect import cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ksched_cli.errors import UsageError
from ksched_cli.kube.formatting import aggregate
from ksched_cli.kube.gates import FOLLOWED, FOLLOWED_FROM_BETA, FOLLOWED_IN, INVISIBLE
from ksched_cli.kube.near_names import near_hint

_VERSION = re.compile(r"v?\d{1,4}(\.\d{1,4})*")
_MINOR = re.compile(r"v?(\d{1,4}\.\d{1,4})(?:\D|$)")
_NAMED = re.compile(r"v?(\d+\.\d+)(?:\.(\d{1,4}))?")
_COMPATIBLE = re.compile(r"(?:kube=)?v?(\d+)\.(\d+)(?:\.0)?")
# --min-compatibility-version goes back so many minors, and not beyond 1.31.
_COMPATIBLE_MINORS, _FIRST_COMPATIBLE = 3, 31
# The newest patch release of each minor, oldest minor first; later ones are decided as that.
_LAST_PATCH = {"1.34": 10, "1.35": 8, "1.36": 4, "1.37": 2, "1.38": 0}
MINORS = tuple(_LAST_PATCH)
# The last minor where it is decided as a pre-release of it, else "".
PREVIEW = "1.38"
# The newest minor that is released, and the default everywhere.
NEWEST = max((minor for minor in MINORS if minor != PREVIEW), key=MINORS.index)
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class Rules:
    """What changed between releases without a feature gate; what is made of it does not change.

    absent_fields:  "GO TYPE.KEY" of configuration fields that come later
    absent_plugins: in-tree plugins that come later
    absent_points:  keys of extension points that come later
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
    preempts_waiting_pods: a pod that waits in Permit and makes room is tried again after its
        backoff; else DefaultPreemption has rejected it
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
    looks_for_shared_devices: a pod that shares a claim's allocation with a pod before it in its
        group only goes to nodes that reach the devices; else to any node
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
    updates_unavailable_first: a StatefulSet of policy Parallel with MaxUnavailableStatefulSet
        replaces its pods that are not available at once; else as many as may be unavailable
    scales_updated_range: a percentage of maxUnavailable is of a StatefulSet's pods from the
        partition on; else of all
    rescores_last_node: a batch continues if the node taken last still has room: it is scored again
    threshold_counts_image_volumes: ImageLocality's threshold grows with them too
    needs_mount_options: a pod whose volumes are mounted with bindMountOptions needs a node that
        declares VolumeBindMountOptions
    names_device_in_errors: a selector that fails on a device names the device, with a hint where a
        key is missing
    reads_lists: attributes of devices that are lists are values in selectors; else they fail them
    compares_lists: constraints compare attributes that are lists where the gate is on; else the
        gate is only about selectors
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
    scores_pod_requests: NodeResourcesFit scores what a pod requests as a whole; else it sums what
        the containers request there
    asks_all_pods_of_silent_plugins: to the queue, an event concerns all pods where a plugin that
        registered for it cannot tell which; else such plugins do not count
    asks_gated_members: of a group that a plugin holds back, only the pods that were rejected are
        asked about an event
    leaves_nominated_nodes: pods are tried again when their nominated node shrinks below them
    knows_labels_of_namespaces: changes of pods are matched with the labels of their namespace
    saturates_sums: sums of requests end at the largest int64, and scores are exact; else they wrap
    empty_selector_spreads: a spread constraint with an empty selector counts all pods of the
        namespace; else none
    empty_selector_protects: a disruption budget with an empty selector covers all pods of its
        namespace, and budgets cover pods without labels; else neither
    ranks_victims_by_uid: of victims of one priority and start, or without one, the smaller UID is
        more important
    allows_no_victims: a node that needs no victim is rejected, or left to extenders that may name
        some; else it is an error
    compares_exact_capacity: storage capacity is compared exactly; else in whole bytes
    checks_group_points: plugins that are gone are refused at the points of pod groups too
    merges_placements: several plugins may generate placements; else one
    tells_feasible_placements: GangScheduling extends PlacementFeasible, not Permit, and
        DefaultPreemption extends Reserve
    names_failed_groups: a pod of a group that does not fit hears that it does not, by its name, and
        so does a group in a group; else they hear the reasons
    checks_trees: the groups of a tree must be of one priority, policy and workload, and a group may
        say whether it preempts without a gate of its own
    tracks_readiness: GangScheduling keeps pods back until the outermost group around them is ready,
        and speaks of its minimum; else of minCount
    prefers_nominated_domains: a group is tried first in the domain that its pods are nominated to,
        then until it fits in a share of the others; else in all
    skips_empty_domains: a label without a value is no domain
    condemns_victims: preemption for a group gives its pods, one by one, the nodes whose victims
        weigh least, and makes no batches; else any node
    weighs_pods_alone: a victim that is no group has its pod's priority, and no higher rank where
        that is of a group
    asks_for_security_profiles: pods with certificates of ML-DSA keys, or with a seccomp profile of
        type OCI, need a node that declares the feature
    qualifies_names: names of capacities and attributes without a domain are in that of the driver,
        so that NAME and DRIVER/NAME are one; texts have the whole name. Else they are two
    refuses_negative_capacity: requests for negative capacity are errors even where a policy rounds
        them up, and so are claims that consume negative capacity
    keeps_shares_of_former: a device that may no longer be shared is in use while a share of it is
    rejects_unusable_pools: a request for all devices rejects a node with an incomplete or invalid
        pool; else that is an error
    knows_derived_attributes: claims with derived attributes are errors where the gate is off;
        else that is not looked at. Claims with devices that skip operations on the node need a node
        that declares DRAOptionalNodeOperations
    knows_device_overhead: with DRANodeAllocatableResources, devices say apart what they are of a
        node's resource and what they take beside it, and claims that were allocated before count;
        else one mapping, for claims that are allocated now
    ends_overhead_with_container: what a device takes for each container counts while that
        container runs; else as long as the pod
    recomputes_backing_classes: every class backs the resource of its own name, and the best of the
        classes that are there the one that several name; else that depends on what was heard first
    reads_attributes_lazily: an attribute without a value that can be read fails the selectors and
        constraints that read it; else every selector. Constraints compare versions, not their texts
    """

    def __init__(self, minor: int = 0, patch: int = 0) -> None:  # noqa: PLR0915  # a line per rule
        """minor: of Kubernetes 1; without it the newest release"""
        if not minor:
            minor, patch = int(NEWEST.removeprefix("1.")), _LAST_PATCH[NEWEST]
        release = minor, patch
        self.absent_fields = _later(_CONFIGURATION_FIELDS, minor)
        self.absent_plugins = _later(_PLUGINS, minor)
        self.absent_points = _later(_POINTS, minor)
        self.checks_gate_dependencies = minor >= 35  # removed with 1.34
        self.has_compatibility_version = minor >= 35  # removed with 1.34
        self.names_taint = release < (34, 2)  # removed with 1.34
        self.names_label_keys = minor >= 35  # removed with 1.34
        self.names_owner_kind = minor >= 36
        self.filter_timeout_is_error = minor >= 36
        self.scores_devices = minor >= 35  # removed with 1.34
        self.scores_allocated_claims = _since(release, (35, 6), (36, 2), (37, 0))
        self.skips_unusable_pools = minor >= 35  # removed with 1.34
        self.picks_allocator = minor >= 36
        self.shows_sharing = minor != 35
        self.refuses_capacity_requests = minor != 35
        self.has_distinct_attributes = minor != 35
        self.compares_distinct_values = minor >= 36
        self.tells_subrequests_apart = minor >= 36
        self.ends_at_terminating_victims = release < (34, 2) or minor > 34  # removed with 1.34
        self.clears_nomination = minor >= 35  # removed with 1.34
        self.reserves_gangs = minor < 36
        self.tells_why_pods_wait = minor >= 36
        self.preempts_waiting_pods = minor >= 36
        self.names_score_plugins = minor >= 36
        self.checks_strategy_type = minor >= 36
        self.follows_nominated_pods = minor >= 36
        self.binding_frees_nomination = minor < 35  # removed with 1.34
        self.adds_taint_events = minor < 37
        self.flushes_gated_pods = _since(release, (35, 8), (36, 4), (37, 0))
        self.remembers_flushes = release < (35, 8) or minor > 35
        self.hears_of_deleted_claims = minor >= 37
        self.looks_for_shared_devices = minor >= 37
        self.hears_of_unscheduled_pods = minor < 37
        self.avoids_any_term = minor >= 37
        self.balances_change = minor >= 36
        self.counts_image_volumes = minor >= 36
        self.migrates_portworx = minor >= 36
        self.pre_filters_node_name = minor >= 37
        self.tells_candidate = minor >= 37
        self.device_post_filter_is_silent = minor >= 37
        self.ages_victims_once = minor >= 37
        self.stops_at_violated_budget = minor >= 37
        self.updates_unavailable_first = minor >= 37
        self.scales_updated_range = minor >= 38
        self.rescores_last_node = minor >= 37
        self.threshold_counts_image_volumes = minor >= 37
        self.needs_mount_options = minor >= 37
        self.names_device_in_errors = minor >= 37
        self.reads_lists = minor >= 37
        self.compares_lists = minor >= 37
        self.tells_pools_apart = _since(release, (36, 4), (37, 0))
        self.places_counters = minor >= 37
        self.counts_bare_shares = minor >= 37
        self.counts_shared_devices = _since(release, (36, 2), (37, 0))
        self.counts_all_devices = _since(release, (36, 2), (37, 0))
        self.takes_all_back = _since(release, (36, 3), (37, 0))
        self.keeps_full_devices = minor >= 37
        self.aborts_at_bad_capacity = minor >= 37
        self.counts_devices_per_request = release >= (37, 1)
        self.needs_device_selector = release >= (37, 1)
        self.skips_compatibility_groups = minor >= 37
        self.remembers_distinct_values = minor >= 37
        self.nominates_gated_pods = minor >= 37
        self.queues_groups = minor >= 37
        self.sums_whole_pods = minor >= 37
        self.scores_pod_requests = minor >= 38
        self.saturates_sums = minor >= 38
        self.leaves_nominated_nodes = minor >= 38
        self.asks_all_pods_of_silent_plugins = minor >= 38
        self.asks_gated_members = minor >= 38
        self.knows_labels_of_namespaces = minor >= 38
        self.empty_selector_spreads = minor >= 38
        self.empty_selector_protects = minor >= 38
        self.ranks_victims_by_uid = minor >= 38
        self.allows_no_victims = minor >= 38
        self.compares_exact_capacity = minor >= 38
        self.checks_group_points = minor >= 38
        self.merges_placements = minor >= 38
        self.tells_feasible_placements = minor >= 38
        self.names_failed_groups = minor >= 38
        self.checks_trees = minor >= 38
        self.tracks_readiness = minor >= 38
        self.prefers_nominated_domains = minor >= 38
        self.skips_empty_domains = minor >= 38
        self.condemns_victims = minor >= 38
        self.weighs_pods_alone = minor >= 38
        self.asks_for_security_profiles = minor >= 38
        self.qualifies_names = minor >= 38
        self.refuses_negative_capacity = minor >= 38
        self.keeps_shares_of_former = minor >= 38
        self.rejects_unusable_pools = minor >= 38
        self.reads_attributes_lazily = minor >= 38
        self.recomputes_backing_classes = minor >= 38
        self.knows_derived_attributes = minor >= 37
        self.knows_device_overhead = minor >= 37
        self.ends_overhead_with_container = minor >= 38

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and vars(self) == vars(other)


# Those that only pod groups follow, which make no difference one by one.
_GROUP_RULES = frozenset(
    {
        "reserves_gangs",
        "tells_why_pods_wait",
        "queues_groups",
        "checks_group_points",
        "merges_placements",
        "tells_feasible_placements",
        "names_failed_groups",
        "checks_trees",
        "tracks_readiness",
        "asks_gated_members",
        "prefers_nominated_domains",
        "skips_empty_domains",
        "condemns_victims",
        "weighs_pods_alone",
    }
)


def rule_differences(old: Release, new: Release) -> Mapping[str, str]:
    """Return the rules, and the feature gates on by default, that one of two releases has: by name,
    what the new release does otherwise. Rules about pod groups are left out."""
    texts = re.sub(r"\n {4,}", " ", cleandoc(Rules.__doc__ or ""))
    meanings: dict[str, str] = dict(re.findall(r"^(\w+): +(.+)$", texts, re.MULTILINE))
    differences = {}
    for name, value in vars(new.rules).items():
        if value is getattr(old.rules, name) or name in _GROUP_RULES or not isinstance(value, bool):
            continue
        meaning = meanings[name].partition("; else")[0].partition(". Else")[0]
        differences[name] = meaning if value else f"no longer: {meaning}"
    for name, on in sorted(new.gates.items()):
        if on != old.enabled(name):
            differences[name] = f"the feature gate {name} is {'on' if on else 'off'}"
    return differences


def with_rules(old: Release, new: Release, names: Iterable[str]) -> Release:
    """Return the old release with some rules and gates as the new one has them."""
    rules, gates = copy(old.rules), dict(old.gates)
    for name in names:
        if name in vars(rules):
            setattr(rules, name, getattr(new.rules, name))
        else:
            gates[name] = new.gates[name]
    return replace(old, rules=rules, gates=MappingProxyType(gates))


# What configurations may hold → the first minor that has it.
_CONFIGURATION_FIELDS = {
    "v1.DynamicResourcesArgs.bindingTimeout": 35,
    "v1.Plugins.placementGenerate": 36,
    "v1.Plugins.placementScore": 36,
    "v1.Plugins.podGroupPostFilter": 37,
    "v1.Plugins.placementFeasible": 38,
    "v1.KubeSchedulerProfile.percentageOfPlacementsToScore": 38,
    "v1.KubeSchedulerConfiguration.percentageOfPlacementsToScore": 38,
}
_PLUGINS = {
    "GangScheduling": 35,
    "NodeDeclaredFeatures": 35,
    "TopologyPlacementGenerator": 36,
    "PodGroupPodsCount": 36,
    "DeferredPodScheduling": 37,
}
_POINTS = {
    "placementGenerate": 36,
    "placementScore": 36,
    "podGroupPostFilter": 37,
    "placementFeasible": 38,
}


def _later(first: Mapping[str, int], minor: int) -> frozenset[str]:
    return frozenset(name for name, since in first.items() if since > minor)


def _since(release: tuple[int, int], *first: tuple[int, int]) -> bool:
    """Return whether a release has a rule. first: the patch releases that brought it to their
    minors, then the first release of the minor that has had it from the start"""
    return release >= first[-1] or any(each[0] == release[0] and release >= each for each in first)


class Gate(NamedTuple):
    """A feature gate of one minor.

    stage: ALPHA, BETA, "" (GA) or DEPRECATED; needs: the gates it depends on
    schedules: the scheduler's own code asks for it
    flips: --min-compatibility-version of the minor itself has it otherwise by default
    since: the first patch release that has it; patches: the first that has other values → these
    """

    stage: str
    default: bool
    locked: bool = False
    needs: Sequence[str] = ()
    schedules: bool = False
    flips: bool = False
    since: int = 0
    patches: Mapping[str, Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Release:
    """The rules of one Kubernetes release.

    minor:    as "1.36"
    version:  of the release that decides, as "v1.36.3"; of a preview as "v1.38.0-beta.0"
    gates:    every feature gate that this minor knows → whether it is on
    inferred: where the release comes from, "" where the user named it; of a preview, that it is one
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

    def enabled(self, gate: str) -> bool:
        """Return whether a feature gate is on; one that this minor does not know is not."""
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
    # The pre-release itself may be named, as "1.38.0-beta.0".
    if PREVIEW and "-" in named and f"v{named.removeprefix('v')}" == _data(PREVIEW)["version"]:
        named = PREVIEW
    match = _NAMED.fullmatch(named)
    if match is None or match[1] not in MINORS:
        raise UsageError(
            f"--kubernetes-version takes {', '.join(MINORS)}, or a patch release such as"
            f' {MINORS[0]}.4; not "{named}"'
        )
    # The nearest patch release.
    minor = match[1]
    version: str = _data(minor)["version"]
    patch = min(int(match[2] or version.rpartition(".")[2]), _LAST_PATCH[minor])
    rules = Rules(int(minor.removeprefix("1.")), patch)
    if not inferred and match[2] and int(match[2]) > patch:
        inferred = f"the newest of {minor} that ksched knows"
    if minor == PREVIEW:
        stages = {"alpha": "an alpha", "beta": "a beta", "rc": "a release candidate"}
        stage = stages[version.partition("-")[2].partition(".")[0]]
        preview = f"{stage}, and the release may decide otherwise"
        inferred = "; ".join(filter(None, (inferred, preview)))
    else:
        version = f"v{minor}.{patch}"
    settings = _parsed(feature_gates)
    # Without the option it is the minor before, whose schedulers may be beside.
    is_own = bool(compatibility) and _compatible_minor(compatibility, minor, rules) == minor
    enabled = _defaults(minor, patch, is_own)
    if settings:
        enabled = _switched(_gates(minor, patch, is_own), settings, rules)
        # Some gates change what the scheduler decides, and ksched has only one side of them.
        names = [
            name
            for name, gate in sorted(_gates(minor, patch).items())
            if gate.schedules
            and enabled[name] != gate.default
            and not is_followed(minor, name, gate)
        ]
        if names:
            refused = ", ".join(f"{name}={str(enabled[name]).lower()}" for name in names)
            raise UsageError(f"--feature-gates: ksched does not implement {refused}")
    return Release(minor, version, enabled, rules, inferred, unknown)


def _compatible_minor(text: str, minor: str, rules: Rules) -> str:
    """Return the value of --min-compatibility-version. Upstream: component-base compatibility
    (registry.go, version.go), apiserver util/compatibility. Raises UsageError."""
    option = "--min-compatibility-version"
    if not rules.has_compatibility_version:
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
    """Return why kube-scheduler of a release refuses a value of --feature-gates that is
    well-formed, or ""."""
    gates = _gates(release.minor, _numbers(release.version)[2])
    try:
        _switched(gates, _parsed(feature_gates), release.rules)
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
    """Return the release nearest to that of the cluster's API server, else to the newest of the
    nodes' kubelets, else the newest released minor that ksched knows.

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
        # "v1.36.2-gke.1" → "1.36.2"
        match = _NAMED.match(newest)
        assert match is not None, "its minor is known"
        named, inferred = match[0].removeprefix("v"), f"{subject} is {newest}"
    else:
        named = MINORS[0] if _numbers(minor) < _numbers(MINORS[0]) else MINORS[-1]
        inferred, unknown = f"nearest to {newest}, {subject}", f"{subject} is {newest}"
    return release_of(named, feature_gates, inferred, unknown, compatibility=compatibility)


def unknown_minor_warning(release: Release) -> str:
    """Return a line where ksched does not know the minor that the release was inferred from, or
    ""."""
    if not release.unknown:
        return ""
    return (
        f"{release.unknown}, but ksched knows only Kubernetes {MINORS[0]} to {MINORS[-1]}: "
        f"the rules of {release.minor} apply"
    )


def _numbers(version: str) -> tuple[int, ...]:
    """ "v1.36.2-gke.1" → (1, 36, 2)"""
    match = _VERSION.match(version)
    return tuple(map(int, match[0].lstrip("v").split("."))) if match else ()


def later_releases(release: Release) -> list[Release]:
    """Return the later minors, with their default feature gates."""
    return [release_of(minor) for minor in MINORS[MINORS.index(release.minor) + 1 :]]


@cache
def _data(minor: str) -> dict[str, Any]:
    """gates-MINOR.json. Its version is that which ksched's rules were first read from."""
    file = Path(__file__).with_name(f"gates-{minor}.json")
    data: dict[str, Any] = json.loads(file.read_bytes())  # msgspec is slow to import
    return data


@cache
def _gates(minor: str, patch: int, is_own_compatibility: bool = False) -> Mapping[str, Gate]:
    """is_own_compatibility: --min-compatibility-version is the minor itself"""
    rows = ((name, Gate(**row)) for name, row in _data(minor)["gates"].items())
    gates = {name: gate for name, gate in rows if gate.since <= patch}
    for name, gate in gates.items():
        for since, change in gate.patches.items():
            if int(since) <= patch:
                gates[name] = gates[name]._replace(**change)
        if is_own_compatibility and gate.flips:
            gates[name] = gates[name]._replace(default=not gates[name].default)
    return gates


def gates_of(minor: str) -> Mapping[str, Gate]:
    """Return the gates of the newest patch release of a minor that ksched knows."""
    return _gates(minor, _LAST_PATCH[minor])


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
            raise _refused(aggregate(errors), near_hint(name, gates, most=1))
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


def is_followed(minor: str, name: str, gate: Gate) -> bool:
    """Return whether both values of the gate are implemented, or decide the same."""
    return (
        name in FOLLOWED | INVISIBLE
        or name in FOLLOWED_IN.get(minor, ())
        or (gate.default and name in FOLLOWED_FROM_BETA)
    )


def _refused(message: str, hint: str = "") -> UsageError:
    return UsageError(f"--feature-gates: {message}{hint}")
