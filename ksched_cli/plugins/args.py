"""The args of the in-tree plugins: types, defaults, checks.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from ksched_cli.config.effective import InTreeArgs, StartupCrash
from ksched_cli.config.go_types import (
    BOOL,
    DURATION,
    INT32,
    INT64,
    STRING,
    GoStruct,
    ListOf,
    StringMap,
    StructOf,
    field,
    named,
)
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import (
    FieldError,
    child,
    duplicate,
    forbidden,
    invalid,
    label_name_errors,
    out_of_range,
    required,
    unsupported,
)
from ksched_cli.kube.formatting import duration_text
from ksched_cli.kube.selectors import NODE_OPERATORS, term_errors
from ksched_cli.kube.versions import Release

MAX_UTILIZATION = 100
MAX_SCORE = 10


class UtilizationShapePoint(GoStruct):
    utilization: int = field(INT32, omit=False, minimum=0, maximum=100)
    score: int = field(INT32, omit=False, minimum=0, maximum=10)


def _shape_errors(shape: Sequence[UtilizationShapePoint] | None, path: str) -> Iterator[FieldError]:
    """Yield the errors of a utilization shape. Upstream: validateFunctionShape."""
    if not shape:
        yield required(path, "at least one point must be specified", "empty-shape")
        return
    for index, (point, following) in enumerate(pairwise(shape), start=1):
        if point.utilization >= following.utilization:
            where, value = f"{path}[{index}].utilization", following.utilization
            yield invalid(where, value, "values must be sorted in increasing order", "shape-order")
            break
    for index, point in enumerate(shape):
        where = f"{path}[{index}]"
        if not 0 <= point.utilization <= MAX_UTILIZATION:
            yield out_of_range(f"{where}.utilization", point.utilization, 0, 100)
        if not 0 <= point.score <= MAX_SCORE:
            yield out_of_range(f"{where}.score", point.score, 0, 10)


# -- ResourceSpec ----------------------------------------------------------------------------------
#
# The resources that a resource plugin scores, as its args name them.
#
# Upstream: apis/config/v1/defaults.go (defaultResourceSpec).


class ResourceSpec(GoStruct):
    name: str = field(STRING, omit=False)
    weight: int = field(INT64)


CPU_AND_MEMORY = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))


def with_default_weights(resources: tuple[ResourceSpec, ...] | None) -> tuple[ResourceSpec, ...]:
    """Return the resources with their weights; cpu and memory by default. A weight of 0 counts as
    1."""
    return tuple(replace(item, weight=item.weight or 1) for item in resources or CPU_AND_MEMORY)


# -- DefaultPreemption -----------------------------------------------------------------------------


class DefaultPreemptionArgs(TypeMeta):
    min_candidate_nodes_percentage: int | None = field(
        INT32, pointer=True, default=10, minimum=0, maximum=100
    )
    min_candidate_nodes_absolute: int | None = field(INT32, pointer=True, default=100, minimum=0)


def _validate_default_preemption(args: DefaultPreemptionArgs, path: str) -> Iterator[FieldError]:
    """Yield the errors of DefaultPreemption's args. Upstream: ValidateDefaultPreemptionArgs."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = child(path, "minCandidateNodesPercentage")
    absolute_path = child(path, "minCandidateNodesAbsolute")
    if percentage is not None and not 0 <= percentage <= 100:
        yield out_of_range(percentage_path, percentage, 0, 100)
    if absolute is not None and absolute < 0:
        yield out_of_range(absolute_path, absolute, 0)
    if percentage == 0 and absolute == 0:
        same_time = "cannot be zero at the same time as"
        for path, other in (
            (percentage_path, "minCandidateNodesAbsolute"),
            (absolute_path, "minCandidateNodesPercentage"),
        ):
            yield invalid(path, 0, f"{same_time} {other}", "no-candidates")


DEFAULT_PREEMPTION_ARGS = InTreeArgs(DefaultPreemptionArgs, validate=_validate_default_preemption)


# -- DynamicResources ------------------------------------------------------------------------------


_TIMEOUT_GATE = "DRASchedulerFilterTimeout"
_FILTER_TIMEOUT = 10 * 10**9  # nanoseconds
_BINDING_TIMEOUT = 600 * 10**9
_SECOND = 10**9


class DynamicResourcesArgs(TypeMeta):
    filter_timeout: int | None = field(DURATION, pointer=True)
    binding_timeout: int | None = field(DURATION, pointer=True)


