"""kube-scheduler's words about a value explained: each case with what the hint has one write."""

from collections.abc import Iterator
from typing import Any

import pytest

from ksched_cli.config.defaults import with_defaults
from ksched_cli.config.go_types import to_wire
from ksched_cli.config.review import review
from ksched_cli.config.types import SchedulerConfiguration
from tests.config.registries import REGISTRY, configured


def args(plugin: str, value: str) -> str:
    return f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {value}}}]}}]\n"


def spread(constraint: str, kind: str = "List") -> str:
    typed = f"defaultingType: {kind}, " if kind else ""
    return args("PodTopologySpread", f"{{{typed}defaultConstraints: [{constraint}]}}")


def fit(strategy: str) -> str:
    return args("NodeResourcesFit", f"{{scoringStrategy: {strategy}}}")


def ratio(shape: str) -> str:
    points = f"requestedToCapacityRatio: {{shape: {shape}}}"
    return fit(f"{{type: RequestedToCapacityRatio, {RESOURCES}, {points}}}")


def affinity(expression: str) -> str:
    terms = f"{{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}"
    required = f"{{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}"
    return args("NodeAffinity", f"{{addedAffinity: {required}}}")


def extender(fields: str) -> str:
    return f"extenders: [{{urlPrefix: 'http://a', {fields}}}]\n"


RESOURCES = "resources: [{name: cpu, weight: 1}]"
POINTS = "[{utilization: 0, score: 0}, {utilization: 100, score: 10}]"
ANYWAY = "whenUnsatisfiable: ScheduleAnyway"
ZONE = f"{{maxSkew: 1, topologyKey: zone, {ANYWAY}}}"
SCORE = "profiles: [{{plugins: {{score: {{enabled: [{{name: NodeAffinity, weight: {}}}]}}}}}}]\n"
QUEUES = "profiles: [{{schedulerName: a{}}}, {{schedulerName: b}}]\n"
SORT = ", plugins: {queueSort: {enabled: [{name: PrioritySort}], disabled: [{name: '*'}]}}"


