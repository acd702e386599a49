"""kube-scheduler's checks of a whole configuration, after defaulting."""

import pytest

from ksched_cli.config.allowed_plugins import parse_allowed
from ksched_cli.config.review import judge
from ksched_cli.config.validation import text
from ksched_cli.kube.field_errors import FieldError
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from tests.config.registries import REGISTRY, configured


def errors(body: str) -> tuple[FieldError, ...]:
    return judge(configured(body), REGISTRY).field_errors


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("parallelism: 0\n", "parallelism"),
        ("percentageOfNodesToScore: 101\n", "percentageOfNodesToScore"),
        ("podMaxBackoffSeconds: -1\n", "podMaxBackoffSeconds"),
        ("clientConnection: {burst: -1}\n", "clientConnection.burst"),
        ("leaderElection: {renewDeadline: 20s}\n", "leaderElection.leaseDuration"),
        ("profiles: [{schedulerName: ''}]\n", "profiles[0].schedulerName"),
        ("profiles: [{schedulerName: a}, {schedulerName: a}]\n", "profiles[1].schedulerName"),
        ("extenders: [{prioritizeVerb: p, weight: -1}]\n", "extenders[0].weight"),
        ("extenders: [{bindVerb: a}, {bindVerb: b}]\n", "extenders"),
        (
            "profiles: [{plugins: {score: {enabled: [{name: EBSLimits}]}}}]\n",
            "profiles[0].plugins.score.enabled[0]",
        ),
    ],
)
def test_an_error_names_its_path(body: str, path: str) -> None:
    assert [error.path for error in errors(body)] == [path]


def test_all_errors_are_found_and_printed_sorted() -> None:
    field_errors = errors("podInitialBackoffSeconds: 0\nparallelism: -1\n")
    assert [error.path for error in field_errors] == ["parallelism", "podInitialBackoffSeconds"]
    assert text(reversed(field_errors)) == text(field_errors)
    assert len(text(field_errors).splitlines()) == 2


@pytest.mark.parametrize(
    ("plugin", "args", "path"),
    [
        ("InterPodAffinity", "{hardPodAffinityWeight: 101}", ".hardPodAffinityWeight"),
        ("DefaultPreemption", "{minCandidateNodesPercentage: -1}", ".minCandidateNodesPercentage"),
        ("NodeResourcesFitArgs", "{}", ""),
    ],
)
def test_args_are_checked_by_the_plugins_own_validation(plugin: str, args: str, path: str) -> None:
    field_errors = errors(f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]\n")
    assert [error.path for error in field_errors] == [f"profiles[0].pluginConfig[0].args{path}"]


def test_profiles_have_one_queue_sort_plugin_with_the_same_args() -> None:
    profiles = [
        f"{{schedulerName: {name}, pluginConfig: [{{name: QOSSort, args: {{classes: {count}}}}}], "
        "plugins: {queueSort: {disabled: [{name: '*'}], enabled: [{name: QOSSort}]}}}"
        for name, count in (("a", 1), ("b", 1), ("c", 2))
    ]
    body = f"profiles: [{', '.join(profiles)}]\n"
    judgement = judge(configured(body), REGISTRY, parse_allowed("QOSSort"))
    assert [error.path for error in judgement.field_errors] == ["profiles[2].pluginConfig.args"]


def test_upstream_leaves_the_args_of_node_resources_fit_to_the_plugin() -> None:
    args = "{ignoredResources: ['a b']}"
    assert (
        errors(f"profiles: [{{pluginConfig: [{{name: NodeResourcesFit, args: {args}}}]}}]\n") == ()
    )


@pytest.mark.parametrize(
    ("minor", "name"),
    [("1.34", "a qualified name"), ("1.35", "a valid label key"), ("1.37", "a valid label key")],
)
def test_a_label_key_with_two_slashes_is_called_as_the_minor_calls_it(
    minor: str, name: str
) -> None:
    affinity = "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    affinity += "{nodeSelectorTerms: [{matchExpressions: [{key: a/b/c, operator: Exists}]}]}}}"
    ignored = "{ignoredResources: [a/b/c]}"  # checked when the plugin is made
    for plugin, args in (("NodeAffinity", affinity), ("NodeResourcesFit", ignored)):
        body = f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]\n"
        judgement = judge(configured(body), registry_of(release_of(minor)))
        at_startup = [error for each in judgement.startup.errors for error in each.fields]
        details = [error.detail for error in (*judgement.field_errors, *at_startup)]
        assert details
        start = f"{name} must consist of alphanumeric characters"
        assert all(detail.startswith(start) for detail in details)