def _has_binding_conditions(release: Release) -> bool:
    return release.enabled("DRADeviceBindingConditions") and release.enabled(
        "DRAResourceClaimDeviceStatus"
    )


def _validate_dynamic_resources(
    release: Release, args: DynamicResourcesArgs, path: str
) -> Iterator[FieldError]:
    """Yield the errors of DynamicResources' args. Upstream: ValidateDynamicResourcesArgs."""
    where = child(path, "filterTimeout")
    if args.filter_timeout is not None and not release.enabled(_TIMEOUT_GATE):
        # Upstream's text misspells the gate.
        yield forbidden(where, "DRASchedulingFilterTimeout feature gate is disabled", "gate-off")
    elif args.filter_timeout is not None and args.filter_timeout < 0:
        timeout = duration_text(args.filter_timeout)
        yield invalid(where, timeout, "must be zero or positive", "negative")
    if args.binding_timeout is None:
        return
    where = child(path, "bindingTimeout")
    if not _has_binding_conditions(release):
        gates = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus"
        yield forbidden(where, f"{gates} feature gate is disabled", "gates-off")
    elif args.binding_timeout < _SECOND:
        timeout = duration_text(args.binding_timeout)
        yield invalid(where, timeout, "must be at least 1 second", "a-second")


def _dynamic_resources_defaults(
    release: Release, args: DynamicResourcesArgs
) -> DynamicResourcesArgs:
    """Return the args with their defaults. Upstream: SetDefaults_DynamicResourcesArgs."""
    if args.filter_timeout is None and release.enabled(_TIMEOUT_GATE):
        args = replace(args, filter_timeout=_FILTER_TIMEOUT)
    is_absent = "v1.DynamicResourcesArgs.bindingTimeout" in release.rules.absent_fields
    if args.binding_timeout is not None or is_absent or not _has_binding_conditions(release):
        return args
    return replace(args, binding_timeout=_BINDING_TIMEOUT)


def dynamic_resources_args(release: Release) -> InTreeArgs[DynamicResourcesArgs]:
    """Return the args as a release has them."""
    set_defaults = partial(_dynamic_resources_defaults, release)
    validate = partial(_validate_dynamic_resources, release)
    return InTreeArgs(DynamicResourcesArgs, set_defaults, validate)


# -- InterPodAffinity ------------------------------------------------------------------------------


class InterPodAffinityArgs(TypeMeta):
    hard_pod_affinity_weight: int | None = field(
        INT32, pointer=True, default=1, minimum=0, maximum=100
    )
    ignore_preferred_terms_of_existing_pods: bool = field(BOOL, omit=False)


def _validate_inter_pod_affinity(args: InterPodAffinityArgs, path: str) -> Iterator[FieldError]:
    """Yield the errors of InterPodAffinity's args. Upstream: ValidateInterPodAffinityArgs."""
    weight = args.hard_pod_affinity_weight
    if weight is not None and not 0 <= weight <= 100:
        yield out_of_range(child(path, "hardPodAffinityWeight"), weight, 0, 100)


INTER_POD_AFFINITY_ARGS = InTreeArgs(InterPodAffinityArgs, validate=_validate_inter_pod_affinity)


# -- NodeAffinity ----------------------------------------------------------------------------------
#
# Upstream: k8s.io/api/core/v1 for the affinity.


class NodeSelectorRequirement(GoStruct):
    key: str = field(STRING, omit=False)
    operator: str = field(
        named("v1.NodeSelectorOperator"), omit=False, enum=[*NODE_OPERATORS, None]
    )
    values: tuple[str, ...] | None = field(ListOf(STRING))


class NodeSelectorTerm(GoStruct):
    match_expressions: tuple[NodeSelectorRequirement, ...] | None = field(
        ListOf(StructOf(NodeSelectorRequirement))
    )
    match_fields: tuple[NodeSelectorRequirement, ...] | None = field(
        ListOf(StructOf(NodeSelectorRequirement))
    )


class NodeSelector(GoStruct):
    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = field(
        ListOf(StructOf(NodeSelectorTerm)), omit=False
    )


class PreferredSchedulingTerm(GoStruct):
    weight: int = field(INT32, omit=False)
    preference: NodeSelectorTerm = field(StructOf(NodeSelectorTerm), omit=False)


class NodeAffinity(GoStruct):
    required: NodeSelector | None = field(
        StructOf(NodeSelector), key="requiredDuringSchedulingIgnoredDuringExecution", pointer=True
    )
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        ListOf(StructOf(PreferredSchedulingTerm)),
        key="preferredDuringSchedulingIgnoredDuringExecution",
    )