@pytest.mark.parametrize(
    ("body", "message", "hint", "mended"),
    [
        (
            "leaderElection: {leaseDuration: 10s, renewDeadline: 15s}\n",
            'leaseDuration must be longer than renewDeadline, which is "15s"',
            "raise leaseDuration",
            "leaderElection: {leaseDuration: 20s, renewDeadline: 15s}\n",
        ),
        (
            "leaderElection: {renewDeadline: 2s, retryPeriod: 5s}\n",
            "renewDeadline 2s must be more than 1.2 times retryPeriod, which is 5s",
            "write a renewDeadline above 6s",
            "leaderElection: {renewDeadline: 7s, retryPeriod: 5s}\n",
        ),
        (
            "leaderElection: {resourceLock: endpoints}\n",
            "the only resource lock is leases",
            "write resourceLock: leases",
            "leaderElection: {resourceLock: leases}\n",
        ),
        (
            "leaderElection: {retryPeriod: -1s}\n",
            'retryPeriod is "-1s", and must be more than 0',
            "leave it out for the default, 2s",
            "",
        ),
        (
            SCORE.format(-1),
            "NodeAffinity's weight -1 makes the sum of all weights overflow",
            "write a weight above 0",
            SCORE.format(1),
        ),
        (
            spread(ZONE, ""),
            "defaultConstraints require defaultingType: List",
            "write defaultingType: List",
            spread(ZONE),
        ),
        (
            spread(f"{{maxSkew: 0, topologyKey: zone, {ANYWAY}}}"),
            "maxSkew is 0, and must be more than 0",
            "",
            spread(ZONE),
        ),
        (
            spread(f"{{maxSkew: 1, {ANYWAY}}}"),
            "topologyKey is missing",
            "a label of nodes",
            spread(ZONE),
        ),
        (
            spread("{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Never}"),
            'whenUnsatisfiable cannot be "Never"',
            "write one of DoNotSchedule, ScheduleAnyway",
            spread(ZONE),
        ),
        (
            spread(f"{{maxSkew: 1, topologyKey: zone, {ANYWAY}, labelSelector: {{}}}}"),
            "a default constraint has no labelSelector",
            "remove it",
            spread(ZONE),
        ),
        (
            "clientConnection: {burst: -1}\n",
            "burst is -1, and must not be negative",
            "leave it out for the default, 100",
            "",
        ),
        (
            "percentageOfNodesToScore: 101\n",
            "percentageOfNodesToScore is 101, and must be from 0 to 100",
            "leave it out",
            "percentageOfNodesToScore: 100\n",
        ),
        (
            "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 2\n",
            "podMaxBackoffSeconds is 2, less than podInitialBackoffSeconds",
            "doubles up to podMaxBackoffSeconds",
            "podInitialBackoffSeconds: 5\n",
        ),
        (
            extender("prioritizeVerb: p"),
            "an extender with a prioritizeVerb requires a weight above 0",
            "write weight: 1",
            extender("prioritizeVerb: p, weight: 1"),
        ),
        (
            extender("bindVerb: b}, {urlPrefix: 'http://b', bindVerb: b"),
            "several extenders have a bindVerb",
            "keep one bindVerb",
            extender("bindVerb: b}, {urlPrefix: 'http://b', filterVerb: f"),
        ),
        (
            extender("filterVerb: f, managedResources: [{name: cpu}]"),
            '"cpu" is not an extended resource',
            "example.com/gpu",
            extender("filterVerb: f, managedResources: [{name: example.com/gpu}]"),
        ),
        (
            extender("filterVerb: f, managedResources: [{name: a.b/c}, {name: a.b/c}]"),
            'two extenders manage "a.b/c"',
            "keep one",
            extender("filterVerb: f, managedResources: [{name: a.b/c}]"),
        ),
        (
            QUEUES.format(SORT),
            "queueSort differs from the first profile's",
            "give every profile the same",
            QUEUES.format(""),
        ),
        (
            args(
                "DefaultPreemption",
                "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            ),
            "are both 0",
            "leave one of them out",
            args("DefaultPreemption", "{minCandidateNodesPercentage: 0}"),
        ),
        (
            args("DefaultPreemption", "{minCandidateNodesAbsolute: -1}"),
            "minCandidateNodesAbsolute is -1, and must be at least 0",
            "leave it out for the default, 100",
            args("DefaultPreemption", "{}"),
        ),
        (
            fit("{type: LeastAllocated, resources: [{name: cpu, weight: 101}]}"),
            "weight is 101, and must be more than 0 and at most 100",
            "",
            fit("{type: LeastAllocated, resources: [{name: cpu, weight: 100}]}"),
        ),
        (
            ratio("[{utilization: 50, score: 0}, {utilization: 20, score: 1}]"),
            "utilization 20 is not greater than that of the previous point",
            "sort the points by increasing utilization",
            ratio("[{utilization: 20, score: 1}, {utilization: 50, score: 0}]"),
        ),
        (ratio("[]"), "the shape has no point", f"as {POINTS}", ratio(POINTS)),
        (
            args("NodeResourcesFit", "{ignoredResourceGroups: [a.b/c]}"),
            'a group of resources has no slash: "a.b/c"',
            "write only the part before the slash",
            args("NodeResourcesFit", "{ignoredResourceGroups: [a.b]}"),
        ),
        (
            args("NodeResourcesFit", "{ignoredResources: ['a b']}"),
            '"a b" is not a valid name',
            "example.com/gpu",
            args("NodeResourcesFit", "{ignoredResources: [example.com/gpu]}"),
        ),
        (
            args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}]}"),
            "weight is 2, and must be 1: this plugin weighs all resources alike",
            "write 1",
            args("NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 1}]}"),
        ),
        (
            args("VolumeBinding", "{bindTimeoutSeconds: -1}"),
            "bindTimeoutSeconds is -1, and must not be negative",
            "leave it out for the default, 600",
            "",
        ),
        (
            args("VolumeBinding", "{shape: [{utilization: 0, score: 0}]}"),
            "shape requires the feature gate StorageCapacityScoring, which is off",
            "remove it",
            args("VolumeBinding", "{}"),
        ),
        (
            args("NodeResourcesFitArgs", "{}"),
            "NodeResourcesFitArgs is the kind of the args; the plugin's name is NodeResourcesFit",
            "write name: NodeResourcesFit",
            args("NodeResourcesFit", "{}"),
        ),
        (
            affinity("{key: a, operator: In}"),
            "the operators In and NotIn require values",
            "write operator: Exists",
            affinity("{key: a, operator: Exists}"),
        ),
        (
            affinity("{key: a, operator: Exists, values: [x]}"),
            "the operators Exists and DoesNotExist take no values",
            "remove the values",
            affinity("{key: a, operator: Exists}"),
        ),
        (
            affinity("{key: a, operator: Gt, values: [x]}"),
            "compare whole numbers",
            'as values: ["5"]',
            affinity('{key: a, operator: Gt, values: ["5"]}'),
        ),
    ],
    ids=lambda text: "",
)
def test_a_refusal_says_what_it_means_and_what_to_write(
    body: str, message: str, hint: str, mended: str
) -> None:
    errors = [
        item for item in review(configured(body), REGISTRY).findings if item.severity == "error"
    ]
    assert [item for item in errors if message in item.message and hint in item.hint], errors
    assert review(configured(mended), REGISTRY).valid


@pytest.mark.parametrize(
    "body",
    [
        "parallelism: 0\n",
        "podInitialBackoffSeconds: 0\n",
        "clientConnection: {burst: -1}\n",
        "leaderElection: {renewDeadline: -1s}\n",
        "leaderElection: {retryPeriod: -1s}\n",
        args("VolumeBinding", "{bindTimeoutSeconds: -1}"),
        args("InterPodAffinity", "{hardPodAffinityWeight: 101}"),
        args("DefaultPreemption", "{minCandidateNodesAbsolute: -1}"),
        args("DefaultPreemption", "{minCandidateNodesPercentage: 101}"),
        args("DynamicResources", "{filterTimeout: -1s}"),
    ],
)
def test_a_default_that_a_hint_names_is_the_one_that_holds(body: str) -> None:
    finding = review(configured(body), REGISTRY).findings[0]
    key = finding.path.rpartition(".")[2]
    defaults = dict(leaves(to_wire(with_defaults(SchedulerConfiguration(), REGISTRY))))
    assert finding.hint == f"leave it out for the default, {defaults[key]}"


def leaves(value: Any) -> Iterator[tuple[str, Any]]:
    for key, item in value.items() if isinstance(value, dict) else ():
        yield key, item
        yield from leaves(item)
    for item in value if isinstance(value, list) else ():
        yield from leaves(item)