class NodeAffinityArgs(TypeMeta):
    added_affinity: NodeAffinity | None = field(StructOf(NodeAffinity), pointer=True)


def _validate_node_affinity(args: NodeAffinityArgs, path: str) -> Iterator[FieldError]:
    """Yield the errors of NodeAffinity's args. Upstream: ValidateNodeAffinityArgs."""
    affinity, base = args.added_affinity or NodeAffinity(), child(path, "addedAffinity")
    if affinity.required is not None:
        terms = f"{base}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(affinity.required.node_selector_terms or ()):
            yield from term_errors(term, f"{terms}[{index}]", keeps_empty=True)
    for index, preferred in enumerate(affinity.preferred or ()):
        if preferred.weight != 0:
            where = f"{base}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            yield from term_errors(preferred.preference, where, keeps_empty=True)


NODE_AFFINITY_ARGS = InTreeArgs(NodeAffinityArgs, validate=_validate_node_affinity)


# -- NodeResourcesBalancedAllocation ---------------------------------------------------------------


class NodeResourcesBalancedAllocationArgs(TypeMeta):
    resources: tuple[ResourceSpec, ...] | None = field(ListOf(StructOf(ResourceSpec)))


def _validate_balanced_allocation(
    args: NodeResourcesBalancedAllocationArgs, path: str
) -> Iterator[FieldError]:
    """Yield the errors of the args. Upstream: ValidateNodeResourcesBalancedAllocationArgs."""
    seen = set()
    for index, resource in enumerate(args.resources or ()):
        where = f"{child(path, 'resources')}[{index}]"
        if resource.name in seen:
            yield duplicate(f"{where}.name", resource.name)
        seen.add(resource.name)
        if resource.weight != 1:
            yield invalid(f"{where}.weight", resource.weight, "must be 1", "one")


def _balanced_allocation_defaults(
    args: NodeResourcesBalancedAllocationArgs,
) -> NodeResourcesBalancedAllocationArgs:
    """Return the args with their defaults. Upstream:
    SetDefaults_NodeResourcesBalancedAllocationArgs."""
    return replace(args, resources=with_default_weights(args.resources))


BALANCED_ALLOCATION_ARGS = InTreeArgs(
    NodeResourcesBalancedAllocationArgs,
    _balanced_allocation_defaults,
    _validate_balanced_allocation,
)


# -- NodeResourcesFit ------------------------------------------------------------------------------


STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


class RequestedToCapacityRatioParam(GoStruct):
    shape: tuple[UtilizationShapePoint, ...] | None = field(ListOf(StructOf(UtilizationShapePoint)))


class ScoringStrategy(GoStruct):
    type: str = field(named("v1.ScoringStrategyType"), enum=[*STRATEGIES, None])
    resources: tuple[ResourceSpec, ...] | None = field(ListOf(StructOf(ResourceSpec)))
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = field(
        StructOf(RequestedToCapacityRatioParam), pointer=True
    )


class NodeResourcesFitArgs(TypeMeta):
    ignored_resources: tuple[str, ...] | None = field(ListOf(STRING))
    ignored_resource_groups: tuple[str, ...] | None = field(ListOf(STRING))
    scoring_strategy: ScoringStrategy | None = field(StructOf(ScoringStrategy), pointer=True)


def _validate_fit(release: Release, args: NodeResourcesFitArgs, path: str) -> Iterator[FieldError]:
    """Yield the errors of NodeResourcesFit's args. Upstream: ValidateNodeResourcesFitArgs."""
    for index, name in enumerate(args.ignored_resources or ()):
        yield from label_name_errors(name, f"{child(path, 'ignoredResources')}[{index}]")
    for index, group in enumerate(args.ignored_resource_groups or ()):
        where = f"{child(path, 'ignoredResourceGroups')}[{index}]"
        if "/" in group:
            yield invalid(where, group, "resource group name can't contain '/'", "group")
        yield from label_name_errors(group, where)
    strategy = args.scoring_strategy
    if strategy is None:
        return
    strategy_path = child(path, "scoringStrategy")
    if strategy.type not in STRATEGIES:
        yield unsupported(f"{strategy_path}.type", strategy.type, STRATEGIES)
    for index, resource in enumerate(strategy.resources or ()):
        if not 0 < resource.weight <= 100:
            subject = f"resource weight of {resource.name} "
            where = f"{strategy_path}.resources[{index}].weight"
            yield out_of_range(where, resource.weight, 0, 100, subject, excludes_least=True)
    yield from _ratio_errors(release, strategy, strategy_path)


def _ratio_errors(release: Release, strategy: ScoringStrategy, path: str) -> Iterator[FieldError]:
    ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if not release.rules.checks_strategy_type:
        if ratio is not None:
            yield from _shape_errors(ratio.shape, f"{path}.shape")
    elif strategy.type != STRATEGIES[2]:
        if ratio is not None:
            yield forbidden(
                ratio_path,
                "must be nil when type is not RequestedToCapacityRatio",
                "needless-ratio",
            )
    elif ratio is None:
        yield required(
            ratio_path, "must be specified when type is RequestedToCapacityRatio", "no-ratio"
        )
    else:
        yield from _shape_errors(ratio.shape, f"{ratio_path}.shape")


def _fit_defaults(args: NodeResourcesFitArgs) -> NodeResourcesFitArgs:
    """Return the args with their defaults. Upstream: SetDefaults_NodeResourcesFitArgs."""
    strategy = args.scoring_strategy
    if strategy is None:
        return replace(args, scoring_strategy=ScoringStrategy("LeastAllocated", CPU_AND_MEMORY))
    resources = with_default_weights(strategy.resources)
    return replace(args, scoring_strategy=replace(strategy, resources=resources))


def _fit_startup_crash(args: NodeResourcesFitArgs) -> StartupCrash | None:
    """Return the crash of kube-scheduler at start, or None: NewFit follows
    scoringStrategy.requestedToCapacityRatio without a check."""
    strategy = args.scoring_strategy or ScoringStrategy()
    if strategy.type != STRATEGIES[2] or strategy.requested_to_capacity_ratio is not None:
        return None
    return StartupCrash(
        "no-shape",
        "scoringStrategy",
        "RequestedToCapacityRatio has no shape; kube-scheduler crashes at start",
        "add scoringStrategy.requestedToCapacityRatio.shape",
    )


def fit_args(release: Release) -> InTreeArgs[NodeResourcesFitArgs]:
    """Return the args as a release has them."""
    validate = partial(_validate_fit, release)
    return InTreeArgs(NodeResourcesFitArgs, _fit_defaults, validate, _fit_startup_crash)


# -- PodTopologySpread -----------------------------------------------------------------------------
#
# Upstream: k8s.io/api/core/v1 for the constraints.


ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
DEFAULTING_TYPES = ("System", "List")


class LabelSelectorRequirement(GoStruct):
    key: str = field(STRING, omit=False)
    operator: str = field(named("v1.LabelSelectorOperator"), omit=False)
    values: tuple[str, ...] | None = field(ListOf(STRING))


class LabelSelector(GoStruct):
    match_labels: Mapping[str, str] | None = field(StringMap())
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = field(
        ListOf(StructOf(LabelSelectorRequirement))
    )


class TopologySpreadConstraint(GoStruct):
    max_skew: int = field(INT32, omit=False, minimum=1)
    topology_key: str = field(STRING, omit=False)
    when_unsatisfiable: str = field(
        named("v1.UnsatisfiableConstraintAction"),
        omit=False,
        enum=[*ACTIONS, None],
    )
    label_selector: LabelSelector | None = field(StructOf(LabelSelector), pointer=True)
    min_domains: int | None = field(INT32, pointer=True)
    node_affinity_policy: str | None = field(named("v1.NodeInclusionPolicy"), pointer=True)
    node_taints_policy: str | None = field(named("v1.NodeInclusionPolicy"), pointer=True)
    match_label_keys: tuple[str, ...] | None = field(ListOf(STRING))


class PodTopologySpreadArgs(TypeMeta):
    default_constraints: tuple[TopologySpreadConstraint, ...] | None = field(
        ListOf(StructOf(TopologySpreadConstraint))
    )
    defaulting_type: str = field(
        named("v1.PodTopologySpreadConstraintsDefaulting"),
        default="System",
        enum=[*DEFAULTING_TYPES, None],
    )


def _validate_pod_topology_spread(args: PodTopologySpreadArgs, path: str) -> Iterator[FieldError]:
    """Yield the errors of PodTopologySpread's args. Upstream: ValidatePodTopologySpreadArgs."""
    constraints = args.default_constraints or ()
    type_path = child(path, "defaultingType")
    if args.defaulting_type not in DEFAULTING_TYPES:
        yield unsupported(type_path, args.defaulting_type, DEFAULTING_TYPES)
    elif args.defaulting_type == "System" and constraints:
        detail = "when .defaultConstraints are not empty"
        yield invalid(type_path, args.defaulting_type, detail, "defaulting-type")
    earlier: set[tuple[str, str]] = set()
    for index, constraint in enumerate(constraints):
        where = f"{child(path, 'defaultConstraints')}[{index}]"
        if constraint.max_skew <= 0:
            yield out_of_range(f"{where}.maxSkew", constraint.max_skew, 0, excludes_least=True)
        if constraint.topology_key:
            yield from label_name_errors(constraint.topology_key, f"{where}.topologyKey")
        else:
            yield required(f"{where}.topologyKey", "can not be empty")
        if not constraint.when_unsatisfiable:
            yield required(f"{where}.whenUnsatisfiable", "can not be empty")
        elif constraint.when_unsatisfiable not in ACTIONS:
            action_path = f"{where}.whenUnsatisfiable"
            yield unsupported(action_path, constraint.when_unsatisfiable, ACTIONS)
        if constraint.label_selector is not None:
            detail = "constraint must not define a selector, as they deduced for each pod"
            yield forbidden(f"{where}.labelSelector", detail, "selector")
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in earlier:
            yield duplicate(where, f"{{{key[0]}, {key[1]}}}")
        earlier.add(key)


POD_TOPOLOGY_SPREAD_ARGS = InTreeArgs(PodTopologySpreadArgs, validate=_validate_pod_topology_spread)


# -- VolumeBinding ---------------------------------------------------------------------------------


class VolumeBindingArgs(TypeMeta):
    bind_timeout_seconds: int | None = field(INT64, pointer=True, default=600, minimum=0)
    shape: tuple[UtilizationShapePoint, ...] | None = field(ListOf(StructOf(UtilizationShapePoint)))


STORAGE_CAPACITY_SCORING = "StorageCapacityScoring"
# More free capacity wins.
DEFAULT_SHAPE = (UtilizationShapePoint(0, MAX_SCORE), UtilizationShapePoint(100, 0))


def _validate_volume_binding(
    args: VolumeBindingArgs, path: str, scores: bool
) -> Iterator[FieldError]:
    """Yield the errors of VolumeBinding's args. Upstream: ValidateVolumeBindingArgsWithOptions."""
    timeout = args.bind_timeout_seconds
    if timeout is not None and timeout < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        yield invalid(child(path, "bindTimeoutSeconds"), timeout, detail, "negative")
    if scores:
        yield from _shape_errors(args.shape, child(path, "shape"))
    elif args.shape is not None:
        shape = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        gate = f"turn on the feature gate {STORAGE_CAPACITY_SCORING}"
        detail = f"unexpected field `shape`, remove it or {gate}"
        yield invalid(child(path, "shape"), shape, detail, "shape-gate")


def _volume_binding_defaults(args: VolumeBindingArgs, scores: bool) -> VolumeBindingArgs:
    """Return the args with their defaults. Upstream: SetDefaults_VolumeBindingArgs."""
    return replace(args, shape=args.shape or DEFAULT_SHAPE) if scores else args


def volume_binding_args(release: Release) -> InTreeArgs[VolumeBindingArgs]:
    """Return the args as a release has them: with a shape where volumes are scored."""
    scores = release.enabled(STORAGE_CAPACITY_SCORING)
    set_defaults = partial(_volume_binding_defaults, scores=scores)
    validate = partial(_validate_volume_binding, scores=scores)
    return InTreeArgs(VolumeBindingArgs, set_defaults, validate)


ARGS_OF: Mapping[str, Callable[[Release], InTreeArgs[Any]]] = {
    "NodeAffinity": lambda release: NODE_AFFINITY_ARGS,
    "NodeResourcesFit": fit_args,
    "VolumeBinding": volume_binding_args,
    "PodTopologySpread": lambda release: POD_TOPOLOGY_SPREAD_ARGS,
    "InterPodAffinity": lambda release: INTER_POD_AFFINITY_ARGS,
    "DynamicResources": dynamic_resources_args,
    "DefaultPreemption": lambda release: DEFAULT_PREEMPTION_ARGS,
    "NodeResourcesBalancedAllocation": lambda release: BALANCED_ALLOCATION_ARGS,
}
"""By the plugin's name, its args as a release has them."""
